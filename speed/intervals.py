"""How often the board's intervals hold the true mean, simulated with the board's own code.

    python speed/intervals.py [--tables 1000]

For each setting, tables of results are drawn as runs would give them (a true accuracy for each
seed, then its test strings), and the interval of their score is asked whether it holds the true
mean over all seeds. Prints the table of docs/method.md: 1,000 tables a setting take some ten
minutes on one core.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from formalbench.analysis.seeds import Sample, mean_draws
from formalbench.analysis.statistics import Measured, percentile_interval

CHANCE, CELLS, STRINGS = 0.5, 16, 256
SUITES = ((1, 3), (1, 5), (6, 3), (6, 5))
"""Tasks and seeds."""

_ENOUGH = 1_000_000
"""Seeds whose mean is taken as the true one where the normal distribution is cut off."""

Generator = np.random.Generator
Values = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@dataclass(frozen=True)
class Seeds:
    """A distribution of true accuracies over seeds, and its mean."""

    draw: Callable[[Generator, int], Values]
    mean: float


def normal(mean: float, sd: float) -> Seeds:
    """Return seeds that scatter evenly; what would be below 0 or above 1 is 0 or 1."""

    def draw(rng: Generator, count: int) -> Values:
        return np.clip(rng.normal(mean, sd, count), 0.0, 1.0)

    return Seeds(draw, float(draw(np.random.default_rng(0), _ENOUGH).mean()))


def lottery(share: float, failing: float = CHANCE, succeeding: float = 1.0) -> Seeds:
    """Return seeds of which a share succeeds and the rest fails."""

    def draw(rng: Generator, count: int) -> Values:
        return np.where(rng.random(count) < share, succeeding, failing)

    return Seeds(draw, share * succeeding + (1.0 - share) * failing)


def settings(tasks: int) -> dict[str, list[list[Seeds]]]:
    """Return the settings by the row of the table; each is a suite, one distribution a task."""
    shares = [tenth / 10 for tenth in range(1, 10)]
    means = (0.5, 0.52, 0.6, 0.75, 0.9, 0.98, 1.0)
    found = {
        f"normal, sd {100 * sd:.0f} points": [[normal(mean, sd)] * tasks for mean in means]
        for sd in (0.02, 0.05, 0.10, 0.15)
    }
    found["succeed (100) or fail (chance)"] = [[lottery(p)] * tasks for p in shares]
    found["succeed (95) or fail (55)"] = [[lottery(p, 0.55, 0.95)] * tasks for p in shares]
    if tasks > 1:
        found["one task succeeds or fails, the rest are steady"] = [
            [lottery(p), *([steady] * (tasks - 1))]
            for p in shares
            for steady in (normal(0.5, 0.0), normal(0.75, 0.02), normal(1.0, 0.0))
        ]
        odds = (0.1, 0.3, 0.5, 0.7, 0.9, 0.9)
        found["shares of success from 0.1 to 0.9, by task"] = [[lottery(p) for p in odds[:tasks]]]
    return found


def covered(suite: Sequence[Seeds], seeds: int, tables: int) -> tuple[float, float]:
    """Return how often the interval holds the true score, and how wide it is, in percent."""
    rng = np.random.default_rng(len(suite) * 100 + seeds)
    truth = float(np.mean([(task.mean - CHANCE) / (1 - CHANCE) for task in suite]))
    hits, width = 0, 0.0
    for table in range(tables):
        samples = [_sample(rng, f"task-{i}", task, seeds) for i, task in enumerate(suite)]
        score = float(np.mean([sample.values.mean() for sample in samples]))
        low, high = percentile_interval(mean_draws(samples, (table,)), around=score)
        hits += low - 1e-9 <= truth <= high + 1e-9
        width += high - low
    return 100 * hits / tables, 100 * width / tables


def _sample(rng: Generator, title: str, task: Seeds, seeds: int) -> Sample:
    strings = CELLS * STRINGS
    right = rng.binomial(strings, task.draw(rng, seeds))
    runs = [Measured(float(count) / strings, strings) for count in right]
    return Sample.of(title, runs, CHANCE).in_units_of(CHANCE)


def report(tables: int) -> str:
    """Return the table: the least coverage of each row's settings, and the mean width."""
    rows: dict[str, list[str]] = {}
    for column, (tasks, seeds) in enumerate(SUITES):
        for name, suites in settings(tasks).items():
            results = [covered(suite, seeds, tables) for suite in suites]
            least = min(hits for hits, _ in results)
            width = sum(wide for _, wide in results) / len(results)
            rows.setdefault(name, [""] * len(SUITES))[column] = f"{least:.1f} ({width:.0f})"
    heads = [f"{tasks} task{'s' * (tasks > 1)}, {seeds} seeds" for tasks, seeds in SUITES]
    lines = [["seeds", *heads], ["---"] * (len(heads) + 1)]
    lines += [[name, *cells] for name, cells in rows.items()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=1000)
    print(report(parser.parse_args().tables))
