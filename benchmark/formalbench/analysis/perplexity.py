"""Perplexities of language models, by test length: what boards show of them, less being better.

Their accuracy says little, and is no share of what can be had, so they have no scaled accuracy and
take no part in a score.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from formalbench.contracts.record import Record

PERPLEXITY = "perplexity"
"""The metric, by which a task is known to be one for language models."""


def perplexities(record: Record) -> dict[int, float]:
    """Return a run's perplexity at each test length; nothing if it has none, as if it failed."""
    if record.test is None or PERPLEXITY not in record.test.cells.metrics:
        return {}
    cells = record.test.cells
    sums = cells.metrics[PERPLEXITY]
    if cells.window != 1:  # summed up over several lengths
        return {}
    pairs = zip(cells.length, sums.total, sums.count, strict=True)
    return {length: total / count for length, total, count in pairs if count and total > 0}


def is_language_model(runs: Iterable[Record]) -> bool:
    """Say whether runs are of a task for language models: all that were tested say so."""
    tests = [run.test for run in runs if run.test is not None]
    return bool(tests) and all(PERPLEXITY in test.cells.metrics for test in tests)


def mean_perplexities(runs: Iterable[Record]) -> tuple[tuple[int, float], ...]:
    """Return lengths and, at each, the mean over the seeds; nothing if no run has any."""
    seeds: list[Mapping[int, float]] = [found for run in runs if (found := perplexities(run))]
    if not seeds or any(seed.keys() != seeds[0].keys() for seed in seeds):
        return ()
    means = ((n, math.fsum(seed[n] for seed in seeds) / len(seeds)) for n in seeds[0])
    return tuple(means)
