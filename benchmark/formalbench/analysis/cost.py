"""What a model costs: how long a run of it trains."""

from __future__ import annotations

from formalbench.analysis.board import Board, Row

TRAINING_COST = "seconds of training of one run"
"""What every face calls it."""


def training_seconds(row: Row, board: Board) -> float | None:
    """Return the mean over a board's tasks of the mean over the seeds; wall time.

    None unless every task of the board has a timed run: of tasks that take longer some models
    would have fewer.
    """
    if not board.tasks:
        return None
    total = 0.0
    for title in board.tasks:
        result = row.on(title)
        seconds = [run.seconds for run in result.runs if run.seconds] if result else []
        if not seconds:
            return None
        total += sum(seconds) / len(seconds)
    return total / len(board.tasks)
