"""Aggregate the runs of one model on one task under one protocol into one result.

The learning rate is selected by in-distribution validation only: `selected_rate` uses no test
results.
"""

from __future__ import annotations

import math
import statistics as averages
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from formalbench.contracts.cells import Cells
from formalbench.contracts.errors import FormalbenchError
from formalbench.contracts.objective import MUTUAL_INFORMATION
from formalbench.contracts.record import Record
from formalbench.metrics.answers import ANSWERS
from formalbench.statistics.intervals import (
    RunAccuracy,
    Sample,
    mean_draws,
    measured,
    percentile_interval,
    scaled,
    wilson,
)
from formalbench.statistics.records import (
    Chances,
    grouped_by,
    has_learned,
    has_result,
    reproduce_command,
    task_contents,
    title_of,
    validation_of,
    was_trained,
)
from formalbench.statistics.result import (
    CellResults,
    Result,
    SeedResult,
    TaskFacts,
    TaskMeasure,
    at_places,
    is_language_model,
    mean_by_place,
    measure_of,
)
from formalbench.statistics.selection import current_task

if TYPE_CHECKING:
    from formalbench.host import PluginHost

Flags = npt.NDArray[np.bool_]


WORST = 1e300
"""Cross-entropy of a run that did not finish; finite, so that sums are finite."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A result, and the scaled accuracy of its runs.

    Attributes:
        result: the result on one task.
        scaled: the scaled accuracy of each run; zeros of width 0 if it is not known.
    """

    result: Result
    scaled: Sample


def selected_rate(runs: Sequence[Record]) -> float | None:
    """Select the learning rate with the best mean validation, on the seeds that all rates share.

    Without this restriction, the choice could depend on which seeds a rate has. If the rates share
    no seed, the rate with the most seeds is selected. Ties are broken by lower cross-entropy, more
    seeds, then the smaller rate; for language models cross-entropy comes first. A run that did not
    complete its training has accuracy 0; its test is not used.
    """
    by_rate = grouped_by(lambda run: run.learning_rate, runs)
    common = set.intersection(*({run.seed for run in group} for group in by_rate.values()))
    by_loss = is_language_model(runs)

    def order(rate: float | None) -> tuple[float, ...]:
        seeds = len({run.seed for run in by_rate[rate]})
        compared = [run for run in by_rate[rate] if not common or run.seed in common]
        shares, bits = zip(*map(_validation, compared), strict=True)
        share, loss = math.fsum(shares) / len(shares), math.fsum(bits) / len(bits)
        best = (loss, -share) if by_loss else (-share, loss)
        return (0.0 if common else -seeds, *best, -seeds, rate or 0.0)

    return min(by_rate, key=order)


def _validation(run: Record) -> tuple[float, float]:
    selected = run.selected
    if selected is None or not was_trained(run):
        return 0.0, WORST
    return selected.accuracy, min(selected.bits, WORST)


def aggregate(runs: Sequence[Record], facts: TaskFacts | None, key: Sequence[object]) -> Aggregate:
    """Aggregate the runs of one model on one task under one protocol.

    Args:
        runs: at least one run, of any rates and seeds, in any order.
        facts: facts of the task, from any model that finished it; None if none did.
        key: the key of the random stream for the interval.
    """
    rate = selected_rate(runs)
    chosen = sorted(
        (run for run in runs if run.learning_rate == rate), key=lambda run: (run.seed, run.test_id)
    )
    chance = facts.chance_length if facts else None
    measure = measure_of(chosen)
    seeds = tuple(_seed_result(run, measure, facts) for run in chosen)
    values = [value for run in seeds if (value := measured_run(run, chance)) is not None]
    accuracies = [value.accuracy for value in values]
    mean = math.fsum(accuracies) / len(accuracies) if accuracies else None
    title = title_of(chosen[0])
    trained = any(run.model.kind == "learned" for run in chosen)
    sample = Sample.of(title, values, chance, trained) if values else None
    low, high = (
        (None, None)
        if sample is None
        else percentile_interval(mean_draws([sample], key), around=mean)
    )
    max_low, max_high = _best_interval(seeds, max(accuracies, default=None))
    learned = sum(run.learned for run in seeds)
    reached = _longest(seeds, facts, (0.99, 0.90))
    mastered = all(run.learned for run in seeds if run.accuracy is not None)
    longest = reached if mastered else [None] * len(reached)
    places = mean_by_place(chosen, measure)
    validations = [run.validation for run in seeds if run.validation is not None]
    result = Result(
        task=title,
        max=max(accuracies, default=None),
        mean=mean,
        median=averages.median(accuracies) if accuracies else None,
        scaled=0.0 if mean is None or chance is None else scaled(mean, chance),
        low=low,
        high=high,
        max_low=max_low,
        max_high=max_high,
        seeds=len(chosen),
        finished=sum(map(has_result, chosen)),
        failures=_failures(chosen),
        learning_rate=rate,
        command=reproduce_command(chosen[-1], sorted({run.seed for run in chosen})),
        longest_99=longest[0],
        longest_90=longest[1],
        validation=math.fsum(validations) / len(validations) if validations else None,
        learned=learned,
        budget=max(run.protocol.steps for run in chosen),
        runs=seeds,
        shown=mean if measure.accuracy else measure.mean([value for _, value in places]),
        places=places,
    )
    if sample is None or chance is None or chance >= 1.0:
        return Aggregate(result, Sample.unknown(title, len(seeds)))
    return Aggregate(result, sample.in_units_of(chance))


