"""Significance tests between the rows of a board, which determine ranks.

Tasks are fixed effects: a row that fails two tasks with every seed has a lower score for certain,
and only the variance of seeds *within* a task contributes to the error of a score. Two rows are
compared by a t statistic, and the p-values of all pairs of a board are corrected by Holm's method
(1979).

Three seeds give a poor estimate of their variance, and seeds that succeed or fail as a whole often
agree by chance. So the variance of a task's seeds is pooled over the rows and shrunk towards the
board's. The variance of a row on a task is shrunk towards its task's (Smyth 2004, "Linear models
and empirical Bayes methods", section 3), and it is never below its task's. What it is shrunk
towards is at least the variance of seeds of which a share fails, even if none did: that share at
which the task's seeds, over all rows, would all succeed on half of the boards, and at least one in
fifty. Nine seeds that agree allow 7 %, thirty-five 2 %. No p-value is lower than the number of
seeds allows.

`speed/intervals.py` simulates the family-wise error and the power (docs/method.md).

Legend: M rows, T tasks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from formalbench.statistics.intervals import LEVEL, Sample

_PRIOR = 4.0
"""Degrees of freedom of the prior variance that variances are shrunk towards."""

_FAILING = 0.02
"""Minimum share of failing seeds in the prior variance of a row."""

_ROUNDING = 1e-12
"""Differences up to this size are treated as rounding errors."""

Table = npt.NDArray[np.float64]


def significantly_better(rows: Sequence[Sequence[Sample]]) -> npt.NDArray[np.bool_]:
    """Return whether each row is significantly better than each other one, (M, M).

    On a board of rows with equal means, the probability of any True is intended to be at most 5 %.
    docs/method.md reports simulations, including cases with a higher probability.

    Args:
        rows: as in `p_values`.
    """
    score_M = np.array([_score(row) for row in rows])
    better_MM: npt.NDArray[np.bool_] = score_M[:, None] > score_M[None, :]
    return better_MM & (p_values(rows) <= 1.0 - LEVEL)


def can_differ(rows: Sequence[Sequence[Sample]]) -> bool:
    """Return whether rows have enough tasks and seeds for two of them to differ significantly."""
    pairs = list(combinations(rows, 2))
    return any(len(pairs) * _least_p(*pair) <= 1.0 - LEVEL for pair in pairs)


def p_values(rows: Sequence[Sequence[Sample]]) -> Table:
    """Return the p-value of each pair of rows, corrected for the number of pairs, (M, M).

    Args:
        rows: the samples of each row, in units in which chance is 0; all rows have the same tasks
            in the same order.
    """
    from scipy.special import stdtr

    p_MM = np.ones((len(rows), len(rows)))
    if len(rows) < 2:
        return p_MM
    pairs = list(combinations(range(len(rows)), 2))
    first, second = np.array(pairs).T
    seeds_MT = np.array([[len(one.values) for one in row] for row in rows])
    trained_MT = np.array([[one.trained for one in row] for row in rows])
    share_MT = _seed_variance(rows, seeds_MT, trained_MT) / seeds_MT / seeds_MT.shape[1] ** 2
    strings_MT = np.array([[float(one.strings.var()) for one in row] for row in rows])
    variance_M = share_MT.sum(axis=1) + strings_MT.sum(axis=1) / seeds_MT.shape[1] ** 2
    spread_M = (share_MT**2 / np.maximum(1, seeds_MT - 1)).sum(axis=1)
    score_M = np.array([_score(row) for row in rows])
    lead = np.abs(score_M[first] - score_M[second])
    variance = np.maximum(variance_M[first] + variance_M[second], _ROUNDING**2)
    # Welch and Satterthwaite; only seeds count, the prior variance adds no degrees of freedom.
    freedom = variance**2 / np.maximum(spread_M[first] + spread_M[second], _ROUNDING**4)
    each = np.maximum(
        2.0 * stdtr(freedom, -lead / np.sqrt(variance)),
        [_least_p(rows[one], rows[other]) for one, other in pairs],
    )
    each[lead <= _ROUNDING] = 1.0
    p_MM[first, second] = p_MM[second, first] = _holm(each)
    return p_MM


def _score(row: Sequence[Sample]) -> float:
    return math.fsum(float(one.values.mean()) for one in row) / len(row)


def _seed_variance(
    rows: Sequence[Sequence[Sample]],
    seeds_MT: npt.NDArray[np.int_],
    trained_MT: npt.NDArray[np.bool_],
) -> Table:
    """Return the variance of each row's seeds on each task, (M, T); 0 if it is not trained."""
    squares_MT = np.array([[float(one.values.var()) for one in row] for row in rows]) * seeds_MT
    squares_MT *= trained_MT
    freedom_MT = (seeds_MT - 1) * trained_MT
    board = squares_MT.sum() / max(1, freedom_MT.sum())
    task_T = (_PRIOR * board + squares_MT.sum(axis=0)) / (_PRIOR + freedom_MT.sum(axis=0))
    trained_T = (seeds_MT * trained_MT).sum(axis=0)
    failing_T = np.maximum(1.0 - 0.5 ** (1.0 / np.maximum(1, trained_T)), _FAILING)
    prior_T = np.maximum(task_T, failing_T * (1.0 - failing_T))
    own_MT = (_PRIOR * prior_T + squares_MT) / (_PRIOR + freedom_MT)
    variance_MT: Table = np.maximum(own_MT, task_T) * trained_MT
    return variance_MT


def _least_p(one: Sequence[Sample], other: Sequence[Sample]) -> float:
    """Return the smallest p-value that the seeds of two rows allow.

    It is the p-value of a permutation test of seeds within tasks in which every seed of one row is
    better than every seed of the other: three seeds each on a single task give 1 in 10. A row with
    a single seed on every task gives no estimate of its variance, and is not compared. A task that
    no run finished has no trained sample, and adds no evidence. An exact model has no trained
    samples at all, so there is no bound.
    """
    for row in (one, other):
        seeds = [len(sample.values) for sample in row if sample.trained]
        if seeds and max(seeds) == 1:
            return 1.0
    orders = [
        math.comb(len(a.values) + len(b.values), len(a.values))
        for a, b in zip(one, other, strict=True)
        if a.trained and b.trained
    ]
    return min(1.0, 2.0 / math.prod(orders)) if orders else 0.0


def _holm(each: Table) -> Table:
    """Return p-values corrected for multiple comparisons (Holm 1979)."""
    order = np.argsort(each, kind="stable")
    corrected = np.maximum.accumulate(each[order] * np.arange(len(each), 0, -1))
    result = np.empty_like(each)
    result[order] = np.minimum(corrected, 1.0)
    return result
