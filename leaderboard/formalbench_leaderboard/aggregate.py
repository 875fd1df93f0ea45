"""From the runs of one model on one task under one protocol to one result.

The learning rate is chosen by in-distribution validation alone: nothing in
`selected_rate` looks at a test.
"""

from __future__ import annotations

import math
import statistics as averages
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from formalbench.contracts.record import Record

from formalbench_leaderboard.board import Result, TaskFacts
from formalbench_leaderboard.counted import has_result, title_of
from formalbench_leaderboard.statistics import scaled, wilson
from formalbench_leaderboard.text import without_folders


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A result, and the scaled accuracy of each seed (by seed) for the bootstrap."""

    result: Result
    scaled_seeds: tuple[float, ...]


def selected_rate(runs: Sequence[Record]) -> float | None:
    """Choose the learning rate with the best mean validation over its seeds.

    Ties go to the lower cross-entropy, then to the smaller rate. A run that did not
    finish has no share right and infinite bits.
    """
    by_rate: dict[float | None, list[tuple[float, float]]] = defaultdict(list)
    for run in runs:
        by_rate[run.learning_rate].append(_validation(run))

    def order(rate: float | None) -> tuple[float, float, float]:
        shares, bits = zip(*sorted(by_rate[rate]), strict=True)
        return (-math.fsum(shares) / len(shares), math.fsum(bits) / len(bits), rate or 0.0)

    return min(by_rate, key=order)


def _validation(run: Record) -> tuple[float, float]:
    selected = run.selected
    if run.status != "finished" or selected is None or not selected.strings:
        return 0.0, math.inf
    return selected.correct / selected.strings, selected.bits


def aggregate(runs: Sequence[Record], facts: TaskFacts | None) -> Aggregate:
    """Aggregate the runs of one model on one task under one protocol.

    Args:
        runs: at least one, of any rates and seeds, in any order.
        facts: of the task, from whichever model finished it; None if none did.
    """
    rate = selected_rate(runs)
    chosen = sorted(
        (run for run in runs if run.learning_rate == rate), key=lambda run: (run.seed, run.run_id)
    )
    finished = [run for run in chosen if has_result(run)]
    chance = facts.chance_length if facts else None
    accuracies = [_accuracy(run, chance) for run in chosen]
    known = [accuracy for accuracy in accuracies if accuracy is not None]
    mean = math.fsum(known) / len(known) if known else None
    low, high = _pooled_interval(finished)
    result = Result(
        task=title_of(chosen[0]),
        max=max(known, default=None),
        mean=mean,
        median=averages.median(known) if known else None,
        scaled=0.0 if mean is None or chance is None else scaled(mean, chance),
        low=low,
        high=high,
        seeds=len(chosen),
        finished=len(finished),
        failures=_failures(chosen),
        learning_rate=rate,
        command=without_folders(chosen[-1].command),
    )
    return Aggregate(result, _scaled_seeds(accuracies, chance))


def _accuracy(run: Record, chance: float | None) -> float | None:
    """A run's mean accuracy over its cells; chance level for one that did not finish."""
    if not has_result(run):
        return chance
    assert run.test is not None
    return run.test.accuracy


def _scaled_seeds(accuracies: Sequence[float | None], chance: float | None) -> tuple[float, ...]:
    if chance is None:
        return tuple(0.0 for _ in accuracies)
    return tuple(
        scaled(chance if accuracy is None else accuracy, chance) or 0.0 for accuracy in accuracies
    )


def _pooled_interval(finished: Sequence[Record]) -> tuple[float | None, float | None]:
    cells = [run.test.cells for run in finished if run.test is not None]
    if not cells:
        return None, None
    return wilson(sum(sum(part.correct) for part in cells), sum(sum(p.strings) for p in cells))


def _failures(runs: Sequence[Record]) -> tuple[tuple[str, int], ...]:
    statuses = Counter(run.status for run in runs if not has_result(run))
    return tuple(sorted(statuses.items()))


def facts_of(runs: Sequence[Record]) -> TaskFacts | None:
    """Read what is common to all runs of one task under one protocol; None if none finished.

    The chance level is averaged over the runs, which changes nothing: all were tested
    on the same strings.
    """
    tests = [run.test for run in runs if has_result(run) and run.test is not None]
    if not tests:
        return None
    cells = tests[0].cells
    return TaskFacts(
        title=title_of(runs[0]),
        metric=min(test.metric for test in tests),
        chance_constant=math.fsum(test.chance_constant for test in tests) / len(tests),
        chance_length=math.fsum(test.chance_length for test in tests) / len(tests),
        first=cells.length[0],
        last=cells.length[-1],
        cells=len(cells.length),
    )
