"""Specs: the static data by which a plugin announces what it provides.

A spec is cheap to create. Code that needs numpy, torch or time belongs to its factory, which is a
callable or a lazy ``"package.module:Name"``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from formalbench.contracts.config import Value
from formalbench.contracts.theory import Theory

Lazy = Annotated[str, Field(pattern=r"^[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*$")]
"""Where something is found: ``"package.module:Name"``."""

Factory = Callable[..., Any] | Lazy
"""A callable, or where to find it."""

Options = type | Lazy | None
"""A `formalbench.Config`, or where to find it; None if there is nothing to set."""

Version = Annotated[int, Field(ge=0, strict=True)]

SomeNames = Annotated[tuple[str, ...], Field(min_length=1)]

LONGEST = 10_000_000
"""The longest string a split may ask for."""


@dataclass(frozen=True, slots=True)
class Splits:
    """Which string lengths a task trains on and which it is tested on (both ends included).

    Attributes:
        train: the shortest and the longest.
        test: the shortest and the longest.
        step: 1 for every length within, 2 for every second one from the shortest on, …
    """

    train: tuple[int, int] = (1, 40)
    test: tuple[int, int] = (41, 500)
    step: int = 1

    def __post_init__(self) -> None:
        for first, last in (self.train, self.test):
            if not 0 <= first <= last <= LONGEST:
                raise ValueError(f"splits: {first} to {last}: lengths go from 0 to {LONGEST}")
        if self.step < 1:
            raise ValueError(f"splits: step {self.step}: must be at least 1")

    @property
    def overlap(self) -> tuple[int, int] | None:
        """The least and the greatest length that is within both; None if none is."""
        first = max(self.train[0], self.test[0])
        last = min(self.train[1], self.test[1])
        return (first, last) if first <= last else None


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """A source of strings, announced: a language, a string function.

    Attributes:
        name: lower case with hyphens; may hold integer fields, as in ``dyck-{k}-{D}``.
        version: raise it whenever a symbol of any test set could change.
        summary: one line for listings.
        factory: called as ``factory(config, **fields)`` with the fields of its name, without the
            config if it has none; returns a `formalbench.Source`, as a `formalbench.Language`.
        objectives: the supported objectives; the first is the default.
        splits: lengths for training and testing, unless the source states its own.
        config: the class of its options, which `--set task.key=value` changes.
        defaults: options of this one that differ from the config's own defaults.
        reference: the paper, section or equation that defines it.
        shortcuts: by full name, the accuracy (0 to 1) at `classify`, options as they are, of the
            best classifier known that sees no order: ends, counts, pairs of neighbours.
        theory: its classes of languages; None to compute them from its automaton when needed.
        keywords: other names and topics, such as ``state tracking``. Searches find them, and an
            unknown name that equals one suggests this task.
    """

    name: str
    version: Version
    summary: str
    factory: Factory
    objectives: SomeNames = ("classify",)
    splits: Splits = field(default_factory=Splits)
    config: Options = None
    defaults: Mapping[str, Value] = field(default_factory=dict)
    reference: str = ""
    shortcuts: Mapping[str, float] = field(default_factory=dict)
    theory: Theory | None = None
    keywords: tuple[Annotated[str, Field(min_length=1)], ...] = ()


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model, announced.

    Attributes:
        name: lower case with hyphens; may hold integer fields, as in ``yao-hard-{k}-{D}``.
        version: raise it whenever a run's numbers could change.
        summary: one line for listings.
        factory: called as ``factory(task, config, **fields)`` with a `formalbench.Task` and the
            fields of its name, without the config if it has none; returns a network or a backbone
            (`formalbench.contracts.network`).
        kind: ``learned`` (trained by the protocol) or ``exact`` (a construction).
        config: the class of the family's options, which `--set model.key=value` changes.
        defaults: options of this one that differ from the config's own defaults.
        objectives: the objectives its networks can answer; empty for all whose layout it does.
        reference: the paper, section or equation that defines it.
        task: for an exact model, the task it was made for; may hold the fields of its
            name, as in ``dyck-{k}-{D}``.
        by_name: whether ``--model all`` leaves it out, as for a paper's network with the size and
            the tasks of the paper.
        family: the architecture that it belongs to, trained or built by hand, such as
            ``transformer``. Maps show a family together. Empty if it is its own family.
    """

    name: str
    version: Version
    summary: str
    factory: Factory
    config: Options = None
    defaults: Mapping[str, Value] = field(default_factory=dict)
    kind: Literal["learned", "exact"] = "learned"
    objectives: tuple[str, ...] = ()
    reference: str = ""
    task: str = ""
    by_name: bool = False
    family: str = ""


