"""The results that a suite lacks, and what they would cost."""

from __future__ import annotations

from dataclasses import dataclass

from formalbench.documents.table import (
    Column,
    Sheet,
    number,
    words,
)
from formalbench.statistics.board import (
    Board,
    Row,
)
from formalbench.statistics.result import Result


@dataclass(frozen=True, slots=True)
class Lacking:
    """The tasks that a trained row lacks.

    Attributes:
        row: which.
        tasks: titles, in the board's order.
        least: seconds of training of as many seeds as the row has on the task that all learned and
            that took the least; None if there is none.
        most: seconds of training of all seeds on a task that none of them masters: the whole
            budget, at the pace of the row's slowest task; None if none was timed.
    """

    row: Row
    tasks: tuple[str, ...]
    least: float | None
    most: float | None


def lacking(board: Board, everywhere: Board | None = None) -> list[Lacking]:
    """Return the trained rows that lack tasks of a board: its own first, in its order.

    Args:
        board: whose tasks are asked for.
        everywhere: the results of the same protocol on all tasks: models that have none on the
            board's follow, and what a task takes is seen from all of them. None: the board alone.
    """
    rows = {row.key: row for one in (board, everywhere or board) for row in one.rows}
    found = []
    for row in rows.values():
        tasks = tuple(title for title in board.tasks if row.on(title) is None)
        if tasks and row.kind == "learned":
            seeds = max((result.seeds for result in row.results), default=0)
            timed = [result for result in row.results if _timed(result)]
            learned = [result for result in timed if result.learned == result.seeds]
            least = min((sum(_seconds(one)) / one.seeds for one in learned), default=None)
            most = max((_pace(one) * one.budget for one in timed), default=None)
            costs = (None if one is None else one * seeds for one in (least, most))
            found.append(Lacking(row, tasks, *costs))
    return found


def _timed(result: Result) -> bool:
    """Say whether all runs were trained to their end, and timed."""
    whole = result.finished == result.seeds or result.learned == result.seeds
    return whole and all(run.seconds is not None and run.steps > 0 for run in result.runs)


def _seconds(result: Result) -> list[float]:
    return [run.seconds or 0.0 for run in result.runs]


def _pace(result: Result) -> float:
    """Return the seconds of a step, the mean over the runs."""
    return sum(_seconds(result)) / sum(run.steps for run in result.runs)


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.2g}" if seconds < 600 else f"{seconds / 60:.0f}"


LACKING: tuple[Column[Lacking], ...] = (
    words("model", "with the options set", lambda one: one.row.model, form="name"),
    words(
        "not run",
        "tasks of the suite without a result; some models do not support some of them",
        lambda one: ", ".join(one.tasks),
        "tasks",
    ),
    number(
        "least",
        "minutes to train all seeds on one task, if the model learns it as fast as its fastest "
        "task under the protocol",
        lambda one: one.least,
        "least_seconds",
        _minutes,
    ),
    number(
        "most",
        "the same if no seed learns it: the whole budget at the speed of its slowest task",
        lambda one: one.most,
        "most_seconds",
        _minutes,
    ),
)


def lacking_table(board: Board, everywhere: Board | None = None) -> Sheet[Lacking]:
    """Return what trained models lack of a board's tasks, a line for each, as `lacking` does."""
    return Sheet(LACKING, lacking(board, everywhere))
