"""The schema of protocols."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_validator,
)

from formalbench.contracts.specs import display

if TYPE_CHECKING:
    from formalbench.contracts.task import Task


class Part(BaseModel):
    """Base of all parts of protocols and records: frozen, and unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


LATER = Field(exclude_if=lambda value: value is None)
"""Marks a field that was added after records had been published. It is not written if it is None,
so that ids of older protocols do not change."""

Positive = Annotated[int, Field(ge=1)]

Fraction = Annotated[float, Field(ge=0.0, le=1.0)]

Rate = Annotated[float, Field(gt=0.0)]

Length = Annotated[int, Field(ge=0, le=10_000_000)]

Window = tuple[Length, Length]
"""Smallest and largest length."""

_Text = Annotated[str, Field(max_length=200)]

Setting = bool | int | float | _Text | tuple[float, ...] | tuple[_Text, ...]
"""Types of an option's value."""

Name = Annotated[str, Field(max_length=64)]


class Options(Part):
    """A choice by name; the options of the chosen plugin are further keys."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Setting]

    @property
    def options(self) -> dict[str, Setting]:
        """The options that are set."""
        return dict(self.__pydantic_extra__)


class OptimiserChoice(Options):
    """The optimiser, the same for every model; its options are further keys.

    Attributes:
        gradient_clip: largest gradient norm of a run; None for no clipping.
    """

    name: Name = "adam"
    gradient_clip: Rate | None = 1.0


class ScheduleChoice(Options):
    """The learning-rate schedule before the decay; its options are further keys."""

    name: Name = "constant"


class Curriculum(Options):
    """Which lengths a run trains on: a sampler by name (`kind`); its options are further keys.

    ``uniform`` always samples from the whole training split. ``staged`` begins with lengths up to
    `first` and makes the longest `growth` times as long plus one (in integers, rounded down) each
    time the run's own error since its last evaluation is at most `error`, until it includes the
    whole training split. ``interleaved`` does so in every second interval between two evaluations,
    and samples from the whole split in the others. A run that does not leave a stage thus still
    trains on all lengths, and finishes when it has mastered them. ``generated`` samples from the
    whole split with the task's string process, so that lengths have the frequencies of that
    process.
    """

    kind: Name = "interleaved"
    first: Positive = 2
    growth: Annotated[float, Field(ge=1.0)] = 1.5
    error: Fraction = 0.02


class Decay(Part):
    """The end of training: the learning rate falls linearly over the last `steps` steps.

    The decay begins when the run has mastered the training split, or when only `steps` are left of
    the budget. From then on, the curriculum is over and batches are sampled from the whole training
    split. The last step has `final` times the rate.

    A run masters the training split when its own error on it, between two evaluations, is at most
    `mastered`; 0 disables this, and the decay begins near the end of the budget. With `validated`,
    the next validation must also reach this accuracy; if it does not, the training error must
    fall to `mastered` again. With `share`, the decay after mastery takes this share of the steps
    before it, in whole intervals between evaluations, and at most `steps`.
    """

    steps: Positive = 600
    final: Fraction = 0.02
    mastered: Fraction = 0.02
    validated: Annotated[Fraction | None, LATER] = None
    share: Annotated[Annotated[float, Field(gt=0.0)] | None, LATER] = None


class Capping(Part):
    """When a run that no longer improves ends before its budget: its training is *capped*.

    At a validation after at least `after` steps, a run that has not mastered the training split is
    capped if the best validation accuracy so far is less than `gain` above the best of `steps`
    steps earlier. Its learning rate then decays as at the end of the budget.
    """

    after: Positive = 5000
    steps: Positive = 5000
    gain: Annotated[float, Field(gt=0.0, le=1.0)] = 0.01


class Validation(Part):
    """In-distribution strings that select the checkpoint and the learning rate.

    `strings` at each of `lengths` lengths spread over the training split, scored
    every `every` steps and at the end; the best checkpoint has the most correct answers, then the
    lowest cross-entropy.

    With `tokens`, tasks with a string process use instead this many tokens (END included) that the
    process generates within the training split.
    """

    every: Positive = 100
    lengths: Positive = 16
    strings: Positive = 64
    tokens: Annotated[Positive | None, LATER] = None


class Lengths(Part):
    """Training and test lengths that replace the task's own.

    For experiments such as "trained at 10, tested at 1000". The strings of a cell depend only on
    its length, so they are the same as without this setting.

    Attributes:
        train: smallest and largest training length; None for the task's.
        test: smallest and largest test length; None for the task's.
    """

    train: Annotated[Window | None, LATER] = None
    test: Annotated[Window | None, LATER] = None

    @model_validator(mode="after")
    def _in_order(self) -> Lengths:
        for name, window in (("train", self.train), ("test", self.test)):
            if window is not None and window[0] > window[1]:
                raise ValueError(f"{name} must be [shortest, longest], not {list(window)}")
        if self.train is None and self.test is None:
            raise ValueError("name the lengths of training or of the test")
        return self


class Watch(Part):
    """Training curves of a run, kept in its record; nothing is selected by them.

    Every `every` steps the run is tested on the same `strings` strings at each of `lengths`
    (separate from those of training, validation and test), and `probes` are computed on the first
    `probed` of them (plugins announce probes, `formalbench_probes`).
    """

    every: Positive = 100
    lengths: Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1, max_length=8)]
    strings: Positive = 100
    probes: Annotated[tuple[Annotated[str, Field(max_length=64)], ...], Field(max_length=8)] = ()
    probed: Positive = 100

    @model_validator(mode="after")
    def _each_once(self) -> Watch:
        if list(self.lengths) != sorted(set(self.lengths)):
            raise ValueError("lengths must grow")
        if len(set(self.probes)) < len(self.probes):
            raise ValueError("probes must differ")
        return self


class Testing(Part):
    """The test cells: `strings` at each of `lengths` lengths spread over the test split.

    ``all`` takes every length; a list takes these lengths. With `tokens`, a task with its own
    string process has one cell, the whole test split as a window, with this many tokens of what
    the process generates, END included. For tasks with fixed strings, such as texts, `tokens`
    limits the tokens of a cell: every length has as many strings as fit at the longest length, and
    a part that is one cell has a share of its strings.

    With `beam`, answers that are generated step by step are searched with this many hypotheses.
    Their log-probabilities are divided by ((5 + length) / 6) to the power of `length_penalty` (Wu
    et al. 2016, equation 14). Without it, and always in validation, a network takes the most
    likely symbol at each step.
    """

    lengths: Positive | Literal["all"] | Annotated[tuple[Length, ...], Field(min_length=1)] = 16
    strings: Positive = 256
    tokens: Annotated[Positive | None, LATER] = None
    beam: Annotated[Annotated[int, Field(ge=1, le=64)] | None, LATER] = None
    length_penalty: Annotated[Fraction | None, LATER] = None

    @field_validator("lengths", mode="wrap")
    @classmethod
    def _in_order(cls, value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
        try:
            lengths = validate(value)
        except ValidationError:  # an error for each type
            raise ValueError("must be how many, at least 1, or all, or which, as 50,100") from None
        if isinstance(lengths, tuple) and list(lengths) != sorted(set(lengths)):
            raise ValueError("lengths must grow")
        return lengths

    @model_validator(mode="after")
    def _check_beam(self) -> Testing:
        if self.length_penalty is not None and self.beam is None:
            raise ValueError("length_penalty needs beam, too")
        return self


class Protocol(Part):
    """A protocol: how every model is trained and tested.

    Attributes:
        schema_version: version of this format.
        name: lower case with hyphens.
        version: raise it whenever a run's numbers could change.
        summary: one line for listings.
        changed: keys that were changed with `--set protocol.key=value`.
        draws: name and version of the protocol whose training strings are used; None for its own. A
            protocol that extends another and trains in the same way uses its strings and therefore
            gets the same weights.
        seeds: number of seeds (0, 1, …); `--seeds` overrides it.
        learning_rates: the grid; the best rate by validation counts.
        fallback: whether to try each further rate only if, at every earlier rate, the selected
            validation accuracy of some seed is below `decay.validated`, or the seed diverged or
            ran out of time; if not, run all rates.
        steps: maximum number of optimiser steps of a run.
        batch: strings per step.
        batch_tokens: tokens per step (END included) instead of strings; at least one string. None
            for `batch` strings at every length.
        mixed_lengths: no more than a key of records: the strings of a batch have one length.
        shared_lengths: whether runs of all seeds train on batches of the same lengths. They can
            then train together, but their batches are not independent.
        accumulate: number of batches whose gradients are averaged for a step.
        evaluate_every: steps between two evaluations of a run's training error; no value is read
            from the device in between. `steps`, `decay.steps`, `validation.every` and `watch.every`
            must be multiples of it.
        time_limit: maximum training time in seconds; None for no limit. If a run reports nothing
            for this time and two minutes more, its process is ended.
        precision: number format of training and testing. With ``tf32`` a GPU multiplies fp32
            matrices with 10 bits of mantissa; with ``bf16``, `torch.autocast` selects the
            operations computed in bf16. Parameters and losses are always in fp32.
        label_smoothing: the share of each label's probability that the loss spreads over all
            outputs; None for none. Only some objectives support it (`translate`).
        penalties: weights of penalties by name; None for none.
        optimiser, schedule, curriculum, decay, validation: parts of the training.
        patience: when a run that no longer improves ends early; None for never.
        test: the test cells.
        splits: lengths that replace the task's; None for the task's.
        watch: training curves; None for none.
    """

    schema_version: Literal[1] = 1
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=64)]
    version: Positive
    summary: Annotated[str, Field(max_length=200)] = ""
    changed: Annotated[dict[Annotated[str, Field(max_length=64)], Setting] | None, LATER] = None
    draws: Annotated[tuple[Annotated[str, Field(max_length=64)], Positive] | None, LATER] = None
    seeds: Positive = 3
    learning_rates: Annotated[tuple[Rate, ...], Field(min_length=1)] = (1e-3,)
    fallback: Annotated[bool | None, LATER] = None
    steps: Positive = 2000
    batch: Positive = 128
    batch_tokens: Annotated[Positive | None, LATER] = None
    mixed_lengths: Literal[False] = False
    shared_lengths: Annotated[bool | None, LATER] = None
    accumulate: Positive = 1
    evaluate_every: Positive = 20
    time_limit: Rate | None = None
    precision: Literal["fp32", "tf32", "bf16"] = "fp32"
    label_smoothing: Annotated[Annotated[float, Field(gt=0, lt=1)] | None, LATER] = None
    penalties: Annotated[Annotated[dict[Name, Rate], Field(min_length=1)] | None, LATER] = None
    optimiser: OptimiserChoice = OptimiserChoice()
    schedule: ScheduleChoice = ScheduleChoice()
    curriculum: Curriculum = Curriculum()
    decay: Decay = Decay()
    validation: Validation = Validation()
    patience: Annotated[Capping | None, LATER] = None
    test: Testing = Testing()
    splits: Annotated[Lengths | None, LATER] = None
    watch: Annotated[Watch | None, LATER] = None

    def __hash__(self) -> int:
        return hash((self.name, self.version, self.steps))  # `changed` is a mapping

    @property
    def title(self) -> str:
        """Name with changed keys, as in ``quick[steps=100]``."""
        return display(self.name, {k: _display_value(v) for k, v in (self.changed or {}).items()})

    @property
    def key(self) -> tuple[str, int]:
        """Name and version that decide the training strings."""
        return self.draws or (self.name, self.version)

    def train_facts(self) -> dict[str, Any]:
        """Return everything that decides a run's weights except rate and seed, as JSON.

        Test and training curves are not included.
        """
        named = {"schema_version", "name", "version", "summary", "changed", "draws"}
        data = self.model_dump(
            mode="json",
            exclude={*named, "seeds", "learning_rates", "fallback", "test", "splits", "watch"},
        )
        window = self.splits.train if self.splits else None
        return {**data, "draws": list(self.key), "lengths": window and list(window)}

    def test_facts(self) -> dict[str, Any]:
        """Return everything that decides a run's test except its task, as JSON."""
        window = self.splits.test if self.splits else None
        data = self.test.model_dump(mode="json")
        return {**data, "split": window and list(window), "precision": self.precision}

    def decay_steps(self, mastered: int) -> int:
        """Return the number of decay steps after mastery at step `mastered`."""
        if self.decay.share is None:
            return self.decay.steps
        intervals = math.ceil(self.decay.share * mastered / self.evaluate_every)
        return min(self.decay.steps, intervals * self.evaluate_every)

    def strings_at(self, length: int) -> int:
        """Return the number of strings of this length in a batch."""
        if self.batch_tokens is None:
            return self.batch
        return max(1, self.batch_tokens // (length + 1))

    @property
    def draws_by_process(self) -> bool:
        """Whether training and validation need a source with a string process."""
        return self.curriculum.kind == "generated" or self.validation.tokens is not None

    @property
    def needs_process(self) -> bool:
        """Whether training, validation and test need a string process, unless strings are fixed."""
        return self.draws_by_process or self.test.tokens is not None

    @model_validator(mode="after")
    def _whole_intervals(self) -> Protocol:
        parts = {
            "steps": self.steps,
            "decay.steps": self.decay.steps,
            "validation.every": self.validation.every,
        }
        if self.watch is not None:
            parts["watch.every"] = self.watch.every
        problems = [
            f"{name} must be a multiple of evaluate_every, {self.evaluate_every}"
            for name, steps in parts.items()
            if steps % self.evaluate_every and (name == "steps" or steps != self.steps)
        ]
        if self.patience is not None and self.patience.steps % self.validation.every:
            every = f"validation.every, {self.validation.every}"
            problems.append(f"patience.steps must be a multiple of {every}")
        if self.fallback and self.decay.validated is None:
            problems.append("fallback needs decay.validated")
        if self.decay.steps > self.steps:
            problems.append(
                f"decay.steps ({self.decay.steps}) must not exceed steps ({self.steps})"
            )
        if problems:
            raise ValueError("; ".join(problems))
        return self

    def apply(self, task: Task) -> Task:
        """Return the task with this protocol's lengths and loss.

        Use this task to build networks, draw strings and compute chance levels, so that all agree
        on the lengths.
        """
        if self.label_smoothing is not None:
            task = replace(task, objective=task.objective.smoothed(self.label_smoothing))
        own = self.splits
        return task if own is None else task.at_lengths(own.train, own.test)


def _display_value(value: Setting) -> bool | int | float | str:
    if not isinstance(value, tuple):
        return value
    return ",".join(item if isinstance(item, str) else f"{item:g}" for item in value)