@dataclass(frozen=True, slots=True)
class SuiteSpec:
    """A named list of tasks, and the protocol it is meant for.

    Attributes:
        name: lower case with hyphens.
        version: raise it whenever the list changes.
        summary: one line for listings.
        tasks: task names as on the command line (``parity``, ``parity:tag``).
        protocol: the protocol's name; empty for the default of the device.
        reference: where the list comes from.
    """

    name: str
    version: Version
    summary: str
    tasks: SomeNames
    protocol: str = ""
    reference: str = ""


@dataclass(frozen=True, slots=True)
class ProtocolSpec:
    """Announces a protocol's YAML file, which is read and checked when it is used.

    Attributes:
        name: lower case with hyphens, as in the file.
        summary: one line for listings.
        path: the YAML file (`formalbench.contracts.protocol.Protocol` says what is in it).
        earlier: the files of earlier versions whose records still count, each version on a board
            of its own. Records of any other version are stale.
    """

    name: str
    summary: str
    path: Path
    earlier: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class ObjectiveSpec:
    """An objective, announced.

    Attributes:
        name: lower case with hyphens, as in ``parity:tag``.
        summary: one line for listings.
        factory: called without arguments; returns a `formalbench.Objective`.
        reference: where it comes from.
        version: raise it whenever its numbers could change.
        metrics: metrics of other plugins that its `metrics()` returns; used only in listings.
    """

    name: str
    summary: str
    factory: Factory
    reference: str = ""
    version: Version = 1
    metrics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """A metric, announced.

    Attributes:
        name: lower case with hyphens.
        version: raise it whenever its numbers could change.
        summary: one line for listings.
        factory: called without arguments; returns a `formalbench.Metric`. It is not called if the
            metric has no `objectives`.
        objectives: objectives that this metric is added to.
        named_by: objectives whose `metrics()` already return it; used only in listings.
    """

    name: str
    version: Version
    summary: str
    factory: Factory
    objectives: tuple[str, ...]
    named_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProbeSpec:
    """Something to read off a network's trace, announced.

    Attributes:
        name: lower case with hyphens.
        summary: one line for listings.
        factory: a function of a trace; returns a series for every place it found.
    """

    name: str
    summary: str
    factory: Factory


@dataclass(frozen=True, slots=True)
class OptimiserSpec:
    """An optimiser, announced; a protocol names it under ``optimiser``.

    Attributes:
        name: lower case with hyphens.
        summary: one line for listings.
        factory: called with its config; returns a `formalbench.Optimiser`.
        config: the class of its options.
        reference: the paper that defines it.
        version: raise it whenever its numbers could change.
    """

    name: str
    summary: str
    factory: Factory
    config: Options = None
    reference: str = ""
    version: Version = 1


@dataclass(frozen=True, slots=True)
class ScheduleSpec:
    """A schedule of the learning rate, announced; a protocol names it under ``schedule``.

    Attributes:
        name: lower case with hyphens.
        summary: one line for listings.
        factory: called with its config; returns a `formalbench.Schedule`.
        config: the class of its options.
        version: raise it whenever its numbers could change.
    """

    name: str
    summary: str
    factory: Factory
    config: Options = None
    version: Version = 1


@dataclass(frozen=True, slots=True)
class SamplerSpec:
    """A sampler of training strings, announced; a protocol names it as ``curriculum.kind``.

    Attributes:
        name: lower case with hyphens.
        summary: one line for listings.
        factory: called with its config, if it has one; returns a `formalbench.Sampler`.
        config: the class of its options.
        reference: where it comes from.
        version: raise it whenever what it draws could change.
    """

    name: str
    summary: str
    factory: Factory
    config: Options = None
    reference: str = ""
    version: Version = 1


