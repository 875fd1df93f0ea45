"""The result of a model on a task, the facts of a task, and the measure that tables show.

Accuracy is not informative for language models, and BLEU is not a share of texts. Tasks with such
measures have no scaled accuracy and do not count in scores.

Shares are unrounded fractions of one.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Literal

from formalbench.contracts.record import Record
from formalbench.documents.text import MISSING, percent

PERPLEXITY = "perplexity"
"""The metric that identifies a task for language models."""

_MOST = 1e300
"""Maximum perplexity, so that sums over seeds are finite for any record."""

_LONG = 1e9
"""Numbers from this value on are written with a power of ten."""


@dataclass(frozen=True, slots=True)
class TaskMeasure:
    """The measure that tables show for a task.

    Attributes:
        name: name in records.
        heading: heading in tables.
        less: whether smaller values are better.
        share: whether it is shown in percent.
        accuracy: whether it is an accuracy, for which chance level and score are defined.
    """

    name: str = "accuracy"
    heading: str = "accuracy"
    less: bool = False
    share: bool = True
    accuracy: bool = True

    @property
    def title(self) -> str:
        """The heading and its direction: ``perplexity, less is better``."""
        return f"{self.heading}, {'less' if self.less else 'more'} is better"

    def text(self, value: float | None) -> str:
        """Return the text of a value in tables; a dash for None."""
        if value is None:
            return MISSING
        if self.share:
            return percent(value)
        return f"{value:,.2f}" if value < _LONG else f"{value:.2e}"

    def mean(self, values: Collection[float]) -> float | None:
        """Return the mean over places; the geometric mean if the measure is not a share."""
        if not values:
            return None
        if self.share:
            return math.fsum(values) / len(values)
        return math.exp(math.fsum(map(math.log, values)) / len(values))

    def order(self, value: float | None) -> float:
        """Return a sort key that is smallest for the best value."""
        if value is None:
            return math.inf
        return value if self.less else -value


ACCURACY = TaskMeasure()

BLEU = TaskMeasure("bleu", "BLEU", accuracy=False)

OF_LANGUAGE_MODELS = TaskMeasure(PERPLEXITY, PERPLEXITY, less=True, share=False, accuracy=False)


def measure_of(runs: Iterable[Record]) -> TaskMeasure:
    """Return the measure that the runs of a task are shown by; accuracy if none was tested."""
    tests = [run.test for run in runs if run.test is not None]
    if not tests:
        return ACCURACY
    if all(test.metric == BLEU.name for test in tests):
        return BLEU
    if all(PERPLEXITY in test.cells.metrics for test in tests):
        return OF_LANGUAGE_MODELS
    return TaskMeasure(min(test.metric for test in tests))


def mean_by_place(runs: Iterable[Record], measure: TaskMeasure) -> tuple[tuple[str, float], ...]:
    """Return the places of a test with the mean over seeds, for measures other than accuracy.

    A place is a named part or a length. Empty if no run has places, or runs differ in them.
    """
    seeds = [values for run in runs if (values := at_places(run, measure))]
    if not seeds or any(seed.keys() != seeds[0].keys() for seed in seeds):
        return ()
    means = ((at, math.fsum(seed[at] for seed in seeds) / len(seeds)) for at in seeds[0])
    return tuple(means)


def at_places(run: Record, measure: TaskMeasure) -> Mapping[str, float]:
    """Return a run's value at each place of its test, for measures other than accuracy."""
    if measure.accuracy or run.test is None:
        return {}
    if measure is OF_LANGUAGE_MODELS:
        return {str(length): value for length, value in perplexities(run).items()}
    cells = run.test.cells
    if cells.group is not None:
        return cells.by_group
    pairs = zip(cells.length, cells.correct, cells.asked, strict=True)
    return {str(length): right / answers for length, right, answers in pairs}


def perplexities(record: Record) -> dict[int, float]:
    """Return a run's perplexity at each test length; empty if it has none."""
    if record.test is None or PERPLEXITY not in record.test.cells.metrics:
        return {}
    cells = record.test.cells
    sums = cells.metrics[PERPLEXITY]
    if cells.window != 1:  # summed over several lengths
        return {}
    pairs = zip(cells.length, sums.total, sums.count, strict=True)
    return {
        length: min(total / count, _MOST) for length, total, count in pairs if count and total > 0
    }


