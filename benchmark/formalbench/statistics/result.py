"""The result of a model on a task, facts of a task, and the measure it is shown by.

Accuracy says little of a language model, and is no share of what can be had; nor is BLEU a share of
texts. Such tasks have no scaled accuracy and take no part in a score.

Shares are fractions of one, unrounded.
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


WEAK = 0.95
"""Where a predictor that is wrong on some test strings has more, accuracy is weak evidence."""


@dataclass(frozen=True, slots=True)
class CellResults:
    """How a run did at each test length: parallel arrays, shortest first.

    Attributes:
        length: of the strings.
        strings: how many there were.
        correct: how many of them were right; where each of a string's answers counts, a string
            counts by the share of them that are.
        group: of a test with named parts, which of them each is of.
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
"""Share of the strings that are right at every tested length, from which a run solves a test."""


@dataclass(frozen=True, slots=True)
class SeedResult:
    """One run.

    Attributes:
        seed: its seed.
        test_id: of its record.
        status: how it ended.
        accuracy: its mean over the cells; None if it did not finish.
        cells: None if it did not finish.
        seconds: wall time of its training; None if it had none.
        validation: accuracy on held-out strings of the training lengths; None if not known.
        learned: whether it mastered them (`formalbench.statistics.records`).
        steps: optimiser steps of its training.
        capped: whether it did not learn, and ended before its budget as validation got no better.
        places: of what is not shown by accuracy, the lengths or named parts of its test, and what
            it reached at each.
        answers: where strings have several answers, the share of all answers to the test that are
            right; None elsewhere.
        information: the mutual information of answer and target at each cell, in bits; None if it
            was not measured, a logit at the cell was not finite, or the length alone decides the
            answers there, which leaves nothing to tell.
        metrics: metrics that plugins add to the objective's, by name: the mean over the cells at
            which an answer counts.
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
    """What a theorem says of a model on a task, whatever was measured.

    Attributes:
        verdict: ``cannot``, or ``can``, which does not mean that it learns it.
        theorem: by its name in `formalbench.theory.theorems`.
        evidence: ``theorem``, or ``experiment`` where nothing is proved.
        instance: of what it speaks: the network that was trained, a larger one of its family, or
            one of a size that is not known (`formalbench.theory.theorems.Theorem.instance`).
    """

    verdict: Literal["can", "cannot"]
    theorem: str
    evidence: str
    instance: Literal["this instance", "a larger one of its family", "unknown"] = "unknown"


@dataclass(frozen=True, slots=True)
class Result:
    """What a model reached on a task: all seeds at the selected learning rate.

    A run that did not finish counts as chance level.

    Attributes:
        task: the task's title.
        max, mean, median: accuracy over the seeds; each seed's is its mean over the
            cells. None if no run finished and the chance level is not known.
        scaled: (mean - chance) / (1 - chance); None where chance is 1.
        low, high: interval of `mean`, over seeds and test strings.
        max_low, max_high: Wilson interval of the run that reached `max`, the strings of
            all its cells together; None if that one did not finish.
        seeds: runs at this learning rate.
        finished: how many of them finished.
        failures: how the others ended, and those that diverged at some test lengths; with how
            often each occurred.
        learning_rate: the selected one; None for an exact model.
        command: the command of the run with the highest seed, which repeats the others too.
        longest_99, longest_90: the longest test length up to which, at every test length,
            the mean accuracy over the seeds is at least 99 % (90 %); None if there is none, or
            a run that finished did not learn the training lengths: it extrapolates from nothing.
            A length at which chance is always right can end it, and is not counted as solved.
        validation: accuracy on held-out strings of the training lengths, the mean over the runs
            of which it is known; None if of none.
        learned: how many of the runs learned them (`statistics.records`), whether or not their
            test finished.
        budget: the most optimiser steps that a run was given.
        runs: each of them, by seed.
        prediction: what theory says; None if it says nothing, or was not asked.
        predictions: what a theorem says and what experiments do, where either decides.
        shown: what it is shown by (`TaskFacts.measure`), the mean over the seeds: the accuracy or,
            of what is shown by another measure, the mean over its places.
        places: of what is not shown by accuracy, the lengths or named parts of its test, and the
            mean over the seeds at each.
        weak: whether some run that learned finished its test, and that test is weak evidence of the
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
        known = (one for run in self.runs for one in run.information or () if one is not None)
        found = list(known)
        return math.fsum(found) / len(found) if found else None

    @property
    def metrics(self) -> dict[str, float]:
        """Metrics that plugins add to the objective's, by name: the mean over the seeds."""
        by_name: dict[str, list[float]] = {}
        for run in self.runs:
            for name, value in run.metrics:
                by_name.setdefault(name, []).append(value)
        return {name: math.fsum(found) / len(found) for name, found in by_name.items()}

    @property
    def solved(self) -> int:
        """How many of the runs solved the test (`SeedResult.solved`)."""
        return sum(run.solved for run in self.runs)

    @property
    def marked(self) -> bool:
        """Whether a run did not finish, or diverged at some test lengths: chance counts there."""
        return bool(self.failures)

    @property
    def unlearned(self) -> bool:
        """Whether no run learned the training lengths: the test says nothing of extrapolation."""
        return self.learned == 0 and self.finished > 0

    @property
    def partly(self) -> bool:
        """Whether some runs learned the training lengths, and others that finished did not."""
        finished = (run for run in self.runs if run.accuracy is not None)
        return self.learned > 0 and not all(run.learned for run in finished)

    @property
    def reaches(self) -> bool:
        """Whether some run learned the training lengths and finished: what can extrapolate."""
        return any(run.learned and run.accuracy is not None for run in self.runs)

    @property
    def tried(self) -> int:
        """The most optimiser steps of a run that did not learn; the budget if none is known of."""
        return max((run.steps for run in self.runs if not run.learned), default=0) or self.budget

    @property
    def capped(self) -> int:
        """How many runs did not learn, and ended before their budget: weaker evidence."""
        return sum(run.capped for run in self.runs)

    @property
    def outcome(self) -> str:
        """How the runs ended: ``3``, or ``2 of 3 finished (1 diverged)``."""
        if not self.marked:
            return str(self.seeds)
        failures = ", ".join(f"{times} {status}" for status, times in self.failures)
        return f"{self.finished} of {self.seeds} finished ({failures})"


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """What is the same for every model on a task under a protocol.

    Attributes:
        title: the task's title.
        metric: the primary metric.
        chance_constant, chance_length: accuracy of the two trivial answers.
        first, last: shortest and longest test length.
        cells: how many lengths are tested.
        lengths: that of each cell, as a run's `CellResults` have them.
        chances: accuracy at each of them of the best answer that sees only the length; None if
            it is known on the average alone.
        strings: how many strings, over all lengths.
        language_class: the smallest class that theory is known to put it in, if any.
        shortcut: accuracy of the best shortcut that is known of (docs/shortcuts.md), if any.
        measure: by what it is shown.
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
    measure: ShownBy = ACCURACY

    @property
    def chance_by_cell(self) -> tuple[float, ...]:
        """The chance level at each cell: the mean of all, where it is known on the average."""
        return self.chances or (self.chance_length,) * self.cells

    def chance_of(self, cells: CellResults) -> tuple[float, ...]:
        """Return the chance level at each of some cells; the mean, where it is not known."""
        known = dict(zip(self.lengths, self.chance_by_cell, strict=False))
        return tuple(known.get(length, self.chance_length) for length in cells.length)

    @property
    def last_telling(self) -> int | None:
        """The longest test length at which chance is not always right."""
        return max((length for length, _ in self.telling), default=None)

    @property
    def telling(self) -> list[tuple[int, float]]:
        """The lengths at which chance is not always right, and the chance level at each."""
        pairs = zip(self.lengths, self.chance_by_cell, strict=True)
        return [(length, chance) for length, chance in pairs if chance < 1.0]

    @property
    def trivial(self) -> tuple[bool, ...]:
        """Whether, at each cell, chance is right every time, so that no answer there tells."""
        return tuple(chance >= 1.0 for chance in self.chance_by_cell)

    @property
    def weak(self) -> bool:
        """Whether a predictor that is wrong on some test strings is right on over 95 % of them.

        It sees the length alone, or little of the order (docs/shortcuts.md). One that is always
        right does not count: it is the language itself, as what the first symbol tells of `first`.
        """
        return any(WEAK < right < 1.0 for right in (*self.chance_by_cell, self.shortcut or 0.0))

    @property
    def scored(self) -> bool:
        """Whether it counts in the score: accuracy is the point, and chance is not always right."""
        return self.chance_length < 1.0 and self.measure.accuracy


def telling_cells(result: Result, facts: TaskFacts | None) -> list[CellResults]:
    """Return the cells of each run, without the lengths at which chance is right.

    A run that did not finish is at chance at every length.

    Returns:
        Nothing if no run finished, the runs differ in their lengths, or no length is left.
    """
    cells = [run.cells for run in result.runs if run.cells is not None]
    if not cells or len({cell.length for cell in cells}) > 1:
        return []
    if facts is not None:
        right = map(operator.mul, facts.chance_of(cells[0]), cells[0].strings)
        cells += [replace(cells[0], correct=tuple(right))] * (len(result.runs) - len(cells))
    if facts is None or facts.lengths != cells[0].length or not any(facts.trivial):
        return cells
    kept = [not trivial for trivial in facts.trivial]
    return [cell.only(kept) for cell in cells] if any(kept) else []
