"""How often the board's intervals and ranks are right, simulated with the board's own code.

    python speed/intervals.py [--tables 1000]
    python speed/intervals.py --ranks [--tables 1000]

For each setting, tables of results are drawn as runs would give them: a true accuracy for each
seed, then its test strings. Prints a table of docs/method.md. Of a score it says how often the
interval holds the true mean over all seeds; of ranks, on how many boards of rows with equal means
some row is significantly better than another (the family-wise error), and on how many one row at 77
is significantly worse than all of nine at 100 (the power). 1,000 tables a setting take some ten
minutes on one core.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from formalbench.statistics.intervals import RunAccuracy, Sample, mean_draws, percentile_interval
from formalbench.statistics.ranks import significantly_better

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
    """Return evenly scattered seeds, clipped to 0 … 1."""

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
    runs = [RunAccuracy(float(count) / strings, strings) for count in right]
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


# Ranks. A row is a distribution for each of its tasks.

Row = Sequence[Seeds]
Boards = Sequence[Row]

TASKS, ROWS = 6, 10
MIXED = "3 to 10"
"""Three seeds, but ten on every third cell."""

_STEADY = normal(1.0, 0.0)
_ODDS = (0.1, 0.3, 0.5, 0.7, 0.9, 0.9)


def _lottery_among_steady(place: int, share: float) -> Row:
    return [lottery(share) if task == place % TASKS else _STEADY for task in range(TASKS)]


BOARDS: dict[str, Boards] = {
    **{
        f"normal, sd {100 * sd:.0f} points": [[normal(0.75, sd)] * TASKS] * ROWS
        for sd in (0.02, 0.05, 0.10, 0.15)
    },
    **{
        f"{100 * share:.0f} % of seeds succeed, the rest fail": [[lottery(share)] * TASKS] * ROWS
        for share in (0.1, 0.5, 0.9)
    },
    "half succeed (95), half fail (55)": [[lottery(0.5, 0.55, 0.95)] * TASKS] * ROWS,
    "one task succeeds or fails, the rest are at 100": [_lottery_among_steady(0, 0.5)] * ROWS,
    "shares of success from 0.1 to 0.9, by task": [[lottery(share) for share in _ODDS]] * ROWS,
    "half of the rows normal, sd 1 point, half sd 10": [
        *[[normal(0.75, 0.01)] * TASKS] * (ROWS // 2),
        *[[normal(0.75, 0.1)] * TASKS] * (ROWS // 2),
    ],
    "each row succeeds or fails on a task of its own": [
        _lottery_among_steady(row, 0.5) for row in range(ROWS)
    ],
    "one row of which 90 % of seeds succeed, nine steady at its mean": [
        [lottery(0.9)] * TASKS,
        *[[normal(0.95, 0.0)] * TASKS] * (ROWS - 1),
    ],
    "two rows alone, half of their seeds succeed": [[lottery(0.5)] * TASKS] * 2,
    "three rows alone, each succeeds or fails on a task of its own": [
        _lottery_among_steady(row, 0.5) for row in range(3)
    ],
}
"""Boards of rows with equal means: every significant difference is an error."""

WEAKER: dict[str, Row] = {
    "fails two tasks with every seed": [*[_STEADY] * 4, *[normal(0.655, 0.025)] * 2],
    "at 77 on every task, sd 5 points": [normal(0.885, 0.05)] * TASKS,
    "as regulargpt-c3 did": [
        *(normal(0.999, 0.002), normal(0.98, 0.015), normal(0.94, 0.01)),
        *(normal(0.645, 0.08), normal(0.91, 0.02), normal(0.79, 0.035)),
    ],
    "fails three tasks, sd 8 points": [*[_STEADY] * 3, *[normal(0.77, 0.08)] * 3],
}
"""A row whose score is about 77, among nine that are at 100."""


def errors(rows: Boards, seeds: int | str, tables: int) -> float:
    """Return on how many boards some row is significantly better than another, in percent."""
    found = (significantly_better(board).any() for board in _boards(rows, seeds, tables))
    return 100 * sum(found) / tables


def power(weaker: Row, seeds: int | str, tables: int) -> float:
    """Return on how many boards a row is significantly worse than nine at 100, in percent."""
    rows = [*[[_STEADY] * TASKS] * (ROWS - 1), weaker]
    found = (
        significantly_better(board)[: ROWS - 1, ROWS - 1].all()
        for board in _boards(rows, seeds, tables)
    )
    return 100 * sum(found) / tables


def _boards(rows: Boards, seeds: int | str, tables: int) -> Iterator[list[list[Sample]]]:
    rng = np.random.default_rng(len(rows) * 100)
    for _ in range(tables):
        yield [
            [
                _sample(rng, f"task-{task}", law, _seeds(seeds, place + task))
                for task, law in enumerate(row)
            ]
            for place, row in enumerate(rows)
        ]


def _seeds(seeds: int | str, place: int) -> int:
    return seeds if isinstance(seeds, int) else (10 if place % 3 == 0 else 3)


def report_ranks(tables: int) -> str:
    """Return the table of family-wise error and power, by the number of seeds."""
    numbers: tuple[int | str, ...] = (3, 5, MIXED)
    lines = [["equal rows: some are significantly different", *(f"{one} seeds" for one in numbers)]]
    lines += [["---"] * (len(numbers) + 1)]
    for name, rows in BOARDS.items():
        lines.append([name, *(f"{errors(rows, one, tables):.1f}" for one in numbers)])
    lines.append(
        ["**a row at 77 is significantly worse than all of nine at 100**", *[""] * len(numbers)]
    )
    for name, row in WEAKER.items():
        lines.append([name, *(f"{power(row, one, tables):.1f}" for one in numbers)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--ranks", action="store_true", help="of ranks, not of intervals")
    asked = parser.parse_args()
    print(report_ranks(asked.tables) if asked.ranks else report(asked.tables))
