"""A record: the result of one run, complete enough to repeat it."""

from __future__ import annotations

import json
import math
import operator
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import (
    Field,
    model_validator,
)

from formalbench.contracts.cells import MAX_COUNT, Cells
from formalbench.contracts.cells import Name as MetricName
from formalbench.contracts.objective import CROSS_ENTROPY
from formalbench.contracts.protocol import LATER, Part, Protocol
from formalbench.contracts.reading import read_json, validated

Name = Annotated[str, Field(min_length=1, max_length=200)]
Line = Annotated[str, Field(max_length=500)]
Count = Annotated[int, Field(ge=0, le=MAX_COUNT)]
Rate = Annotated[float, Field(gt=0)]
Command = Annotated[str, Field(max_length=10_000)]
Share = Annotated[float, Field(ge=0, le=1)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Identity = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{40}(-dirty)?$")]
Options = dict[Name, bool | int | float | Annotated[str, Field(max_length=200)]]

MOST_POINTS = 100
"""Of a learning curve."""

Status = Literal["finished", "diverged", "out-of-memory", "error", "timeout"]
"""``finished``: trained and tested. ``diverged``: a loss or logit was not finite; if that was in
the test, the cells at which every logit is finite are counted. Of another status no cell is."""


class Origin(Part):
    """Where a plugin's code came from.

    Attributes:
        distribution: the installed distribution, or a local plugin's file name.
        version: the distribution's version, empty for a local plugin.
        sha256: of a local plugin's contents, empty for a distribution.
    """

    distribution: Name
    version: Line = ""
    sha256: Sha256 | Literal[""] = ""


class ModelUsed(Part):
    """The model of a run; `options` holds those that differ from their defaults."""

    name: Name
    version: Count
    kind: Literal["learned", "exact"] = "learned"
    options: Options = Field(default_factory=dict)
    parameters: Count = 0
    source: Origin


class TaskUsed(Part):
    """The task of a run, in the full form of its name; options as for the model."""

    name: Name
    version: Count
    options: Options = Field(default_factory=dict)
    source: Origin


class Curve(Part):
    """How a run did on the strings of one length as it trained: parallel arrays over time.

    Attributes:
        length: of the strings.
        strings: how many there were.
        answers: out of how many answers `correct` is; None if of each string there is one.
        correct: the primary metric's sum: how many answers were right.
        millibits: cross-entropy per answer in 1/1000 bit.
        probes: what was read, by probe and place, the mean over the strings it was read on.
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
    """A run's curves over its training.

    Attributes:
        every: steps between two points; the first is after as many.
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
        """The optimiser steps that each point comes after."""
        return tuple(self.every * (index + 1) for index in range(len(self.curves[0].correct)))


class LearningCurve(Part):
    """How training went, at every validation or, of many, some: parallel arrays over time.

    Attributes:
        steps: optimiser steps taken.
        loss: of training, the mean since the evaluation before.
        error: share of training strings answered wrong, over the same interval as `loss`.
        accuracy: the primary metric's mean on validation strings; None where there was no answer.
    """

    steps: Annotated[tuple[Count, ...], Field(min_length=1, max_length=MOST_POINTS)]
    loss: tuple[float, ...]
    error: tuple[Share, ...]
    accuracy: tuple[Share | None, ...]

    @model_validator(mode="after")
    def _parallel(self) -> LearningCurve:
        if len({len(self.steps), len(self.loss), len(self.error), len(self.accuracy)}) > 1:
            raise ValueError("the arrays of a learning curve differ in size")
        if any(later <= earlier for earlier, later in pairwise(self.steps)):
            raise ValueError("the steps of a learning curve must grow")
        return self


class CohortMember(Part):
    """What distinguishes a run from the others of its cohort."""

    learning_rate: Rate
    seed: Count


CohortMembers = Annotated[tuple[CohortMember, ...], Field(min_length=2, max_length=1000)]


class Training(Part):
    """What training took.

    Attributes:
        steps: optimiser steps taken.
        ended: ``mastered`` (the training split was mastered, then the decay), ``budget``,
            ``capped`` (validation got no better for as long as the protocol's patience, then the
            decay) or ``stopped`` before any of them.
        stage: the longest string length reached by the curriculum before the decay.
        strings: strings trained on.
        seconds: wall time of training, validation included.
        strings_per_second: strings / seconds.
        history: curves over the steps; None unless the protocol watches.
        cohort: the runs that trained as one program, this one among them: that ends in other
            last digits than training alone. None if it did.
        curve: how training and validation went; None of records older than it, or of a run that
            was never validated.
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


class Summed(Part):
    """A metric: a sum over answers, and how many answers it is over."""

    total: float
    count: Annotated[int, Field(ge=0, le=MAX_COUNT)]

    @property
    def mean(self) -> float:
        """The share or mean; NaN if there was nothing to sum up."""
        return self.total / self.count if self.count else math.nan


Metrics = Annotated[dict[MetricName, Summed], Field(max_length=32)]
Signatures = Annotated[
    dict[MetricName, Annotated[str, Field(max_length=200)]], Field(max_length=32)
]


class Selected(Part):
    """The checkpoint that was tested, and its score on in-distribution validation.

    Attributes:
        step: after which it was taken.
        strings: of validation.
        correct: the primary metric's sum over them.
        answers: out of how many; None if of each string there is one.
        metrics: the other metrics, by name; cross-entropy in bits.
    """

    step: Count
    strings: Annotated[int, Field(ge=1)]
    correct: Annotated[int | float, Field(ge=0)]
    answers: Annotated[Annotated[int, Field(ge=1)] | None, LATER] = None
    metrics: Metrics = Field(default_factory=dict)

    @property
    def asked(self) -> int:
        """Out of how many answers `correct` is."""
        return self.strings if self.answers is None else self.answers

    @property
    def accuracy(self) -> float:
        """The primary metric's mean."""
        return self.correct / self.asked

    @property
    def bits(self) -> float:
        """Cross-entropy per answer; NaN if it was not taken."""
        known = self.metrics.get(CROSS_ENTROPY)
        return math.nan if known is None else known.mean

    @model_validator(mode="after")
    def _no_more_than_all(self) -> Selected:
        if self.correct > self.asked:
            raise ValueError("more answers correct than validated")
        return self


class TestResult(Part):
    """The test of a run.

    Attributes:
        metric: the objective's primary metric, by which an answer is correct.
        fingerprint: SHA-256 of all test strings and targets.
        chance_constant: accuracy of the best constant answer, averaged over the cells.
        chance_length: accuracy of the best answer that sees only the length, averaged over the
            cells.
        seconds: wall time of the test.
        cells: results.
        extra_metrics: the versions of those metrics that the objective does not name itself.
        signatures: of metrics that a library measures, by their names: its version and options.
        pooled: those of the extra metrics that are no means, over all cells together.
    """

    __test__ = False  # pytest takes it for a test by its name
    metric: Name
    fingerprint: Sha256
    chance_constant: Annotated[float, Field(ge=0, le=1)]
    chance_length: Annotated[float, Field(ge=0, le=1)]
    seconds: float
    cells: Cells
    extra_metrics: Annotated[dict[MetricName, Count] | None, LATER] = None
    signatures: Annotated[Signatures | None, LATER] = None
    pooled: Annotated[Metrics | None, LATER] = None

    @property
    def accuracy(self) -> float:
        """Mean accuracy over the cells, each counting the same."""
        shares = map(operator.truediv, self.cells.correct, self.cells.asked)
        return float(sum(shares)) / len(self.cells.length)

    @property
    def scaled_accuracy(self) -> float | None:
        """(accuracy - chance) / (1 - chance) with length-only chance; None if that is 1."""
        if self.chance_length >= 1.0:
            return None
        return (self.accuracy - self.chance_length) / (1.0 - self.chance_length)


class Environment(Part):
    """The machine and the libraries; recorded, but not part of a run's identity.

    Attributes:
        device: the kind of device, as ``cpu`` or ``cuda``.
        hardware: the device's name.
        threads: CPU threads of the process.
        peak_memory_mib: the process's largest resident set (CPU), or the largest
            allocation on the device (CUDA), up to the end of the run.
        versions: of Python, formalbench, the libraries that compute, and the packages that a
            plugin imported.
        commit: of formalbench's code, with ``-dirty`` if it was changed; None if nobody knows.
        source: SHA-256 of all Python and YAML files of the packages that define its model, task
            and engine parts (of a single-file plugin, that file); None of what has no run.
    """

    device: Name
    hardware: Line
    threads: Count
    peak_memory_mib: Count
    versions: dict[Name, Line]
    commit: Annotated[Commit | None, LATER] = None
    source: Annotated[Sha256 | None, LATER] = None


class Place(Part):
    """Where in a plugin's code a run failed.

    Attributes:
        file: relative to the plugin.
        line: in it.
        frames: the last ones of the plugin's own, the innermost last, a line each.
    """

    file: Line
    line: Count
    frames: Annotated[tuple[Line, ...], Field(max_length=8)]


class Record(Part):
    """The result of one run: one JSON file.

    Attributes:
        schema_version: of this format; first in the file.
        kind: what was done.
        train_id: hash of everything that decides the run's weights.
        test_id: hash of that, and of everything that decides the numbers of its test.
        status: how it ended.
        message: one line about a run that did not finish.
        place: where in a plugin's code it failed; None if it did not, or elsewhere.
        model, task, protocol, learning_rate, seed: what was run.
        code: where code came from that is not formalbench's own, beside the model's and the
            task's (`formalbench.contracts.identity.Code`); None if there is none.
        training, selected, test: what came of it; None where it did not get that far.
        weights: SHA-256 of the file of the selected weights; None if they were not kept.
        environment: where.
        command: the command line that repeats it.
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
    selected: Selected | None = None
    test: TestResult | None = None
    weights: Annotated[Sha256 | None, LATER] = None
    environment: Environment
    command: Command
    date: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]

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

    def to_json(self) -> str:
        """Return the record as it is stored: compact ASCII, one line."""
        data = self.model_dump(mode="json")
        return json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False) + "\n"


def parse_record(text: str | bytes, name: str) -> Record:
    """Read the record of a run from untrusted JSON.

    Args:
        text: the file's contents.
        name: what to call the file in an error.

    Raises:
        RequestError: one line that says what is wrong.
    """
    return validated(Record, read_json(text, name), name)
