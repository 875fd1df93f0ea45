"""The entry module: what this package provides.

Nothing heavy is imported here; the factories are lazy.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from formalbench import SuiteSpec, TaskSpec, hookimpl

from formalbench_tasks.index import announce
from formalbench_tasks.suites import SUITES


@hookimpl
def formalbench_tasks() -> Iterable[TaskSpec]:
    """Announce the tasks."""
    return announce()


@hookimpl
def formalbench_suites() -> Iterable[SuiteSpec]:
    """Announce the suites."""
    return SUITES


@hookimpl
def formalbench_read_file(path: Path) -> TaskSpec | None:
    """Take YAML files with data or an alphabet, and automata."""
    if path.suffix == ".att":
        from formalbench_tasks.automata import att_file

        return att_file.read(path)
    if path.suffix not in (".yaml", ".yml"):
        return None
    from formalbench import read_yaml

    data = read_yaml(path)
    if "data" in data:
        from formalbench_tasks import datasets

        return datasets.read(path, data)
    if "alphabet" not in data:
        return None
    from formalbench_tasks.automata.language_file import read

    return read(path, data)