def _seed_result(run: Record, measure: TaskMeasure, facts: TaskFacts | None) -> SeedResult:
    return SeedResult(
        seed=run.seed,
        test_id=run.test_id,
        status=run.status,
        accuracy=run.test.accuracy if run.test else None,
        cells=cell_results(run.test.cells) if run.test else None,
        seconds=run.training.seconds if run.training else None,
        validation=validation_of(run),
        learned=has_learned(run),
        steps=run.training.steps if run.training else 0,
        places=tuple(at_places(run, measure).items()),
        answers=_answers_right(run),
        capped=bool(run.training and run.training.ended == "capped" and not has_learned(run)),
        information=_information(run, facts),
        metrics=tuple(_plugin_metrics(run)),
    )


def _plugin_metrics(run: Record) -> Iterator[tuple[str, float]]:
    """Yield the values of plugin metrics; one metric may have several values, ``NAME-…``."""
    if run.test is None or not run.test.extra_metrics:
        return
    cells, pooled = run.test.cells, run.test.pooled or {}
    for name in cells.metrics:
        if name in pooled:
            if pooled[name].count:
                yield name, pooled[name].mean
        elif any(name == one or name.startswith(f"{one}-") for one in run.test.extra_metrics):
            means = cells.means_of(name)
            values = [mean for mean in means or () if not math.isnan(mean)]
            if values:
                yield name, math.fsum(values) / len(values)


def _information(run: Record, facts: TaskFacts | None) -> tuple[float | None, ...] | None:
    means = run.test.cells.means_of(MUTUAL_INFORMATION) if run.test else None
    if run.test is None or means is None:
        return None
    chances: Sequence[float] = [0.0] * len(means)
    if facts is not None and run.test.cells.window == 1:
        chances = facts.chance_of(cell_results(run.test.cells))
    return tuple(
        None if math.isnan(bits) or chance >= 1.0 else bits
        for bits, chance in zip(means, chances, strict=True)
    )


def _answers_right(run: Record) -> float | None:
    answers = run.test.cells.whole(ANSWERS) if run.test else None
    return answers.mean if answers is not None and answers.count else None


def cell_results(cells: Cells) -> CellResults:
    """Return the results of a run at each length, counted in strings.

    The answers of one string are not independent. If a string has several answers, it is one
    trial that counts by its share of correct answers.
    """
    correct: tuple[float, ...] = cells.correct
    if cells.answers is not None:
        counts = zip(cells.correct, cells.strings, cells.answers, strict=True)
        correct = tuple(right * strings / answers for right, strings, answers in counts)
    return CellResults(cells.length, cells.strings, correct, cells.group)


def measured_run(run: SeedResult, chance: float | None) -> RunAccuracy | None:
    """Return a run's accuracy; for a run that did not finish, the chance level without error."""
    if run.accuracy is not None and run.cells is not None:
        return measured(run.cells.strings, run.accuracy)
    return None if chance is None else RunAccuracy(chance, 0.0)


def _best_interval(
    runs: Sequence[SeedResult], best: float | None
) -> tuple[float, float] | tuple[None, None]:
    for run in runs:
        if run.cells is not None and run.accuracy == best:
            return wilson(sum(run.cells.correct), sum(run.cells.strings))
    return None, None


