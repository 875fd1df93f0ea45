"""The results that are missing from a suite, and their estimated training time."""

from __future__ import annotations

from dataclasses import dataclass

from formalbench.documents.table import Column, Sheet, number, words
from formalbench.statistics.board import Board, Row
from formalbench.statistics.result import Result


@dataclass(frozen=True, slots=True)
class MissingRuns:
    """The tasks for which a trained row has no result.

    Attributes:
        row: the row.
        tasks: titles, in the board's order.
        least: lower estimate of the training time in seconds: that of the task that took the least
            time among the tasks that all seeds learned, for the row's number of seeds; None if
            there is no such task.
        most: upper estimate of the training time in seconds: all seeds on a task that none of them
            masters, so the whole budget, at the speed of the row's slowest task; None if no run
            was timed.
    """

    row: Row
    tasks: tuple[str, ...]
    least: float | None
    most: float | None


def missing_runs(board: Board, everywhere: Board | None = None) -> list[MissingRuns]:
    """Return the trained rows that lack results on tasks of a board: the board's own rows first.

    Args:
        board: the board with the tasks.
        everywhere: the results of the same protocol on all tasks. Models without a result on the
            board are then listed after the board's own rows, and training times are estimated
            from all tasks. None: only the board is used.
    """
    rows = {row.key: row for one in (board, everywhere or board) for row in one.rows}
    missing = []
    for row in rows.values():
        tasks = tuple(title for title in board.tasks if row.on(title) is None)
        if tasks and row.kind == "learned":
            seeds = max((result.seeds for result in row.results), default=0)
            timed = [result for result in row.results if _timed(result)]
            learned = [result for result in timed if result.learned == result.seeds]
            least = min((sum(_seconds(one)) / one.seeds for one in learned), default=None)
            most = max((_pace(one) * one.budget for one in timed), default=None)
            costs = (None if one is None else one * seeds for one in (least, most))
            missing.append(MissingRuns(row, tasks, *costs))
    return missing


def _timed(result: Result) -> bool:
    """Whether all runs were timed and trained to their end."""
    whole = result.finished == result.seeds or result.learned == result.seeds
    return whole and all(run.seconds is not None and run.steps > 0 for run in result.runs)


def _seconds(result: Result) -> list[float]:
    return [run.seconds or 0.0 for run in result.runs]


def _pace(result: Result) -> float:
    """Return the mean number of seconds per step over the runs."""
    return sum(_seconds(result)) / sum(run.steps for run in result.runs)


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.2g}" if seconds < 600 else f"{seconds / 60:.0f}"


MISSING_RUNS: tuple[Column[MissingRuns], ...] = (
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


def missing_runs_table(board: Board, everywhere: Board | None = None) -> Sheet[MissingRuns]:
    """Return the result of `missing_runs` as a table, a line for each model."""
    return Sheet(MISSING_RUNS, missing_runs(board, everywhere))
