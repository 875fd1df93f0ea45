"""The numbers behind a board: intervals and string noise.

Legend: D draws (see `seeds`), S runs (one per seed), Q quantiles.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

DRAWS = 2000
LEVEL = 0.95

_QUANTILE = 1.959963984540054
"""Of the normal distribution: 95 % lie within that many standard deviations."""

QUANTILES = 60
"""Per run. An odd multiple of 20 has 2.5 % and 97.5 % among its levels, (q + 1/2) / 60."""

_MOST = 1 << 53
"""Larger counts than a float can hold mean no more than this one."""

Draws = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Measured:
    """A run's mean accuracy, and how many strings it rests on.

    Attributes:
        accuracy: the mean over the cells, each counting the same.
        strings: how many strings of one cell would give a mean as certain as that;
            0 for a value that is known exactly (chance, for a run that did not finish).
    """

    accuracy: float
    strings: float


def measured(strings: Sequence[int], accuracy: float) -> Measured:
    """Return a run's accuracy with the size of the test behind it.

    Cells of n_c strings each, equally weighted, have a mean of variance
    p(1 - p) / L^2 times the sum of 1 / n_c: as much as L^2 / sum(1 / n_c) strings
    have in one cell, which is all of them where the cells are equal.

    Args:
        strings: of each of the L cells.
        accuracy: the mean over the cells.
    """
    return Measured(accuracy, _in_one_cell(tuple(strings)))


@lru_cache(maxsize=64)
def _in_one_cell(strings: tuple[int, ...]) -> float:
    sizes = Counter(strings)  # mostly they are all equal
    inverse = sum(times / min(count, _MOST) for count, times in sizes.items())
    return len(strings) ** 2 / inverse


def wilson(correct: float, strings: int) -> tuple[float, float]:
    """Return the 95 % Wilson score interval of a share (Wilson 1927).

    Args:
        correct: successes.
        strings: trials, at least 1.
    """
    if strings > _MOST:
        correct, strings = correct * _MOST // strings, _MOST
    low, high = wilson_each([correct], [strings])
    return float(low[0]), float(high[0])


def wilson_each(
    correct: Sequence[float] | Draws, strings: Sequence[int] | Draws
) -> tuple[Draws, Draws]:
    """Return the lower and the upper ends of the 95 % Wilson intervals of many shares.

    Args:
        correct: successes.
        strings: trials, as many numbers, each at least 1.
    """
    right, trials = np.asarray(correct, dtype=float), np.asarray(strings, dtype=float)
    z = _QUANTILE
    middle = (right + z * z / 2) / (trials + z * z)
    half = z / (trials + z * z) * np.sqrt(right * (1 - right / trials) + z * z / 4)
    # None and all are ends of the interval exactly; rounding must not say otherwise.
    low = np.where(right == 0, 0.0, middle - half)
    high = np.where(right == trials, 1.0, middle + half)
    return low, high


def scaled(accuracy: float, chance: float) -> float | None:
    """Return (accuracy - chance) / (1 - chance), or None where chance is right every time."""
    return None if chance >= 1.0 else (accuracy - chance) / (1.0 - chance)


def string_noise(runs: Sequence[Measured]) -> Draws:
    """Return by how much the mean over runs may be off for want of test strings, (Q,).

    Each run's accuracy is within its Jeffreys posterior, Beta(right + 1/2, wrong + 1/2), the cells
    taken together; without it equal seeds would give draws without width, and one wrong string in
    thousands would pass for evidence. The runs are tested on the same strings, so all of
    them are taken to be off in the same direction, which is the worst case. The noise is at least
    as wide as it should be: a share right in all cells together varies more than one in each.

    Args:
        runs: at least one.

    Returns:
        the differences at equally probable levels, from the lowest to the highest.
    """
    table_SQ = np.stack([_posterior(run) - run.accuracy for run in runs])
    noise_Q: Draws = table_SQ.mean(axis=0)
    return noise_Q


@lru_cache(maxsize=65536)
def _posterior(run: Measured) -> Draws:
    """Return the quantiles of what a run's accuracy may be, (Q,)."""
    from scipy.special import betaincinv

    if not run.strings:
        return np.full(QUANTILES, run.accuracy)
    right = run.accuracy * run.strings
    levels_Q = (np.arange(QUANTILES) + 0.5) / QUANTILES
    values_Q: Draws = betaincinv(right + 0.5, run.strings - right + 0.5, levels_Q)
    return values_Q


def percentile_interval(draws_D: Draws, around: float | None = None) -> tuple[float, float]:
    """Return the 95 % percentile interval of draws.

    Args:
        draws_D: the draws.
        around: a value that the interval is widened to hold: draws of a perfect
            accuracy all lie below it.
    """
    tail = 100.0 * (1.0 - LEVEL) / 2.0
    low, high = (float(end) for end in np.percentile(draws_D, [tail, 100.0 - tail]))
    return (low, high) if around is None else (min(low, around), max(high, around))


def interquartile_mean(values: Draws) -> Draws:
    """Return the mean of the middle half along the last axis.

    A quarter of the values, rounded down, is left out at either end, as Agarwal et al. (2021),
    "Deep reinforcement learning at the edge of the statistical precipice", section 4.3, do:
    unlike the mean it is not moved by one task that is hopeless, and unlike the median it does
    not rest on one.
    """
    count = values.shape[-1]
    cut = count // 4
    middle: Draws = np.sort(values, axis=-1)[..., cut : count - cut].mean(axis=-1)
    return middle
