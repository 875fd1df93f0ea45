"""The numbers behind a board: intervals, the bootstrap over seeds, shared ranks.

Legend: D draws of the bootstrap, S seeds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from formalbench.contracts.stream import Stream

DRAWS = 2000
LEVEL = 0.95

_SEED = 1
_ROUNDING = 1e-12
"""Differences up to this are rounding, not results."""

Draws = npt.NDArray[np.float64]


def wilson(correct: int, strings: int) -> tuple[float, float]:
    """Return the 95 % Wilson score interval of a share (Wilson 1927).

    Args:
        correct: successes.
        strings: trials, at least 1.
    """
    from scipy.stats import binomtest  # here, for its import takes most of a second

    interval = binomtest(correct, strings).proportion_ci(LEVEL, method="wilson")
    return float(interval.low), float(interval.high)


def scaled(accuracy: float, chance: float) -> float | None:
    """Return (accuracy - chance) / (1 - chance), or None where chance is right every time."""
    return None if chance >= 1.0 else (accuracy - chance) / (1.0 - chance)


def bootstrap(values: Sequence[Sequence[float]], key: Sequence[object]) -> Draws:
    """Draw the mean over tasks of the mean over seeds, with the seeds of each task redrawn.

    The stratified bootstrap: each task keeps its number of seeds. The noise of the
    test strings is not added. One seed, or equal ones, give draws that are all equal.

    Args:
        values: for each task, one number per seed, in an order that means something
            (by seed), for the result depends on it.
        key: names the stream of random numbers. Rows of different keys are independent,
            and no row depends on which others there are.

    Returns:
        (D,) draws.
    """
    total_D = np.zeros(DRAWS)
    for position, seeds in enumerate(values):
        values_S = np.asarray(seeds, dtype=np.float64)
        stream = Stream("leaderboard", "bootstrap", _SEED, *key, position)
        index_DS = stream.integers(len(values_S), (DRAWS, len(values_S)))
        total_D += values_S[index_DS].mean(axis=1)
    return total_D / len(values)


def percentile_interval(draws_D: Draws) -> tuple[float, float]:
    """Return the 95 % percentile interval of bootstrap draws."""
    tail = 100.0 * (1.0 - LEVEL) / 2.0
    low, high = np.percentile(draws_D, [tail, 100.0 - tail])
    return float(low), float(high)


def separable(better_D: Draws, worse_D: Draws) -> bool:
    """Say whether the interval of the difference of two independent rows leaves out zero."""
    low, high = percentile_interval(better_D - worse_D)
    return low > _ROUNDING or high < -_ROUNDING


def shared_ranks(draws: Sequence[Draws]) -> list[int]:
    """Return the ranks of rows ordered from best to worst.

    A row that is not separable from its neighbour above shares the neighbour's rank;
    else its rank is its position, as in 1, 1, 3.
    """
    ranks: list[int] = []
    for position, row_D in enumerate(draws):
        alone = position == 0 or separable(draws[position - 1], row_D)
        ranks.append(position + 1 if alone else ranks[-1])
    return ranks
