"""The index of experiments and protocols, so that listings import no numpy.

`@experiment` decorates the function of an experiment; a protocol is a YAML file in `protocols/`.
`index.json` contains all specs. After a change, ``python -m formalbench_papers.index`` writes it
again; a test compares the two.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from formalbench.contracts.specs import ProtocolSpec, ReproductionSpec, TableSpec

F = TypeVar("F", bound=Callable[..., Any])

FOLDER = Path(__file__).parent
INDEX = FOLDER / "index.json"

TABLES = {
    name: TableSpec(name, summary, FOLDER / folder / "published.yaml")
    for name, summary, folder in (
        ("chi-2023-table-1", "four models on twelve regular languages", "chi"),
        ("chi-2023-table-2", "PARITY with more or fewer 1s", "chi"),
        ("deletang-2023", "five models on eight tasks", "deletang"),
        ("grazzi-2024-table-3", "recurrences with negative eigenvalues", "grazzi"),
        ("huang-2025-length-generalization", "majority and parity", "huang"),
        ("yang-2025-path-table-1", "flip-flop language modelling", "path_attention"),
        ("walker-2025-table-2", "structured linear CDEs", "slice_cde"),
    )
}
"""The papers' numbers, by name."""

ANNOUNCED: dict[str, ReproductionSpec] = {}
"""What the modules imported so far announce."""


def experiment(name: str, summary: str, reference: str, **facts: Any) -> Callable[[F], F]:
    """Announce a function that carries out an experiment.

    Args:
        name: of the reproduction; all arguments are as of `formalbench.ReproductionSpec`.
        summary: the title of its page.
        reference: the paper, and where in it.
        **facts: others.
    """

    def announce(function: F) -> F:
        place = f"{function.__module__}:{function.__name__}"
        ANNOUNCED[name] = ReproductionSpec(name, summary, reference, place, **facts)
        return function

    return announce


def reproductions() -> Iterator[ReproductionSpec]:
    """Return the experiments, as the index has them."""
    for facts in _index()["reproductions"]:
        yield ReproductionSpec(**{**facts, "core_hours": tuple(facts["core_hours"])})


def protocols() -> Iterator[ProtocolSpec]:
    """Return the protocols, as the index has them."""
    for facts in _index()["protocols"]:
        yield ProtocolSpec(facts["name"], facts["summary"], FOLDER / facts["path"])


def index() -> dict[str, Any]:
    """Return what the index has to hold."""
    from formalbench import read_yaml

    for path in sorted(FOLDER.glob("*/*.py")):
        place = path.relative_to(FOLDER.parent).with_suffix("")
        if path.parent.name != "framework":
            import_module(".".join(place.parts))
    experiments = [asdict(ANNOUNCED[name]) for name in sorted(ANNOUNCED)]
    files = [
        {
            "name": path.stem,
            "summary": read_yaml(path)["summary"],
            "path": str(path.relative_to(FOLDER)),
        }
        for path in sorted(FOLDER.glob("*/protocols/*.yaml"))
    ]
    found: dict[str, Any] = json.loads(
        json.dumps({"reproductions": experiments, "protocols": files})
    )
    return found


def _index() -> Any:
    return json.loads(INDEX.read_text(encoding="utf-8"))


if __name__ == "__main__":
    from formalbench_papers.index import index as every_one  # not of the module `__main__`

    text = json.dumps(every_one(), indent=1, ensure_ascii=False)
    INDEX.write_text(f"{text}\n", encoding="utf-8")
