"""Wilson intervals, intervals over seeds and strings, and their bootstrap.

Seeds of one model often succeed or fail as a whole, so three equal seeds predict little about a
fourth. In each draw, every seed gets a random weight (the Bayesian bootstrap, Rubin 1981), and so
does one unseen seed: at chance in one half of the draws, perfect in the other. If the unseen seed
had the same weight as the others and k of n seeds succeed, the draws of the share of successes
would follow Beta(k, n - k + 1) and Beta(k + 1, n - k): a prior at either end, and the interval of
Clopper & Pearson (1934) with the mid-P of Lancaster (1961). For seeds between chance and perfect it
would be the bound of Gaffke (2005); Learned-Miller & Thomas (2019), "A new confidence interval for
the mean of a bounded random variable", describe both. Seeds that differ are also spread by
Student's quantile, because a few seeds underestimate the width of a normal distribution.

``speed/intervals.py`` simulates the coverage of the interval.

Legend: D draws (see `seeds`), S runs (one per seed) or seeds of a task, Q quantiles, N seeds of all
tasks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from formalbench.contracts.source import Stream

DRAWS = 2000

LEVEL = 0.95

_QUANTILE = 1.959963984540054
"""Quantile of the normal distribution: 95 % lie within this number of standard deviations."""

QUANTILES = 60
"""Quantiles per run. An odd multiple of 20 has the levels 2.5 % and 97.5 %, (q + 1/2) / 60."""

Draws = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RunAccuracy:
    """A run's mean accuracy, and its effective number of strings.

    Attributes:
        accuracy: the mean over the cells, with equal weights.
        strings: the number of strings in a single cell that would give a mean of equal variance;
            0 for a value that is known exactly (chance, for a run that did not finish).
    """

    accuracy: float
    strings: float


def measured(strings: Sequence[int], accuracy: float) -> RunAccuracy:
    """Return a run's accuracy with its effective number of strings.

    The mean over L equally weighted cells of n_c strings each has the variance p(1 - p) / L^2 times
    the sum of 1 / n_c. This is the variance of L^2 / sum(1 / n_c) strings in a single cell, which
    is the total number of strings if the cells are equal.

    Args:
        strings: the number of strings in each of the L cells.
        accuracy: the mean over the cells.
    """
    return RunAccuracy(accuracy, _in_one_cell(tuple(strings)))


@lru_cache(maxsize=64)
def _in_one_cell(strings: tuple[int, ...]) -> float:
    sizes = Counter(strings)  # mostly they are all equal
    inverse = sum(times / count for count, times in sizes.items())
    return len(strings) ** 2 / inverse


def wilson(correct: float, strings: int) -> tuple[float, float]:
    """Return the 95 % Wilson score interval of a share (Wilson 1927).

    Args:
        correct: successes.
        strings: trials, at least 1.
    """
    low, high = wilson_each([correct], [strings])
    return float(low[0]), float(high[0])


def wilson_each(
    correct: Sequence[float] | Draws, strings: Sequence[int] | Draws
) -> tuple[Draws, Draws]:
    """Return the lower and upper ends of the 95 % Wilson intervals of many shares.

    Args:
        correct: successes.
        strings: trials, of the same length, each at least 1.
    """
    right, trials = np.asarray(correct, dtype=float), np.asarray(strings, dtype=float)
    z = _QUANTILE
    middle = (right + z * z / 2) / (trials + z * z)
    half = z / (trials + z * z) * np.sqrt(right * (1 - right / trials) + z * z / 4)
    # No success and all successes give the ends 0 and 1 exactly, without rounding error.
    low = np.where(right == 0, 0.0, middle - half)
    high = np.where(right == trials, 1.0, middle + half)
    return low, high


def scaled(accuracy: float, chance: float) -> float | None:
    """Return (accuracy - chance) / (1 - chance), or None if chance is always right."""
    return None if chance >= 1.0 else (accuracy - chance) / (1.0 - chance)


def string_noise(runs: Sequence[RunAccuracy]) -> Draws:
    """Return the sampling error of the mean over runs due to the number of test strings, (Q,).

    Each run's accuracy has the Jeffreys posterior Beta(right + 1/2, wrong + 1/2), with all cells
    pooled. Without it, draws of equal seeds would have no width, and one wrong string in thousands
    would count as evidence. All runs are tested on the same strings, so their errors are assumed to
    have the same direction, which is the worst case. The error is overestimated, since a share of
    pooled cells varies more than the mean of shares per cell.

    Args:
        runs: at least one run.

    Returns:
        The differences at equally probable levels, in increasing order.
    """
    table_SQ = np.stack([_posterior(run) - run.accuracy for run in runs])
    noise_Q: Draws = table_SQ.mean(axis=0)
    return noise_Q


@lru_cache(maxsize=65536)
def _posterior(run: RunAccuracy) -> Draws:
    """Return the quantiles of the posterior of a run's accuracy, (Q,)."""
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
        around: a value that the interval is widened to contain, since all draws of a perfect
            accuracy are below it.
    """
    tail = 100.0 * (1.0 - LEVEL) / 2.0
    low, high = (float(end) for end in np.percentile(draws_D, [tail, 100.0 - tail]))
    return (low, high) if around is None else (min(low, around), max(high, around))


def interquartile_mean(values: Draws) -> Draws:
    """Return the mean of the middle half along the last axis.

    A quarter of the values, rounded down, is left out at either end, as in Agarwal et al. (2021),
    "Deep reinforcement learning at the edge of the statistical precipice", section 4.3. Unlike the
    mean, it is not affected by one hopeless task, and unlike the median, it does not depend on one
    task only.
    """
    count = values.shape[-1]
    cut = count // 4
    middle: Draws = np.sort(values, axis=-1)[..., cut : count - cut].mean(axis=-1)
    return middle


_SEED = 3

_TAIL = 0.05
"""Tail probability in one half of the draws, which is 0.025 of all draws."""

_UNSEEN = 1.25
"""Weight of the unseen seed relative to the others. With 1, five equal seeds of five would exclude
that half of all succeed, which happens in one of 16 tables; with 1.25 they include it."""

_STEPS = 1 << 32


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """The values of one model's seeds on one task, in any unit in which 1 is perfect.

    Attributes:
        task: the task's title, which is the key of its seeds' weights, the same for every model.
        values: the value of each seed, (S,), at least one.
        strings: sampling error of the mean over seeds due to the test strings, at equally probable
            levels, (Q,). The seeds share their strings.
        chance: the value of an unseen seed that learns nothing.
        least: the smallest possible value.
        trained: whether seeds differ; otherwise there is no unseen seed.
    """

    task: str
    values: Draws
    strings: Draws
    chance: float
    least: float
    trained: bool = True

    @classmethod
    def of(
        cls, task: str, runs: Sequence[RunAccuracy], chance: float | None, trained: bool = True
    ) -> Sample:
        """Return accuracies as a sample; without a chance level, an unseen seed may be at 0.

        Args:
            task: the task's title.
            runs: one per seed, at least one, by seed.
            chance: accuracy of the best answer that depends on length only; None if unknown.
            trained: whether seeds differ.
        """
        values = np.array([run.accuracy for run in runs])
        level = chance if chance is not None and chance < 1.0 else 0.0
        return cls(task, values, string_noise(runs), level, 0.0, trained)

    @classmethod
    def unknown(cls, task: str, seeds: int) -> Sample:
        """Return a sample of zeros with width 0."""
        return cls(task, np.zeros(max(1, seeds)), np.zeros(1), 0.0, 0.0, trained=False)

    def in_units_of(self, chance: float) -> Sample:
        """Return the sample in units in which `chance` (less than 1) is 0."""
        span = 1.0 - chance
        return Sample(
            self.task,
            (self.values - chance) / span,
            self.strings / span,
            (self.chance - chance) / span,
            (self.least - chance) / span,
            self.trained,
        )


def mean_draws(samples: Sequence[Sample], key: Sequence[object]) -> Draws:
    """Draw the mean over tasks of the mean over seeds, (D,).

    All seeds of all tasks form one sample, with equal weight per task, so that the unseen seed has
    less weight the more seeds there are. Differences between tasks widen the interval more than
    necessary; a small number of seeds per task does not narrow it.

    Args:
        samples: one per task.
        key: the key of the row, for the random streams of its string errors and its unseen seed.
            The seeds' weights are the same for all rows with the same tasks, so that rows are
            compared seed by seed.
    """
    total_D = np.zeros(DRAWS)
    trained = [sample for sample in samples if sample.trained]
    if trained:
        total_D += len(trained) * _trained_draws(trained, key)
    for sample in samples:
        total_D += _string_noise(sample, key)
        if not sample.trained:
            total_D += sample.values.mean()
    least = sum(sample.least for sample in samples) / len(samples)
    draws_D: Draws = np.clip(total_D / len(samples), least, 1.0)
    return draws_D


def _trained_draws(samples: Sequence[Sample], key: Sequence[object]) -> Draws:
    seeds = len(samples) ** 2 / sum(1.0 / len(sample.values) for sample in samples)
    mean = sum(float(sample.values.mean()) for sample in samples) / len(samples)
    sum_D, weight_D = np.zeros(DRAWS), np.zeros(DRAWS)
    for sample in samples:
        weights_SD = seed_weights(sample.task, len(sample.values)) / len(sample.values)
        sum_D += sample.values @ weights_SD
        weight_D += weights_SD.sum(axis=0)
    chance, lowest, factor = _chance(samples), _lowest(samples), spread(seeds)
    # Draws are not below chance, unless a seed is: then down to its spread value.
    least = chance - factor * (chance - lowest)
    seen_D = np.clip(mean + factor * (sum_D / weight_D - mean), least, 1.0)
    unseen_D = np.where(fails(key), lowest, 1.0)
    weight_D *= seeds / len(samples)  # the mean weight is the number of seeds
    share_D = unseen_weight() / (weight_D + unseen_weight())
    draws_D: Draws = seen_D + share_D * (unseen_D - seen_D)
    return draws_D


def interquartile_draws(samples: Sequence[Sample], key: Sequence[object]) -> Draws:
    """Draw the mean of the middle half of the seeds, including the unseen one, (D,)."""
    noise_D = sum((_string_noise(sample, key) for sample in samples), np.zeros(DRAWS))
    values = [value for sample in samples for value in sample.values]
    weights = [
        row
        for sample in samples
        for row in (
            seed_weights(sample.task, len(sample.values))
            if sample.trained
            else np.ones((len(sample.values), DRAWS))
        )
    ]
    if any(sample.trained for sample in samples):
        failed_D = fails(key)
        values += [_lowest(samples), 1.0]
        weights += [unseen_weight() * failed_D, unseen_weight() * ~failed_D]
    order = np.argsort(values, kind="stable")
    values_N, weights_ND = np.array(values)[order], np.array(weights)[order]
    ends_ND = np.cumsum(weights_ND, axis=0)
    ends_ND /= ends_ND[-1]
    middle_ND = np.diff(np.clip(ends_ND, 0.25, 0.75), axis=0, prepend=0.25)
    draws_D: Draws = np.minimum(2.0 * (values_N @ middle_ND) + noise_D / len(samples), 1.0)
    return draws_D


def spread(seeds: float) -> float:
    """Return the factor by which seeds are moved away from their mean, at least 1.

    With it, the draws of n evenly scattered seeds have the quantiles of Student's interval: t / z
    for few degrees of freedom, and (n + 1) / (n - 1) for the variance of the weights.
    """
    from scipy.special import ndtri, stdtrit

    if seeds <= 1.0:
        return 1.0
    quantiles = stdtrit(seeds - 1.0, 1.0 - _TAIL) / ndtri(1.0 - _TAIL)
    return float(quantiles * ((seeds + 1.0) / (seeds - 1.0)) ** 0.5)


def _lowest(samples: Sequence[Sample]) -> float:
    """Return the value of an unseen seed that fails: chance, or the lowest observed seed."""
    return min(_chance(samples), *(float(sample.values.min()) for sample in samples))


def _chance(samples: Sequence[Sample]) -> float:
    return sum(sample.chance for sample in samples) / len(samples)


def seed_weights(task: str, seeds: int) -> Draws:
    """Return the weights of a task's seeds, (S, D), exponential with mean 1."""
    return np.array([_exponential("seed", task, index) for index in range(seeds)])


def unseen_weight() -> Draws:
    """Return the weight of the unseen seed, (D,)."""
    return _UNSEEN * _exponential("unseen")


def fails(key: Sequence[object]) -> npt.NDArray[np.bool_]:
    """Return a mask of the draws in which the unseen seed of a row fails, (D,)."""
    failed_D: npt.NDArray[np.bool_] = _stream("fails", *key).integers(2, (DRAWS,)) == 0
    return failed_D


def _string_noise(sample: Sample, key: Sequence[object]) -> Draws:
    index_D = _stream("strings", *key, sample.task).integers(len(sample.strings), (DRAWS,))
    noise_D: Draws = sample.strings[index_D]
    return noise_D


@lru_cache(maxsize=2048)
def _exponential(*key: object) -> Draws:
    levels_D = (_stream(*key).integers(_STEPS, (DRAWS,)) + 0.5) / _STEPS
    draws_D: Draws = -np.log(levels_D)
    draws_D.flags.writeable = False
    return draws_D


def _stream(*key: object) -> Stream:
    return Stream("leaderboard", "seeds", _SEED, *key)