@dataclass(frozen=True, slots=True)
class PenaltySpec:
    """A penalty, announced; a protocol names it, with a weight, under ``penalties``.

    Attributes:
        name: lower case with hyphens.
        summary: one line for listings.
        factory: called without arguments; returns a `formalbench.Penalty`.
        reference: the paper that defines it.
        version: raise it whenever its numbers could change.
    """

    name: str
    summary: str
    factory: Factory
    reference: str = ""
    version: Version = 1


@dataclass(frozen=True, slots=True)
class ExecutorSpec:
    """Something that carries units of work out, announced; ``--executor`` names it.

    Attributes:
        name: lower case with hyphens.
        summary: one line for listings.
        factory: called with a `formalbench.Workplace` and its config, if it has one; returns a
            `concurrent.futures.Executor`.
        config: the class of its options, which `--set executor.key=value` changes.
        workplace: of one that works on other machines: called with its config, returns the
            `formalbench.Workplace` that units get unless the user says otherwise.
    """

    name: str
    summary: str
    factory: Factory
    config: Options = None
    workplace: Factory | None = None


@dataclass(frozen=True, slots=True)
class TrackerSpec:
    """Something that keeps the numbers of runs elsewhere, announced; ``--tracker`` names it.

    Attributes:
        name: lower case with hyphens.
        summary: one line for listings.
        factory: called with its config, if it has one; returns an observer, an object whose
            methods are marked `formalbench.hookimpl`. Its `close()`, if there is one, is called
            when the session ends, however it ends. What it lacks, as a package, it says in a
            `formalbench.RequestError`.
        config: the class of its options, which `--set tracker.key=value` changes.
    """

    name: str
    summary: str
    factory: Factory
    config: Options = None


@dataclass(frozen=True, slots=True)
class TableSpec:
    """Announces numbers of a paper. Boards show them in tables of published numbers.

    Attributes:
        name: lower case with hyphens; the table's key in its file.
        summary: one line for listings.
        path: the YAML file (`formalbench.contracts.published.PublishedFile` says what is in it).
    """

    name: str
    summary: str
    path: Path


@dataclass(frozen=True, slots=True)
class ReproductionSpec:
    """A figure or table of a paper that ``formalbench reproduce`` reproduces.

    Attributes:
        name: lower case with hyphens, as on the command line and in the names of its files.
        summary: what is reproduced; the title of its page.
        reference: the paper, and where in it.
        factory: measures it and checks the claims: called with the bench of ``formalbench
            reproduce``, returns its findings.
        about: what the figure or table shows, in a paragraph.
        reduced: what is less at the scale ``quick`` than at ``paper``; a sentence or two.
        core_hours: how long one CPU core takes, at the scales ``quick`` and ``paper``; None where
            that is not known.
        figure: whether it draws one.
        inside: whether it looks into the networks, so that records alone do not give its numbers.
    """

    name: str
    summary: str
    reference: str
    factory: Factory
    about: str = ""
    reduced: str = ""
    core_hours: tuple[float | None, float | None] = (None, None)
    figure: bool = True
    inside: bool = False


Spec = (
    TaskSpec
    | ModelSpec
    | SuiteSpec
    | ProtocolSpec
    | ObjectiveSpec
    | MetricSpec
    | ProbeSpec
    | OptimiserSpec
    | ScheduleSpec
    | SamplerSpec
    | PenaltySpec
    | ExecutorSpec
    | TrackerSpec
    | TableSpec
    | ReproductionSpec
)


def display(name: str, options: Mapping[str, Value]) -> str:
    """Return a name with the options set, as people see it: ``regulargpt[chunk=3]``."""
    if not options:
        return name
    pairs = ", ".join(f"{key}={show_value(value)}" for key, value in sorted(options.items()))
    return f"{name}[{pairs}]"


def show_value(value: Value | Sequence[Value]) -> str:
    """Return an option's value, or a list of them, as `--set` takes it."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ",".join(map(show_value, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
