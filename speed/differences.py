"""How often the interval of a difference holds the true one, simulated with the board's own code.

    python speed/differences.py [--tables 1000]

As `intervals.py`, for two models: tables of results are drawn for both, and the interval of the
difference of their scores is asked whether it holds the true difference. Seeds that share their
training strings may succeed together or not, so each setting is drawn both ways: independent seeds,
and seeds that are as good for one model as for the other. Prints the table of docs/method.md:
1,000 tables a setting take some ten minutes on one core.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from formalbench.statistics.intervals import RunAccuracy, Sample, mean_draws, percentile_interval
from intervals import CELLS, CHANCE, STRINGS, SUITES, Generator, Seeds, Values, lottery, normal

Pair = tuple[Seeds, Seeds]

_CHANCE, _PERFECT = normal(CHANCE, 0.0), normal(1.0, 0.0)

SETTINGS: dict[str, list[Pair]] = {
    "both normal, sd 2 points": [(normal(0.75, 0.02), normal(one, 0.02)) for one in (0.75, 0.8)],
    "both normal, sd 10 points": [(normal(one, 0.1), normal(0.75, 0.1)) for one in (0.6, 0.75)],
    "both normal, sd 15 points": [(normal(one, 0.15), normal(one, 0.15)) for one in (0.75, 0.9)],
    "both succeed or fail, as often": [(lottery(p), lottery(p)) for p in (0.1, 0.3, 0.5, 0.9)],
    "both succeed or fail, one more often": [
        (lottery(p), lottery(q)) for p, q in ((0.1, 0.9), (0.3, 0.7), (0.5, 0.9))
    ],
    "one succeeds or fails, one is perfect": [(lottery(p), _PERFECT) for p in (0.3, 0.7, 0.9)],
    "one succeeds or fails, one is at chance": [(lottery(p), _CHANCE) for p in (0.1, 0.3, 0.7)],
    "one perfect, one at chance": [(_PERFECT, _CHANCE)],
}


def covered(pair: Pair, suite: tuple[int, int], tables: int, *, alike: bool) -> tuple[float, ...]:
    """Return how often the interval holds the difference, excludes 0, and how wide it is, in %.

    Args:
        pair: of which seeds the models are, on each task.
        suite: how many tasks, and seeds.
        tables: how many are drawn.
        alike: whether a seed is as good for one model as for the other.
    """
    tasks, seeds = suite
    rng = np.random.default_rng(tasks * 100 + seeds)
    truth = (pair[0].mean - pair[1].mean) / (1 - CHANCE)
    hits, parted, width = 0, 0, 0.0
    for table in range(tables):
        samples = _tables(rng, pair, tasks, seeds, alike=alike)
        means = [np.mean([sample.values.mean() for sample in part]) for part in samples]
        draws = [mean_draws(part, (table, name)) for name, part in enumerate(samples)]
        low, high = percentile_interval(draws[0] - draws[1], around=float(means[0] - means[1]))
        hits += low - 1e-9 <= truth <= high + 1e-9
        parted += low > 0.0 or high < 0.0
        width += high - low
    return 100 * hits / tables, 100 * parted / tables, 100 * width / tables


def _tables(
    rng: Generator, pair: Pair, tasks: int, seeds: int, *, alike: bool
) -> list[list[Sample]]:
    samples: list[list[Sample]] = [[], []]
    for task in range(tasks):
        start = int(rng.integers(1 << 32))
        for model, part in enumerate(samples):
            luck = np.random.default_rng(start if alike else start + 1 + model)
            part.append(_sample(rng, f"task-{task}", pair[model].draw(luck, seeds)))
    return samples


def _sample(rng: Generator, title: str, true: Values) -> Sample:
    strings = CELLS * STRINGS
    runs = [RunAccuracy(float(right) / strings, strings) for right in rng.binomial(strings, true)]
    return Sample.of(title, runs, CHANCE).in_units_of(CHANCE)


def report(tables: int, suites: Sequence[tuple[int, int]] = SUITES) -> str:
    """Return the table: of each row's settings the least coverage, and the mean width."""
    heads = [f"{tasks} task{'s' * (tasks > 1)}, {seeds} seeds" for tasks, seeds in suites]
    lines = [["two models", *heads], ["---"] * (len(heads) + 1)]
    for name, pairs in SETTINGS.items():
        cells = []
        for suite in suites:
            found = [
                covered(pair, suite, tables, alike=alike)
                for pair in pairs
                for alike in (False, True)
            ]
            least = min(hits for hits, *_ in found)
            width = sum(wide for *_, wide in found) / len(found)
            parted = sum(part for _, part, _ in found) / len(found)
            cells.append(f"{least:.1f} ({width:.0f}; {parted:.0f})")
        lines.append([name, *cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=1000)
    print(report(parser.parse_args().tables))
