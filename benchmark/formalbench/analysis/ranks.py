"""Ranks that say no more than the draws of the scores do.

A row's rank is one more than the number of rows that are separably better. Two rows are compared
draw by draw, in which the seeds of a task weigh the same for both (see `seeds`), and all pairs at
once: a difference counts if it is so many standard deviations of its draws as the largest of all
pairs' differences strays in 5 % of the draws, however many pairs there are (the single-step
"max-t" of Romano and Wolf 2005, "Exact and approximate stepdown methods for multiple hypothesis
testing"). So far out the few seeds of a row are further apart than draws show: by Student's
quantile, beyond what the draws have of it already.

Legend: D draws, M rows, P the rows after one row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from formalbench.analysis.statistics import LEVEL, Draws

_ROUNDING = 1e-12
"""Differences up to this are rounding, not results."""

_ONE_SIDE = 0.95
"""The quantile at which `formalbench.analysis.seeds` has spread the draws as Student's are."""

_Table = npt.NDArray[np.float64]


def shared_ranks(draws: Sequence[Draws], seeds: Sequence[float] | None = None) -> list[int]:
    """Return the rank of each row: one more than the number of rows separably better.

    Args:
        draws: as of `separably_better`.
        seeds: likewise.
    """
    return [int(count) + 1 for count in separably_better(draws, seeds).sum(axis=0)]


def separably_better(
    draws: Sequence[Draws], seeds: Sequence[float] | None = None
) -> npt.NDArray[np.bool_]:
    """Say of each row whether it is separably better than each other one, (M, M).

    Args:
        draws: of each row's score, paired draw by draw.
        seeds: of each row, how many its score rests on; infinitely many if it has none, as that
            of an exact model, which is also the default.
    """
    rows = len(draws)
    better_MM = np.zeros((rows, rows), dtype=bool)
    if rows < 2:
        return better_MM
    table_DM = np.stack(draws, axis=1)
    apart_MM, strayed = _standardised(table_DM)
    known = seeds or [math.inf] * rows
    factors = {least: _students(strayed, least - 1.0) for least in set(known)}
    needed_M = np.array([strayed * factors[count] for count in known])
    better_MM[:] = apart_MM > np.maximum(needed_M[:, None], needed_M[None, :])
    return better_MM


def _standardised(table_DM: Draws) -> tuple[_Table, float]:
    """Return each row's lead on each other one, (M, M), and how far the largest of all strays.

    Both in standard deviations of the draws of the difference.
    """
    count, rows = table_DM.shape
    apart_MM, largest_D = np.zeros((rows, rows)), np.zeros(count)
    for row in range(rows - 1):
        differences_DP = table_DM[:, row, None] - table_DM[:, row + 1 :]
        mean_P = differences_DP.mean(axis=0)
        deviation_P = np.maximum(differences_DP.std(axis=0), _ROUNDING)
        strayed_DP = np.abs(differences_DP - mean_P) / deviation_P
        np.maximum(largest_D, strayed_DP.max(axis=1), out=largest_D)
        lead_P = np.where(np.abs(mean_P) > _ROUNDING, mean_P / deviation_P, 0.0)
        apart_MM[row, row + 1 :], apart_MM[row + 1 :, row] = lead_P, -lead_P
    return apart_MM, float(np.quantile(largest_D, LEVEL, method="higher"))


def _students(deviations: float, freedom: float) -> float:
    """Return by what factor so many deviations of a normal distribution grow with few seeds."""
    from scipy.special import ndtr, ndtri, stdtrit

    if math.isinf(freedom):
        return 1.0
    if freedom <= 0.0:
        return math.inf  # a single seed does not tell how seeds differ
    there = stdtrit(freedom, ndtr(deviations)) / deviations
    here = stdtrit(freedom, _ONE_SIDE) / ndtri(_ONE_SIDE)
    return float(max(1.0, there / here))
