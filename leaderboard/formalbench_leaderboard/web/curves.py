"""Accuracy against length, as much of it as a page can carry.

Legend: W windows of lengths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from formalbench.analysis.board import Board, Page
from formalbench.analysis.curves import averaged, curve_of
from formalbench.analysis.results import Result, TaskFacts, telling_cells
from formalbench.analysis.statistics import Draws
from formalbench.analysis.text_lines import text_line

MOST_POINTS = 30_000
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


def chance_curve(facts: TaskFacts, detail: Detail) -> dict[str, list[int]]:
    """Return the chance level at each length that tells something: two points, if it is the same.

    Returns:
        Shares out of `DIGITS`.
    """
    told, window = facts.telling, detail.window
    if len({chance for _, chance in told}) == 1:
        told, window = [told[0], told[-1]], 1
    starts = np.arange(0, len(told), window)
    lengths, chances = zip(*told, strict=True) if told else ((), ())
    return {
        "length": _whole(averaged(lengths, starts)),
        "chance": _whole(averaged(chances, starts) * DIGITS),
    }


def curve(result: Result, facts: TaskFacts | None, detail: Detail) -> dict[str, Any] | None:
    """Return the accuracy at each length: the mean of the runs, and a band.

    Lengths at which chance is always right tell nothing, and are left out. The band reaches from
    the lowest to the highest end of the runs' Wilson intervals, so it holds both how seeds differ
    and what the number of strings leaves open.

    Returns:
        Shares out of `DIGITS`; None if no run finished, they differ in their lengths, or no length
        tells anything.
    """
    cells = telling_cells(result, facts)
    if not cells:
        return None
    found = curve_of(cells, np.arange(0, len(cells[0].length), detail.window))
    shown: dict[str, Any] = {
        "length": _whole(found.length),
        "mean": _whole(found.shares.mean(axis=0) * DIGITS),
        "low": _whole(found.low * DIGITS),
        "high": _whole(found.high * DIGITS),
    }
    if detail.seeds and len(cells) > 1:
        shown["seeds"] = [_whole(shares_W * DIGITS) for shares_W in found.shares]
    return shown


def places_curve(result: Result) -> dict[str, Any] | None:
    """Return what is shown by another measure than accuracy, in its own units; None of any else.

    The band reaches from the seed with the least to the one with the most.
    """
    line = text_line(result)
    if line is None:
        return None
    named = {"names": list(line.names)} if line.names else {}
    shown = {name: _short(getattr(line, name)) for name in ("mean", "low", "high")}
    at = list(line.length) or list(range(len(line.names)))
    return {"length": at, **named, **shown, "seeds": [_short(seed_P) for seed_P in line.seeds]}


def _short(values: Draws) -> list[float]:
    return [float(f"{value:.5g}") for value in values]


def _whole(numbers: Draws) -> list[int]:
    whole: list[int] = np.rint(numbers).astype(int).tolist()
    return whole
