"""Accuracy or perplexity as a function of string length.

Legend: S runs (one per seed) or seeds, L lengths, W windows of lengths, R runs (one per seed), P
places: lengths or named parts of a test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from formalbench.statistics.intervals import Draws, scaled, wilson_each
from formalbench.statistics.result import CellResults, Result, TaskFacts, informative_cells

Starts = npt.NDArray[np.intp]
"""The index of each window's first length, (W,)."""


@dataclass(frozen=True, slots=True)
class LengthCurve:
    """The accuracy of runs over windows of lengths.

    Attributes:
        length: the mean length of each window, (W,).
        shares: share of correct strings of each run, (S, W).
        low, high: the lowest and the highest end of the runs' Wilson intervals, (W,): the range
            covers differences between seeds and the sampling error of strings.
    """

    length: Draws
    shares: Draws
    low: Draws
    high: Draws


def curve_of(cells: Sequence[CellResults], starts: Starts) -> LengthCurve:
    """Return the curve of runs.

    Args:
        cells: the cells of each run, at least one run; all runs have the same lengths.
        starts: the starts of the windows.
    """
    # As floats, since sums of counts in an untrusted record can exceed 64-bit integers.
    correct_SW, strings_SW = (
        np.add.reduceat(np.array(counts, dtype=np.float64), starts, axis=1)
        for counts in ([cell.correct for cell in cells], [cell.strings for cell in cells])
    )
    low_SW, high_SW = wilson_each(correct_SW, strings_SW)
    length_W = averaged(cells[0].length, starts)
    return LengthCurve(length_W, correct_SW / strings_SW, low_SW.min(axis=0), high_SW.max(axis=0))


def averaged(values: Sequence[float], starts: Starts) -> Draws:
    """Return the mean of the values of each window, (W,)."""
    sizes_W = np.diff([*starts, len(values)])
    mean_W: Draws = np.add.reduceat(np.array(values, dtype=np.float64), starts) / sizes_W
    return mean_W


MOST_STEPS = 10
"""Maximum steps of a strip; with more test lengths, neighbours share a step."""


@dataclass(frozen=True, slots=True)
class Step:
    """Neighbouring test lengths.

    Attributes:
        first, last: the shortest and the longest.
        share: accuracy between chance (0) and perfect (1), the mean over the runs that learned the
            training lengths; accuracies below chance count as 0.
    """

    first: int
    last: int
    share: float


Strip = tuple[Step, ...]


def strip_of(result: Result, facts: TaskFacts) -> Strip:
    """Return the accuracy, at each length, of the runs that learned, shortest length first.

    Lengths at which chance is always right are left out. The result is empty if the runs were not
    tested at the same lengths.
    """
    runs = tuple(run for run in result.runs if run.learned)
    cells_by_run = informative_cells(replace(result, runs=runs), facts)
    if not cells_by_run or not facts.scored:
        return ()
    lengths = cells_by_run[0].length
    shares_RL = np.array([np.divide(cells.correct, cells.strings) for cells in cells_by_run])
    mean_L, chance_L = shares_RL.mean(axis=0), np.array(facts.chance_of(cells_by_run[0]))
    return tuple(
        Step(
            first=lengths[part[0]],
            last=lengths[part[-1]],
            share=_scaled_share(float(mean_L[part].mean()), float(chance_L[part].mean())),
        )
        for part in np.array_split(np.arange(len(lengths)), min(MOST_STEPS, len(lengths)))
    )


def _scaled_share(accuracy: float, chance: float) -> float:
    return min(1.0, max(0.0, scaled(accuracy, chance) or 0.0))


@dataclass(frozen=True, slots=True)
class TextLine:
    """The values of a model at each place, in the units of its measure; (P,) each.

    Attributes:
        length: lengths of the texts; empty if the places are named parts.
        names: names of the parts, the one with the shortest texts first; empty for lengths.
        mean: mean over the seeds that finished.
        low, high: minimum and maximum over the seeds.
        seeds: values of each seed, (S, P).
    """

    length: tuple[int, ...]
    names: tuple[str, ...]
    mean: Draws
    low: Draws
    high: Draws
    seeds: Draws


def text_line(result: Result) -> TextLine | None:
    """Return the values of a model; None if no run finished, or runs differ in their places."""
    seeds = [dict(run.places) for run in result.runs if run.places]
    if not seeds or any(seed.keys() != seeds[0].keys() for seed in seeds):
        return None
    names = parts if set(parts := _parts(result)) == seeds[0].keys() else ()
    length = () if names else tuple(map(int, seeds[0]))
    values_SP = np.array([[seed[place] for place in names or seed] for seed in seeds])
    ends = values_SP.min(axis=0), values_SP.max(axis=0)
    return TextLine(length, names, values_SP.mean(axis=0), *ends, values_SP)


def _parts(result: Result) -> tuple[str, ...]:
    """Return the named parts of a test, ordered by their shortest texts; empty if it has none."""
    tests = (run.cells for run in result.runs if run.cells is not None)
    return next((tuple(dict.fromkeys(cells.group or ())) for cells in tests), ())
