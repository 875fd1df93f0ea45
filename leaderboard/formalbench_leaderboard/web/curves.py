"""Accuracy against length, as much of it as a page can carry.

Legend: S runs (one per seed), L lengths, W windows of lengths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from formalbench.analysis.board import Board, Page
from formalbench.analysis.results import Result
from formalbench.analysis.statistics import Draws, wilson_each

MOST_POINTS = 40_000
"""Points of the curves of a page, all together; with more, neighbouring lengths are averaged."""

MOST_SEED_POINTS = 20_000
"""With more, the curves of single seeds are left out."""

DIGITS = 1000
"""Shares are written as whole numbers out of this many: a third of the size."""


@dataclass(frozen=True, slots=True)
class Detail:
    """How much of the curves a page carries.

    Attributes:
        window: how many neighbouring test lengths make one point.
        seeds: whether every seed has a curve of its own.
    """

    window: int
    seeds: bool


def detail_of(page: Page) -> Detail:
    """Return what fits on a page."""
    points = seed_points = 0
    for board in page.boards:
        for result in _results(board):
            sizes = [len(run.cells.length) for run in result.runs if run.cells]
            points += max(sizes, default=0)
            seed_points += sum(sizes)
    window = max(1, -(-points // MOST_POINTS))
    return Detail(window, -(-seed_points // window) <= MOST_SEED_POINTS)


def _results(board: Board) -> Sequence[Result]:
    return [result for row in board.rows for result in row.results]


def curve(result: Result, detail: Detail) -> dict[str, Any] | None:
    """Return the accuracy at each length: the mean of the finished runs, and a band.

    The band reaches from the lowest to the highest end of the runs' Wilson intervals, so it
    holds both how seeds differ and what the number of strings leaves open.

    Returns:
        Shares out of `DIGITS`; None if no run finished, or they differ in their lengths.
    """
    cells = [run.cells for run in result.runs if run.cells is not None]
    if not cells or len({cell.length for cell in cells}) > 1:
        return None
    groups = np.arange(0, len(cells[0].length), detail.window)
    length_L = np.array(cells[0].length, dtype=np.float64)
    strings_SW = np.array([_summed(cell.strings, groups) for cell in cells])
    correct_SW = np.array([_summed(cell.correct, groups) for cell in cells])
    shares_SW = correct_SW / strings_SW
    ends = [wilson_each(*pair) for pair in zip(correct_SW, strings_SW, strict=True)]
    sizes_W = np.diff(np.append(groups, len(length_L)))
    shown = {
        "length": np.rint(np.add.reduceat(length_L, groups) / sizes_W).astype(int).tolist(),
        "mean": _rounded(shares_SW.mean(axis=0)),
        "low": _rounded(np.min([low for low, _ in ends], axis=0)),
        "high": _rounded(np.max([high for _, high in ends], axis=0)),
    }
    if detail.seeds and len(cells) > 1:
        shown["seeds"] = [_rounded(shares_W) for shares_W in shares_SW]
    return shown


def _summed(counts: Sequence[float], groups: Any) -> Draws:
    # As floats: a record from a stranger can hold counts whose sum is no 64-bit integer.
    total: Draws = np.add.reduceat(np.array(counts, dtype=np.float64), groups)
    return total


def _rounded(shares: Draws) -> list[int]:
    whole: list[int] = np.rint(shares * DIGITS).astype(int).tolist()
    return whole
