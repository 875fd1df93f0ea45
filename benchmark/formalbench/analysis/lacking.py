"""What a row of a board has not run, and what that would cost by what its other tasks took."""

from __future__ import annotations

from dataclasses import dataclass

from formalbench.analysis.board import Board, Row
from formalbench.analysis.results import Result


@dataclass(frozen=True, slots=True)
class Lacking:
    """The tasks that a trained row lacks.

    Attributes:
        row: which.
        tasks: titles, in the board's order.
        least: seconds of training of all seeds on the task that took the least; None if no run
            was timed.
        most: seconds of training of all seeds on a task that none of them masters: the whole
            budget, at the pace of the row's slowest task; None likewise.
    """

    row: Row
    tasks: tuple[str, ...]
    least: float | None
    most: float | None


def lacking(board: Board) -> list[Lacking]:
    """Return the trained rows of a board that lack tasks of it, in the board's order."""
    found = []
    for row in board.rows:
        tasks = tuple(title for title in board.tasks if row.on(title) is None)
        if tasks and row.kind == "learned":
            timed = [result for result in row.results if _timed(result)]
            least = min((sum(_seconds(result)) for result in timed), default=None)
            most = max((_whole_budget(result) for result in timed), default=None)
            found.append(Lacking(row, tasks, least, most))
    return found


def _timed(result: Result) -> bool:
    return all(run.seconds is not None and run.steps > 0 for run in result.runs)


def _seconds(result: Result) -> list[float]:
    return [run.seconds or 0.0 for run in result.runs]


def _whole_budget(result: Result) -> float:
    pace = sum(_seconds(result)) / sum(run.steps for run in result.runs)
    return pace * result.budget * result.seeds