def is_language_model(runs: Iterable[Record]) -> bool:
    """Return whether runs are of a task for language models, according to all tested runs."""
    tests = [run.test for run in runs if run.test is not None]
    return bool(tests) and all(PERPLEXITY in test.cells.metrics for test in tests)


WEAK = 0.95
"""Accuracy is weak evidence if a predictor with errors on the test strings exceeds this value."""


@dataclass(frozen=True, slots=True)
class CellResults:
    """The results of a run at each test length: parallel arrays, shortest first.

    Attributes:
        length: length of the strings.
        strings: number of strings.
        correct: number of correct strings; if a string has several answers, it counts by its share
            of correct answers.
        group: the named part of each cell, for a test with named parts.
    """

    length: tuple[int, ...]
    strings: tuple[int, ...]
    correct: tuple[float, ...]
    group: tuple[str, ...] | None = None

    def only(self, kept: Sequence[bool]) -> CellResults:
        """Return some of the cells."""
        group = None if self.group is None else tuple(compress(self.group, kept))
        length, strings = (tuple(compress(part, kept)) for part in (self.length, self.strings))
        return CellResults(length, strings, tuple(compress(self.correct, kept)), group)


SOLVED = 0.99
"""Minimum share of correct strings at every tested length for a run to solve a test."""


@dataclass(frozen=True, slots=True)
class SeedResult:
    """One run.

    Attributes:
        seed: its seed.
        test_id: the `test_id` of its record.
        status: its final status.
        accuracy: its mean over the cells; None if it did not finish.
        cells: the results per cell; None if it did not finish.
        seconds: wall time of its training; None if it was not trained.
        validation: accuracy on held-out strings of the training lengths; None if unknown.
        learned: whether it mastered the training lengths (`formalbench.statistics.records`).
        steps: optimiser steps of its training.
        capped: whether it did not learn, and ended before its budget since validation stopped
            improving.
        places: for measures other than accuracy, the lengths or named parts of its test with the
            value at each.
        answers: if strings have several answers, the share of all correct answers; otherwise None.
        information: the mutual information of answer and target in each cell, in bits; None if it
            was not measured, a logit in the cell was not finite, or the length determines the
            answers there.
        metrics: plugin metrics by name: the mean over the cells with answers for the metric.
    """

    seed: int
    test_id: str
    status: str
    accuracy: float | None
    cells: CellResults | None
    seconds: float | None
    validation: float | None
    learned: bool
    steps: int
    places: tuple[tuple[str, float], ...] = ()
    answers: float | None = None
    capped: bool = False
    information: tuple[float | None, ...] | None = None
    metrics: tuple[tuple[str, float], ...] = ()

    @property
    def solved(self) -> bool:
        """Whether the run learned, and is right on 99 % of the strings at every tested length."""
        cells = self.cells
        return (
            self.learned
            and cells is not None
            and all(
                correct >= SOLVED * strings
                for correct, strings in zip(cells.correct, cells.strings, strict=True)
            )
        )


