"""The papers' experiments, reproduced: a framework, and a folder for each paper.

The names below are what a reproduction is written with; each is imported when it is used.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from formalbench_papers.framework.bench import Bench
    from formalbench_papers.framework.claims import Claim, Findings, TableCell
    from formalbench_papers.framework.runs import CellPlan, CellRecords
    from formalbench_papers.framework.scores import Score, is_at_chance, reaches, stays_below
    from formalbench_papers.framework.tables import AccuracyTable, PaperModel

_PLACES = {
    "bench": "Bench",
    "claims": "Claim Findings TableCell",
    "runs": "CellRecords CellPlan",
    "scores": "Score is_at_chance reaches stays_below",
    "tables": "AccuracyTable PaperModel",
}
_MODULES = {name: module for module, names in _PLACES.items() for name in names.split()}

__all__ = [
    "AccuracyTable",
    "Bench",
    "CellPlan",
    "CellRecords",
    "Claim",
    "Findings",
    "PaperModel",
    "Score",
    "TableCell",
    "is_at_chance",
    "reaches",
    "stays_below",
]


_OLD_NAMES = {"Wanted": "CellPlan", "Got": "CellRecords"}
"""They work until 0.5."""


def __getattr__(name: str) -> Any:
    if name in _OLD_NAMES:
        text = f"formalbench_papers.{name} is now {_OLD_NAMES[name]}"
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        name = _OLD_NAMES[name]
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.framework.{_MODULES[name]}"), name)