def _longest(
    runs: Sequence[SeedResult], facts: TaskFacts | None, least: Sequence[float]
) -> list[int | None]:
    """Return the longest test length up to which the mean over the seeds is at least `least`.

    The mean must reach `least` at every shorter test length too. A length at which chance is always
    right does not count as success. A run that did not finish is at chance everywhere.

    Args:
        runs: at least one run.
        facts: the facts of the task.
        least: the thresholds, as shares of the strings of a length.
    """
    cells = [run.cells for run in runs if run.cells is not None]
    if not cells or facts is None or len({cell.length for cell in cells}) > 1:
        return [None] * len(least)
    shares_SL = np.array([np.divide(cell.correct, cell.strings) for cell in cells])
    chance_L = np.full(shares_SL.shape[1], facts.chance_length)
    if facts.lengths == cells[0].length:
        chance_L = np.array(facts.chance_by_cell)
    failed_L = (len(runs) - len(cells)) * chance_L
    mean_L = (shares_SL.sum(axis=0) + failed_L) / len(runs)
    return [_last(mean_L >= share, chance_L < 1.0, cells[0].length) for share in least]


def _last(good_L: Flags, informative_L: Flags, lengths: Sequence[int]) -> int | None:
    """Return the last informative length before the first that is not good."""
    end = len(good_L) if good_L.all() else int(good_L.argmin())
    indices = np.flatnonzero(informative_L[:end])
    return lengths[indices[-1]] if len(indices) else None


def _failures(runs: Sequence[Record]) -> tuple[tuple[str, int], ...]:
    statuses = Counter(
        f"{run.status} at some lengths" if has_result(run) else run.status
        for run in runs
        if run.status != "finished"
    )
    return tuple(sorted(statuses.items()))


def facts_of(runs: Sequence[Record]) -> TaskFacts | None:
    """Return the facts that all runs of one task under one protocol share; None if none finished.

    The chance level is averaged over the runs; all have the same, since they were tested on the
    same strings.
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
        first=(cells.first or cells.length)[0],
        last=cells.length[-1],
        cells=len(cells.length),
        lengths=cells.length,
        strings=sum(cells.strings),
        measure=measure_of(runs),
    )


MAX_LENGTH = 20_000
"""Maximum length for which chance levels are computed, since a record may claim any length."""

_ROUNDING = 1e-6


def chances_here(host: PluginHost, record: Record) -> tuple[float, ...] | None:
    """Return the accuracy, in each cell of a test, of the best answer that depends on length only.

    None if it is not known without sampling strings, a cell has several lengths, or the record's
    task differs from the installed one.

    Args:
        host: provides the tasks.
        record: the record of a run.
    """
    test, used = record.test, record.task
    if test is None or test.cells.first not in (None, test.cells.length):
        return None
    lengths = test.cells.length
    if max(lengths) > MAX_LENGTH or current_task(host, used.name) != task_contents(record):
        return None
    try:
        chances = _task_chances(host, record, lengths)
    except FormalbenchError:  # the installed task refuses its options
        return None
    mean = math.fsum(chances or [math.nan]) / len(lengths)
    return tuple(chances) if chances and abs(mean - test.chance_length) <= _ROUNDING else None


def known_chances(host: PluginHost) -> Chances:
    """Return `chances_here` for many records; records of the same test share one computation."""
    cache: dict[tuple[object, ...], tuple[float, ...] | None] = {}

    def chances(record: Record) -> tuple[float, ...] | None:
        if record.test is None:
            return None
        key = (
            *(record.task.model_dump_json(), record.protocol.title, record.test.fingerprint),
            *(record.test.cells.length, record.test.chance_length),
        )
        if key not in cache:
            cache[key] = chances_here(host, record)
        return cache[key]

    return chances


def _task_chances(host: PluginHost, record: Record, lengths: tuple[int, ...]) -> list[float] | None:
    from formalbench import __version__
    from formalbench.cache import cached, package_digest

    used, protocol = record.task, record.protocol
    selection = host.select_task(used.name, (), used.options)

    def compute() -> list[float] | None:
        with host.blaming(selection.plugin):
            task = protocol.apply(host.build_task(selection))
            chance = task.objective.stated_chance(task.source, lengths)
        return None if chance is None else list(chance.by_length)

    home = getattr(selection.plugin.module, "__name__", "").partition(".")[0]
    code = [package_digest(home), package_digest("formalbench"), __version__]
    splits = protocol.model_dump(mode="json", include={"splits", "label_smoothing"})
    chances = cached(["chances", code, used.model_dump(mode="json"), splits, lengths], compute)
    return chances if chances is None else [float(one) for one in chances]