@dataclass(frozen=True, slots=True)
class Prediction:
    """The prediction of a theorem for a model on a task, independent of measurements.

    Attributes:
        verdict: ``cannot``, or ``can``, which does not mean that training learns it.
        theorem: the theorem's name in `formalbench.theory.theorems`.
        evidence: ``theorem``, ``corollary`` (ours, of a published theorem), or ``experiment`` if
            there is no proof.
        instance: the network that it applies to: the trained one, a larger one of its family, or
            one of unknown size (`formalbench.theory.theorems.Theorem.instance`).
    """

    verdict: Literal["can", "cannot"]
    theorem: str
    evidence: str
    instance: Literal["this instance", "a larger one of its family", "unknown"] = "unknown"


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a model on a task: all seeds at the selected learning rate.

    A run that did not finish counts as chance level.

    Attributes:
        task: the task's title.
        max, mean, median: accuracy over the seeds, where a seed's accuracy is its mean over the
            cells. None if no run finished and the chance level is unknown.
        scaled: (mean - chance) / (1 - chance); None where chance is 1.
        low, high: interval of `mean`, over seeds and test strings.
        max_low, max_high: Wilson interval of the run that reached `max`, with the strings of all
            its cells pooled; None if that run did not finish.
        seeds: number of runs at this learning rate.
        finished: number of finished runs among them.
        failures: final statuses of the other runs, and of runs that diverged at some test lengths,
            with the number of each.
        learning_rate: the selected one; None for an exact model.
        command: the command that repeats these runs.
        longest_99, longest_90: the longest test length up to which, at every test length, the mean
            accuracy over the seeds is at least 99 % (90 %); None if there is none, or if a finished
            run did not learn the training lengths. A length at which chance is always right can end
            the range, and does not count as solved.
        validation: accuracy on held-out strings of the training lengths, the mean over the runs
            for which it is known; None if it is unknown for all.
        learned: number of runs that learned the training lengths (`statistics.records`), with or
            without a finished test.
        budget: the largest number of optimiser steps that a run was allowed.
        runs: the runs, by seed.
        prediction: the prediction of theory; None if there is none, or it was not requested.
        predictions: the predictions of theorems and experiments that reach a verdict.
        shown: the mean over the seeds of the measure in tables (`TaskFacts.measure`): the accuracy
            or, for another measure, the mean over its places.
        places: for measures other than accuracy, the lengths or named parts of the test, with the
            mean over the seeds at each.
        weak: whether a run that learned finished its test, and the test is weak evidence for the
            language (`TaskFacts.weak`).
    """

    task: str
    max: float | None
    mean: float | None
    median: float | None
    scaled: float | None
    low: float | None
    high: float | None
    max_low: float | None
    max_high: float | None
    seeds: int
    finished: int
    failures: tuple[tuple[str, int], ...]
    learning_rate: float | None
    command: str
    longest_99: int | None
    longest_90: int | None
    validation: float | None
    learned: int
    budget: int
    runs: tuple[SeedResult, ...]
    prediction: Prediction | None = None
    predictions: tuple[Prediction, ...] = ()
    shown: float | None = None
    places: tuple[tuple[str, float], ...] = ()
    weak: bool = False

    @property
    def information(self) -> float | None:
        """Mutual information of answer and target in bits, the mean over seeds and cells."""
        values = [one for run in self.runs for one in run.information or () if one is not None]
        return math.fsum(values) / len(values) if values else None

    @property
    def metrics(self) -> dict[str, float]:
        """Plugin metrics by name: the mean over the seeds."""
        by_name: dict[str, list[float]] = {}
        for run in self.runs:
            for name, value in run.metrics:
                by_name.setdefault(name, []).append(value)
        return {name: math.fsum(values) / len(values) for name, values in by_name.items()}

    @property
    def solved(self) -> bool:
        """Whether two thirds of the seeds solved the test (`SeedResult.solved`)."""
        return 3 * sum(run.solved for run in self.runs) >= 2 * self.seeds

    @property
    def mastered(self) -> bool:
        """Whether two thirds of the seeds learned the training lengths."""
        return 3 * self.learned >= 2 * self.seeds

    @property
    def marked(self) -> bool:
        """Whether a run did not finish, or diverged at some test lengths (chance counts there)."""
        return bool(self.failures)

    @property
    def unlearned(self) -> bool:
        """Whether no run learned the training lengths; then the test shows no extrapolation."""
        return self.learned == 0 and self.finished > 0

    @property
    def partly(self) -> bool:
        """Whether some runs learned the training lengths, and other finished runs did not."""
        finished = (run for run in self.runs if run.accuracy is not None)
        return self.learned > 0 and not all(run.learned for run in finished)

    @property
    def reaches(self) -> bool:
        """Whether some run learned the training lengths and finished, as extrapolation requires."""
        return any(run.learned and run.accuracy is not None for run in self.runs)

    @property
    def tried(self) -> int:
        """The most optimiser steps of a run that did not learn; the budget if they are unknown."""
        return max((run.steps for run in self.runs if not run.learned), default=0) or self.budget

    @property
    def capped(self) -> int:
        """The number of runs that did not learn and ended before their budget (weaker evidence)."""
        return sum(run.capped for run in self.runs)

    @property
    def outcome(self) -> str:
        """The outcome of the runs: ``3``, or ``2 of 3 finished (1 diverged)``."""
        if not self.marked:
            return str(self.seeds)
        failures = ", ".join(f"{times} {status}" for status, times in self.failures)
        return f"{self.finished} of {self.seeds} finished ({failures})"


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """The facts of a task under a protocol, which are the same for every model.

    Attributes:
        title: the task's title.
        metric: the primary metric.
        chance_constant, chance_length: accuracy of the best constant answer, and of the best answer
            that depends on length only.
        first, last: shortest and longest test length.
        cells: number of tested lengths.
        lengths: the length of each cell, as in `CellResults`.
        chances: accuracy, in each cell, of the best answer that depends on length only; None if
            only the average is known.
        strings: number of strings over all lengths.
        language_class: the smallest class of languages that is known to contain it, if any.
        shortcut: accuracy of the best known shortcut (docs/shortcuts.md), if any.
        measure: the measure that tables show.
    """

    title: str
    metric: str
    chance_constant: float
    chance_length: float
    first: int
    last: int
    cells: int
    strings: int
    lengths: tuple[int, ...] = ()
    chances: tuple[float, ...] | None = None
    language_class: str | None = None
    shortcut: float | None = None
    measure: TaskMeasure = ACCURACY

    @property
    def chance_by_cell(self) -> tuple[float, ...]:
        """The chance level in each cell; the mean over cells if only that is known."""
        return self.chances or (self.chance_length,) * self.cells

    def chance_of(self, cells: CellResults) -> tuple[float, ...]:
        """Return the chance level in each of some cells; the mean where it is unknown."""
        chances = dict(zip(self.lengths, self.chance_by_cell, strict=False))
        return tuple(chances.get(length, self.chance_length) for length in cells.length)

    @property
    def last_informative_length(self) -> int | None:
        """The longest test length at which chance is not always right."""
        return max((length for length, _ in self.informative_lengths), default=None)

    @property
    def informative_lengths(self) -> list[tuple[int, float]]:
        """The lengths at which chance is not always right, and the chance level at each."""
        pairs = zip(self.lengths, self.chance_by_cell, strict=True)
        return [(length, chance) for length, chance in pairs if chance < 1.0]

    @property
    def trivial(self) -> tuple[bool, ...]:
        """Whether chance is always right in each cell, so that answers there are uninformative."""
        return tuple(chance >= 1.0 for chance in self.chance_by_cell)

    @property
    def weak(self) -> bool:
        """Whether a simple predictor with some errors is right on over 95 % of the test strings.

        The predictor depends on length only, or on little of the order (docs/shortcuts.md). One
        that is always right does not count, since it computes the language itself, such as the
        first symbol for the task `first`.
        """
        return any(WEAK < right < 1.0 for right in (*self.chance_by_cell, self.shortcut or 0.0))

    @property
    def scored(self) -> bool:
        """Whether the task counts in scores: it has accuracy, and chance is not always right."""
        return self.chance_length < 1.0 and self.measure.accuracy


def informative_cells(result: Result, facts: TaskFacts | None) -> list[CellResults]:
    """Return the cells of each run, without the lengths at which chance is always right.

    A run that did not finish is at chance at every length.

    Returns:
        The cells; empty if no run finished, the runs differ in their lengths, or no length is left.
    """
    cells = [run.cells for run in result.runs if run.cells is not None]
    if not cells or len({cell.length for cell in cells}) > 1:
        return []
    if facts is not None:
        correct = map(operator.mul, facts.chance_of(cells[0]), cells[0].strings)
        cells += [replace(cells[0], correct=tuple(correct))] * (len(result.runs) - len(cells))
    if facts is None or facts.lengths != cells[0].length or not any(facts.trivial):
        return cells
    kept = [not trivial for trivial in facts.trivial]
    return [cell.only(kept) for cell in cells] if any(kept) else []
