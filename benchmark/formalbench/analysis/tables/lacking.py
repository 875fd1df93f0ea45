"""The table of what models have not run of a board's tasks, with its cost."""

from __future__ import annotations

from formalbench.analysis.board import Board
from formalbench.analysis.columns import Column, Sheet, number, words
from formalbench.analysis.lacking import Lacking, lacking


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.2g}" if seconds < 600 else f"{seconds / 60:.0f}"


LACKING: tuple[Column[Lacking], ...] = (
    words("model", "with the options set", lambda one: one.row.model, form="name"),
    words(
        "not run",
        "tasks of the suite without a result; a few are none for some models, as `run` says",
        lambda one: ", ".join(one.tasks),
        "tasks",
    ),
    number(
        "least",
        "minutes of training of all seeds, a task, if it is learned as soon as the quickest that "
        "the model learned under the protocol",
        lambda one: one.least,
        "least_seconds",
        _minutes,
    ),
    number(
        "most",
        "the same, if no seed masters it: the whole budget, at the pace of its slowest task",
        lambda one: one.most,
        "most_seconds",
        _minutes,
    ),
)


def lacking_table(board: Board, everywhere: Board | None = None) -> Sheet[Lacking]:
    """Return what trained models lack of a board's tasks, a line for each, as `lacking` does."""
    return Sheet(LACKING, lacking(board, everywhere))
