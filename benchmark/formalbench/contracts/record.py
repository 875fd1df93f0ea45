"""Records: the result of a run, with everything needed to repeat it."""

from __future__ import annotations

import datetime
import json
import math
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import (
    Field,
    model_validator,
)

from formalbench.contracts.cells import MAX_COUNT, Cells
from formalbench.contracts.cells import Name as MetricName
from formalbench.contracts.objective import CROSS_ENTROPY
from formalbench.contracts.protocol import LATER, Fraction, Part, Protocol, Rate

Name = Annotated[str, Field(min_length=1, max_length=200)]
Line = Annotated[str, Field(max_length=500)]
Count = Annotated[int, Field(ge=0, le=MAX_COUNT)]
Command = Annotated[str, Field(max_length=10_000)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Identity = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{40}(-dirty)?$")]
Options = dict[Name, bool | int | float | Annotated[str, Field(max_length=200)]]

Date = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]
"""UTC, ISO 8601, to the second."""

MOST_POINTS = 100
"""Maximum points of a learning curve."""

Status = Literal["finished", "diverged", "out-of-memory", "error", "timeout"]
"""``finished``: trained and tested. ``diverged``: a loss or logit was not finite; if this happened
in the test, only cells with finite logits count. With any other status no cell counts."""


def date_now() -> str:
    """Return the current time as records have it (`Date`)."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Origin(Part):
    """Origin of a plugin's code.

    Attributes:
        distribution: installed distribution, or a local plugin's file name.
        version: distribution's version; empty for a local plugin.
        sha256: hash of a local plugin's contents; empty for a distribution.
    """

    distribution: Name
    version: Line = ""
    sha256: Sha256 | Literal[""] = ""


class ModelUsed(Part):
    """The model of a run; `options` has those that differ from their defaults."""

    name: Name
    version: Count
    kind: Literal["learned", "exact"] = "learned"
    options: Options = Field(default_factory=dict)
    parameters: Count = 0
    source: Origin


class TaskUsed(Part):
    """The task of a run, with its full name; options as for the model."""

    name: Name
    version: Count
    options: Options = Field(default_factory=dict)
    source: Origin


class Curve(Part):
    """Training curve of a run at one string length: parallel arrays over time.

    Attributes:
        length: string length.
        strings: number of strings.
        answers: number of answers; None if each string has one.
        correct: number of correct answers (sum of the primary metric).
        millibits: cross-entropy per answer in 1/1000 bit.
        probes: mean probe values by probe and place.
    """

    length: Count
    strings: Annotated[int, Field(ge=1)]
    answers: Annotated[Annotated[int, Field(ge=1)] | None, LATER] = None
    correct: tuple[Annotated[int | float, Field(ge=0, le=MAX_COUNT)], ...]
    millibits: tuple[Count, ...]
    probes: dict[Name, tuple[float, ...]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _parallel(self) -> Curve:
        others = (self.millibits, *self.probes.values())
        if any(len(other) != len(self.correct) for other in others):
            raise ValueError("the arrays of a curve differ in size")
        if any(correct > (self.answers or self.strings) for correct in self.correct):
            raise ValueError("more answers correct than watched")
        return self


class History(Part):
    """Training curves of a run.

    Attributes:
        every: steps before the first point and between two points.
        fingerprint: SHA-256 of all strings and targets.
        curves: one per length, shortest first.
    """

    every: Annotated[int, Field(ge=1)]
    fingerprint: Sha256
    curves: Annotated[tuple[Curve, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _at_one_time(self) -> History:
        if len({len(curve.correct) for curve in self.curves}) > 1:
            raise ValueError("curves differ in size")
        lengths = [curve.length for curve in self.curves]
        if lengths != sorted(set(lengths)):
            raise ValueError("curves must be in order of length")
        return self

    @property
    def steps(self) -> tuple[int, ...]:
        """Optimiser steps before each point."""
        return tuple(self.every * (index + 1) for index in range(len(self.curves[0].correct)))


class LearningCurve(Part):
    """Learning curve at validations (a subset if there are many): parallel arrays over time.

    Attributes:
        steps: optimiser steps taken.
        loss: mean training loss since the previous evaluation.
        error: share of wrong training strings in the same interval.
        accuracy: mean of the primary metric on validation strings; None if there was no answer.
    """

    steps: Annotated[tuple[Count, ...], Field(min_length=1, max_length=MOST_POINTS)]
    loss: tuple[float, ...]
    error: tuple[Fraction, ...]
    accuracy: tuple[Fraction | None, ...]

    @model_validator(mode="after")
    def _parallel(self) -> LearningCurve:
        if len({len(self.steps), len(self.loss), len(self.error), len(self.accuracy)}) > 1:
            raise ValueError("the arrays of a learning curve differ in size")
        if any(later <= earlier for earlier, later in pairwise(self.steps)):
            raise ValueError("the steps of a learning curve must grow")
        return self


class CohortMember(Part):
    """Learning rate and seed: what distinguishes the runs of a cohort."""

    learning_rate: Rate
    seed: Count


CohortMembers = Annotated[tuple[CohortMember, ...], Field(min_length=2, max_length=1000)]


class Training(Part):
    """Training of a run.

    Attributes:
        steps: optimiser steps taken.
        ended: ``mastered`` (the decay after mastery was completed), ``budget``, ``capped`` (no
            improvement for the protocol's patience, then the decay) or ``stopped`` (before any of
            them).
        stage: maximum string length of the curriculum before the decay.
        strings: number of training strings.
        seconds: wall time of training and validation.
        strings_per_second: strings / seconds.
        history: training curves; None unless the protocol has `watch`.
        cohort: the runs that trained together as one program, including this one, which affects the
            last digits. None if it trained alone.
        curve: learning curve; None in older records and for runs that were never validated.
    """

    steps: Count
    ended: Literal["mastered", "budget", "capped", "stopped"]
    stage: Count
    strings: Count
    seconds: float
    strings_per_second: float
    history: Annotated[History | None, LATER] = None
    cohort: Annotated[CohortMembers | None, LATER] = None
    curve: Annotated[LearningCurve | None, LATER] = None


class MetricSum(Part):
    """A metric: a sum over answers, and the number of answers."""

    total: float
    count: Annotated[int, Field(ge=0, le=MAX_COUNT)]

    @property
    def mean(self) -> float:
        """The mean; NaN if there are no answers."""
        return self.total / self.count if self.count else math.nan


Metrics = Annotated[dict[MetricName, MetricSum], Field(max_length=32)]
Signatures = Annotated[
    dict[MetricName, Annotated[str, Field(max_length=200)]], Field(max_length=32)
]


class SelectedCheckpoint(Part):
    """The tested checkpoint and its score on in-distribution validation.

    Attributes:
        step: number of steps before it.
        strings: number of validation strings.
        correct: sum of the primary metric.
        answers: number of answers; None if each string has one.
        metrics: other metrics by name; cross-entropy in bits.
    """

    step: Count
    strings: Annotated[int, Field(ge=1)]
    correct: Annotated[int | float, Field(ge=0)]
    answers: Annotated[Annotated[int, Field(ge=1)] | None, LATER] = None
    metrics: Metrics = Field(default_factory=dict)

    @property
    def asked(self) -> int:
        """Number of answers."""
        return self.strings if self.answers is None else self.answers

    @property
    def accuracy(self) -> float:
        """Mean of the primary metric."""
        return self.correct / self.asked

    @property
    def bits(self) -> float:
        """Cross-entropy per answer in bits; NaN if it was not measured."""
        measure = self.metrics.get(CROSS_ENTROPY)
        return math.nan if measure is None else measure.mean

    @model_validator(mode="after")
    def _no_more_than_all(self) -> SelectedCheckpoint:
        if self.correct > self.asked:
            raise ValueError("more answers correct than validated")
        return self


class TestResult(Part):
    """The test of a run.

    Attributes:
        metric: the objective's primary metric, which decides whether an answer is correct.
        fingerprint: SHA-256 of all test strings and targets.
        chance_constant: accuracy of the best constant answer, averaged over cells.
        chance_length: accuracy of the best answer that depends only on the length, averaged over
            cells.
        seconds: wall time of the test. cells: results by cell.
        extra_metrics: versions of metrics that were added to the objective's own.
        signatures: version and options of libraries that compute metrics, by metric name.
        pooled: extra metrics that are no means, computed over all cells together.
    """

    __test__ = False  # pytest must not collect it as a test
    metric: Name
    fingerprint: Sha256
    chance_constant: Fraction
    chance_length: Fraction
    seconds: float
    cells: Cells
    extra_metrics: Annotated[dict[MetricName, Count] | None, LATER] = None
    signatures: Annotated[Signatures | None, LATER] = None
    pooled: Annotated[Metrics | None, LATER] = None

    @property
    def accuracy(self) -> float:
        """Mean accuracy over the cells, with equal weight."""
        return self.cells.accuracy

    @property
    def scaled_accuracy(self) -> float | None:
        """(accuracy - chance) / (1 - chance) with chance = `chance_length`; None if that is 1."""
        if self.chance_length >= 1.0:
            return None
        return (self.accuracy - self.chance_length) / (1.0 - self.chance_length)


class Environment(Part):
    """Machine and libraries; recorded, but not part of a run's ids.

    Attributes:
        device: kind of device, such as ``cpu`` or ``cuda``.
        hardware: name of the device.
        threads: CPU threads of the process.
        peak_memory_mib: largest resident set of the process (CPU) or largest allocation on the
            device (CUDA), up to the end of the run.
        versions: versions of Python, formalbench, numeric libraries, and packages that a plugin
            imported.
        commit: commit of formalbench's code, with ``-dirty`` if it was changed; None if unknown.
        source: SHA-256 of all Python and YAML files of the packages that define its model, task
            and engine parts (for a single-file plugin, that file); None in verifications and
            evaluations.
    """

    device: Name
    hardware: Line
    threads: Count
    peak_memory_mib: Count
    versions: dict[Name, Line]
    commit: Annotated[Commit | None, LATER] = None
    source: Annotated[Sha256 | None, LATER] = None


class Place(Part):
    """Place in a plugin's code where a run failed.

    Attributes:
        file: path relative to the plugin.
        line: line number.
        frames: the plugin's last frames, innermost last, a line each.
    """

    file: Line
    line: Count
    frames: Annotated[tuple[Line, ...], Field(max_length=8)]


class Stored(Part):
    """A record, which is one JSON file."""

    def to_json(self) -> str:
        """Return the record as it is stored: compact ASCII, one line."""
        data = self.model_dump(mode="json")
        return json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False) + "\n"


class Record(Stored):
    """The record of one run: one JSON file.

    Attributes:
        schema_version: version of this format; first in the file.
        kind: always ``run``.
        train_id: hash of everything that decides the weights.
        test_id: hash of `train_id` and everything that decides the test.
        status: how the run ended.
        message: reason why the run did not finish.
        place: where it failed in a plugin's code, if it did.
        model, task, protocol, learning_rate, seed: configuration of the run.
        code: origin of other code outside formalbench (`formalbench.contracts.identity.Code`); None
            if there is none.
        training, selected, test: results; None if the run ended earlier.
        weights: SHA-256 of the selected weights' file; None if they were not kept.
        environment: machine and libraries.
        command: command line that repeats the run.
        date: UTC, ISO 8601, to the second.
    """

    schema_version: Literal[2]
    kind: Literal["run"] = "run"
    train_id: Identity
    test_id: Identity
    status: Status
    message: Line = ""
    place: Annotated[Place | None, LATER] = None
    model: ModelUsed
    task: TaskUsed
    protocol: Protocol
    learning_rate: Rate | None
    seed: Count
    code: Annotated[Annotated[dict[Name, Line], Field(max_length=64)] | None, LATER] = None
    training: Training | None = None
    selected: SelectedCheckpoint | None = None
    test: TestResult | None = None
    weights: Annotated[Sha256 | None, LATER] = None
    environment: Environment
    command: Command
    date: Date

    @model_validator(mode="after")
    def _consistent(self) -> Record:
        marked = self.test is not None and self.test.cells.not_finite is not None
        if marked != (self.status == "diverged" and self.test is not None):
            raise ValueError("a test with non-finite cells needs the status diverged")
        if (self.status == "finished" or marked) != (self.test is not None):
            raise ValueError("only a run that finished, or diverged in the test, has a test")
        if (self.model.kind == "exact") != (self.learning_rate is None):
            raise ValueError("learned models need a learning rate, and other models have none")
        if self.test and self.model.kind == "learned" and not self.selected:
            raise ValueError("a tested learned run must name its selected checkpoint")
        if self.weights and not (self.test and self.model.kind == "learned"):
            raise ValueError("only a tested learned run can have weights")
        cohort = self.training.cohort if self.training else None
        if cohort:
            runs = [(member.learning_rate, member.seed) for member in cohort]
            if len({*runs}) < len(runs) or (self.learning_rate, self.seed) not in runs:
                raise ValueError("a cohort must contain the run itself, and every run once")
        return self
