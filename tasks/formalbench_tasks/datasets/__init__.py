"""Tasks from fixed data: strings and their labels, read from files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formalbench.cache import cached
from formalbench.contracts.errors import validate
from formalbench.contracts.specs import Splits, TaskSpec
from formalbench.host.plugin import data_hash

from formalbench_tasks.datasets.description import READER, DataFile, Description
from formalbench_tasks.task_file import MOST_VERSIONS

if TYPE_CHECKING:
    from formalbench_tasks.datasets.source import DataSet, FunctionSet


def read(path: Path, data: Mapping[str, Any]) -> TaskSpec:
    """Turn the contents of a YAML file into a task; the data itself is looked through once.

    Args:
        path: the file.
        data: what it holds, as read by a safe YAML loader.

    Raises:
        RequestError: one line, if anything in it, or in a file that it names, cannot be used.
    """
    file = validate(DataFile, data, path, path.parent)
    described = Description(path, data_hash(path), file)

    def look() -> dict[str, Any]:
        from formalbench_tasks.datasets.source import facts_of  # lazy: imports numpy

        return facts_of(described)

    facts = cached(["data set", READER, described.digest], look)
    return TaskSpec(
        name=file.name,
        version=MOST_VERSIONS * READER + file.version,
        summary=file.summary or facts["summary"],
        factory=lambda: _build(described),
        objectives=("transduce", "decode") if file.function else ("classify",),
        splits=Splits(tuple(facts["train"]), tuple(facts["test"])),
        reference=file.reference,
        theory=file.known_theory,
    )


def _build(described: Description) -> DataSet | FunctionSet:
    from formalbench_tasks.datasets.source import FunctionSet, data_set  # lazy: imports numpy

    data = data_set(described)
    return FunctionSet(data) if described.file.function else data
