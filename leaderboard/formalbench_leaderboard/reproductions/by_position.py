"""How often the right close is predicted, by where in a test string it is asked for.

A mean over strings longer than those of training is mostly one over their beginnings, which are
as long as what training has seen. This tells the parts from each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from formalbench.contracts.close_brackets import CloseBrackets
from formalbench.contracts.record import Record
from formalbench.evaluation.cells import Cell, CellSet, test_set
from formalbench.evaluation.evaluate import total
from formalbench.objectives.generate import DISTANCE

from formalbench_leaderboard.reproductions.framework import Bench
from formalbench_leaderboard.reproductions.retest import has_weights, score_again


def by_position(bench: Bench, records: Sequence[Record]) -> list[CloseBrackets | None]:
    """Test the selected weights of some runs again, on the strings that they were tested on.

    Args:
        bench: knows where the weights are.
        records: of runs on one task, of brackets to ``generate``, under one protocol.

    Returns:
        One per run: how often the right close was predicted where so many symbols stood before
        it, and how often it was asked for. None for a run that kept no weights.
    """
    task = records[0].protocol.apply(
        bench.host.task(records[0].task.name, dict(records[0].task.options))
    )
    cells = _placed(test_set(task, records[0].protocol))
    return [
        total(score_again(bench, record, task, cells), cells.window).close_brackets
        if has_weights(bench, record)
        else None
        for record in records
    ]


def share(counts: CloseBrackets, first: int, stop: int) -> float:
    """Return the share that is right of what is asked for from one position to before another."""
    part = slice(first, stop)
    return CloseBrackets(counts.right[part], counts.asked[part], counts.chance).micro


def _placed(cells: CellSet) -> CellSet:
    """Return the same strings, with a position wherever a target says how far back."""
    return replace(cells, cells=tuple(_at_positions(cell) for cell in cells.cells))


def _at_positions(cell: Cell) -> Cell:
    targets_BP3 = cell.targets.astype(np.int32)
    targets_BP3[..., DISTANCE] = np.arange(targets_BP3.shape[1])
    return replace(cell, targets=targets_BP3)
