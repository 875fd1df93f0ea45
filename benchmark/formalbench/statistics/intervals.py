"""Wilson intervals, intervals over seeds and strings, and the bootstrap behind them.

Seeds of one model often succeed or fail as a whole, so three that agree say little of a fourth.
In each draw every seed gets a random weight (the Bayesian bootstrap, Rubin 1981) and so does one
seed that nobody has seen: at chance in one half of the draws, perfect in the other. If it weighed
as much as the others, then of n seeds of which k succeed the draws would have the share that
succeeds as Beta(k, n - k + 1) and Beta(k + 1, n - k): a prior at either end, and the interval of
Clopper & Pearson (1934) with the mid-P of Lancaster (1961). For any seeds between chance and
perfect it would be the bound of Gaffke (2005); Learned-Miller & Thomas (2019), "A new confidence
interval for the mean of a bounded random variable", describe both. Seeds that differ are also
spread by Student's quantile, because few seeds of a normal distribution show too little of it.

How often the interval holds the true mean is simulated in ``speed/intervals.py``.

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
"""Of the normal distribution: 95 % lie within that many standard deviations."""

QUANTILES = 60
"""Per run. An odd multiple of 20 has 2.5 % and 97.5 % among its levels, (q + 1/2) / 60."""

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


_SEED = 3

_TAIL = 0.05
"""Of one half of the draws, which is half of that of all."""

_UNSEEN = 1.25
"""What the unseen seed weighs beside the others. With 1, five equal seeds of five would exclude
that half of all succeed, which happens in one of 16 tables; with 1.25 they include it."""

_STEPS = 1 << 32


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """What the seeds of one model reached on one task, in any unit in which 1 is perfect.

    Attributes:
        task: the task's title: it names the weights that its seeds get, the same for every model.
        values: of each seed, (S,), at least one.
        strings: by how much the mean over the seeds may be off because the test strings are a
            sample, at equally probable levels, (Q,). The seeds share their strings.
        chance: where an unseen seed may be that learns nothing.
        least: nothing is lower.
        trained: whether seeds differ; else there is no unseen one.
    """

    task: str
    values: Draws
    strings: Draws
    chance: float
    least: float
    trained: bool = True

    @classmethod
    def of(
        cls, task: str, runs: Sequence[Measured], chance: float | None, trained: bool = True
    ) -> Sample:
        """Return accuracies as a sample; without a chance level an unseen seed may be at 0.

        Args:
            task: the task's title.
            runs: one per seed, at least one, by seed.
            chance: of the best answer that sees only the length; None if it is not known.
            trained: whether seeds differ.
        """
        values = np.array([run.accuracy for run in runs])
        known = chance if chance is not None and chance < 1.0 else 0.0
        return cls(task, values, string_noise(runs), known, 0.0, trained)

    @classmethod
    def unknown(cls, task: str, seeds: int) -> Sample:
        """Return a sample of zeros without any width."""
        return cls(task, np.zeros(max(1, seeds)), np.zeros(1), 0.0, 0.0, trained=False)

    def in_units_of(self, chance: float) -> Sample:
        """Return the sample in units in which `chance`, which is below 1, is 0."""
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

    All seeds of all tasks are one sample, each task counting the same, so that the unseen seed
    weighs the less the more seeds there are. How tasks differ widens the interval, more than it
    must; what few seeds a task has does not narrow it.

    Args:
        samples: one per task.
        key: names the row: of which strings and which kind of unseen seed it is given. The seeds'
            weights are the same for all rows with the same tasks, so that rows are compared
            seed by seed.
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
    drawn_D: Draws = np.clip(total_D / len(samples), least, 1.0)
    return drawn_D


def _trained_draws(samples: Sequence[Sample], key: Sequence[object]) -> Draws:
    known = len(samples) ** 2 / sum(1.0 / len(sample.values) for sample in samples)
    mean = sum(float(sample.values.mean()) for sample in samples) / len(samples)
    sum_D, weight_D = np.zeros(DRAWS), np.zeros(DRAWS)
    for sample in samples:
        weights_SD = seed_weights(sample.task, len(sample.values)) / len(sample.values)
        sum_D += sample.values @ weights_SD
        weight_D += weights_SD.sum(axis=0)
    chance, lowest, factor = _chance(samples), _lowest(samples), spread(known)
    # Nothing is below chance, unless a seed is: then as far as seeds are moved.
    least = chance - factor * (chance - lowest)
    seen_D = np.clip(mean + factor * (sum_D / weight_D - mean), least, 1.0)
    unseen_D = np.where(fails(key), lowest, 1.0)
    weight_D *= known / len(samples)  # as many as there are seeds, on average
    share_D = unseen_weight() / (weight_D + unseen_weight())
    drawn_D: Draws = seen_D + share_D * (unseen_D - seen_D)
    return drawn_D


def interquartile_draws(samples: Sequence[Sample], key: Sequence[object]) -> Draws:
    """Draw the mean of the middle half of the seeds, the unseen one with them, (D,)."""
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
    drawn_D: Draws = np.minimum(2.0 * (values_N @ middle_ND) + noise_D / len(samples), 1.0)
    return drawn_D


def spread(seeds: float) -> float:
    """Return by what factor seeds are moved away from their mean, at least 1.

    Then the draws of n seeds that scatter evenly have the quantiles of Student's interval:
    t / z for few degrees of freedom, and (n + 1) / (n - 1) for the variance of the weights.
    """
    from scipy.special import ndtri, stdtrit

    if seeds <= 1.0:
        return 1.0
    quantiles = stdtrit(seeds - 1.0, 1.0 - _TAIL) / ndtri(1.0 - _TAIL)
    return float(quantiles * ((seeds + 1.0) / (seeds - 1.0)) ** 0.5)


def _lowest(samples: Sequence[Sample]) -> float:
    """Return where an unseen seed is that fails: at chance, or as low as one that was seen."""
    return min(_chance(samples), *(float(sample.values.min()) for sample in samples))


def _chance(samples: Sequence[Sample]) -> float:
    return sum(sample.chance for sample in samples) / len(samples)


def seed_weights(task: str, seeds: int) -> Draws:
    """Return the weights of a task's seeds, (S, D), exponential with mean 1."""
    return np.array([_exponential("seed", task, index) for index in range(seeds)])


def unseen_weight() -> Draws:
    """Return the weight of the seed that nobody has seen, (D,)."""
    return _UNSEEN * _exponential("unseen")


def fails(key: Sequence[object]) -> npt.NDArray[np.bool_]:
    """Say in which draws the unseen seed of a row fails, (D,)."""
    failed_D: npt.NDArray[np.bool_] = _stream("fails", *key).integers(2, (DRAWS,)) == 0
    return failed_D


def _string_noise(sample: Sample, key: Sequence[object]) -> Draws:
    index_D = _stream("strings", *key, sample.task).integers(len(sample.strings), (DRAWS,))
    noise_D: Draws = sample.strings[index_D]
    return noise_D


@lru_cache(maxsize=2048)
def _exponential(*key: object) -> Draws:
    levels_D = (_stream(*key).integers(_STEPS, (DRAWS,)) + 0.5) / _STEPS
    drawn_D: Draws = -np.log(levels_D)
    drawn_D.flags.writeable = False
    return drawn_D


def _stream(*key: object) -> Stream:
    return Stream("leaderboard", "seeds", _SEED, *key)
