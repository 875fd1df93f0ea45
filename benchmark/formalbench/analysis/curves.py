"""Accuracy against length, as figures and the web page draw it: neighbouring lengths share a point.

Legend: S runs (one per seed), L lengths, W windows of lengths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from formalbench.analysis.results import CellResults
from formalbench.analysis.statistics import Draws, wilson_each

Starts = npt.NDArray[np.intp]
"""Where each window begins among the lengths, (W,)."""


@dataclass(frozen=True, slots=True)
class LengthCurve:
    """How runs did over windows of lengths.

    Attributes:
        length: the mean of each window, (W,).
        shares: of each run's strings that were right, (S, W).
        low, high: the lowest and the highest end of the runs' Wilson intervals, (W,): between them
            is both how seeds differ and what the number of strings leaves open.
    """

    length: Draws
    shares: Draws
    low: Draws
    high: Draws


def curve_of(cells: Sequence[CellResults], starts: Starts) -> LengthCurve:
    """Return the curve of runs.

    Args:
        cells: of each run, at least one; the same lengths in all.
        starts: of the windows.
    """
    # As floats: a record from a stranger can hold counts whose sum is no 64-bit integer.
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
