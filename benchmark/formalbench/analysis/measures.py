"""By what a task is shown: by accuracy or, of texts, by another measure that has a direction.

Accuracy says little of a language model, and is no share of what can be had; nor is BLEU a share of
texts. Such tasks have no scaled accuracy and take no part in a score.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from formalbench.analysis.text import MISSING, percent
from formalbench.contracts.record import Record

PERPLEXITY = "perplexity"
"""The metric, by which a task is known to be one for language models."""

_MOST = 1e300
"""A perplexity, so that no sum over seeds is infinite, whatever a record says."""

_LONG = 1e9
"""From here on a number is written by its power of ten."""


@dataclass(frozen=True, slots=True)
class ShownBy:
    """What a task is shown by.

    Attributes:
        name: in records.
        heading: for people.
        less: whether less is better.
        share: whether it is shown in percent.
        accuracy: whether it counts right answers, so that chance and a score are known of it.
    """

    name: str = "accuracy"
    heading: str = "accuracy"
    less: bool = False
    share: bool = True
    accuracy: bool = True

    @property
    def title(self) -> str:
        """What it is, and its direction: ``perplexity, less is better``."""
        return f"{self.heading}, {'less' if self.less else 'more'} is better"

    def text(self, value: float | None) -> str:
        """Return a value as tables have it; a dash for none."""
        if value is None:
            return MISSING
        if self.share:
            return percent(value)
        return f"{value:,.2f}" if value < _LONG else f"{value:.2e}"

    def mean(self, values: Collection[float]) -> float | None:
        """Return the mean over places; of what is no share, the geometric one."""
        if not values:
            return None
        if self.share:
            return math.fsum(values) / len(values)
        return math.exp(math.fsum(map(math.log, values)) / len(values))

    def order(self, value: float | None) -> float:
        """Return what is the least for the best."""
        if value is None:
            return math.inf
        return value if self.less else -value


ACCURACY = ShownBy()
BLEU = ShownBy("bleu", "BLEU", accuracy=False)
OF_LANGUAGE_MODELS = ShownBy(PERPLEXITY, PERPLEXITY, less=True, share=False, accuracy=False)


def measure_of(runs: Iterable[Record]) -> ShownBy:
    """Return by what the runs of a task are shown; by accuracy, if none was tested."""
    tests = [run.test for run in runs if run.test is not None]
    if not tests:
        return ACCURACY
    if all(test.metric == BLEU.name for test in tests):
        return BLEU
    if all(PERPLEXITY in test.cells.metrics for test in tests):
        return OF_LANGUAGE_MODELS
    return ShownBy(min(test.metric for test in tests))


def mean_by_place(runs: Iterable[Record], measure: ShownBy) -> tuple[tuple[str, float], ...]:
    """Return the places of a test and, at each, the mean over the seeds of what is no accuracy.

    A place is a named part or a length. Nothing if no run has any, or they differ in them.
    """
    seeds = [found for run in runs if (found := at_places(run, measure))]
    if not seeds or any(seed.keys() != seeds[0].keys() for seed in seeds):
        return ()
    means = ((at, math.fsum(seed[at] for seed in seeds) / len(seeds)) for at in seeds[0])
    return tuple(means)


def at_places(run: Record, measure: ShownBy) -> Mapping[str, float]:
    """Return what a run reached at each place of its test, of what is no accuracy."""
    if measure.accuracy or run.test is None:
        return {}
    if measure is OF_LANGUAGE_MODELS:
        return {str(length): value for length, value in perplexities(run).items()}
    cells = run.test.cells
    if cells.group is not None:
        return cells.by_group
    pairs = zip(cells.length, cells.correct, cells.asked, strict=True)
    return {str(length): right / asked for length, right, asked in pairs}


def perplexities(record: Record) -> dict[int, float]:
    """Return a run's perplexity at each test length; nothing if it has none, as if it failed."""
    if record.test is None or PERPLEXITY not in record.test.cells.metrics:
        return {}
    cells = record.test.cells
    sums = cells.metrics[PERPLEXITY]
    if cells.window != 1:  # summed up over several lengths
        return {}
    pairs = zip(cells.length, sums.total, sums.count, strict=True)
    return {
        length: min(total / count, _MOST) for length, total, count in pairs if count and total > 0
    }


def is_language_model(runs: Iterable[Record]) -> bool:
    """Say whether runs are of a task for language models: all that were tested say so."""
    tests = [run.test for run in runs if run.test is not None]
    return bool(tests) and all(PERPLEXITY in test.cells.metrics for test in tests)
