"""Specs: the static data by which a plugin announces what it provides, and their names.

A spec is cheap to create. Code that needs numpy, torch or time belongs to its factory, which is a
callable or a lazy ``"package.module:Name"``.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from formalbench.contracts.config import Value
from formalbench.contracts.errors import RequestError
from formalbench.contracts.theory import Theory

Lazy = Annotated[str, Field(pattern=r"^[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*$")]
"""Import path: ``"package.module:Name"``."""

Factory = Callable[..., Any] | Lazy
"""A callable or its import path."""

Options = type | Lazy | None
"""A `formalbench.Config` class or its import path; None if there are no options."""

Version = Annotated[int, Field(ge=0, strict=True)]

SomeNames = Annotated[tuple[str, ...], Field(min_length=1)]

LONGEST = 10_000_000
"""Maximum string length of a split."""


@dataclass(frozen=True, slots=True)
class Splits:
    """String lengths for training and testing (both ends included).

    Attributes:
        train: smallest and largest. test: smallest and largest. step: 1 for every length, 2 for
            every second length from the smallest on, …
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
        """Smallest and largest length in both splits; None if they do not overlap."""
        first = max(self.train[0], self.test[0])
        last = min(self.train[1], self.test[1])
        return (first, last) if first <= last else None


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """Announces a task's source: a language, a string function or texts.

    Attributes:
        name: lower case with hyphens; may hold integer fields, as in ``dyck-{k}-{D}``.
        version: raise it whenever a symbol of any test set could change.
        summary: one line for listings.
        factory: called as ``factory(config, **fields)`` with the fields of its name, without the
            config if it has none; returns a `formalbench.Source`, such as a `formalbench.Language`.
        objectives: the supported objectives; the first is the default.
        splits: lengths for training and testing, unless the source states its own.
        config: the class of its options, which `--set task.key=value` changes.
        defaults: options of this one that differ from the config's own defaults.
        reference: the paper, section or equation that defines it.
        shortcuts: by full name, the accuracy (0 to 1) of the best known order-blind classifier
            (ends, counts, pairs of neighbours) at `classify` with these options.
        theory: its language classes; None to compute them from its automaton when needed.
        keywords: other names and topics, such as ``state tracking``. Used by searches and by
            suggestions for unknown names.
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
    """Announces a model.

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
        objectives: the objectives its networks can answer; empty for all whose layout they support.
        reference: the paper, section or equation that defines it.
        task: for an exact model, the task it was made for; may hold the fields of its
            name, as in ``dyck-{k}-{D}``.
        by_name: whether ``--model all`` omits it, as for a paper's network with that paper's size
            and tasks.
        family: its architecture, such as ``transformer``; maps show a family together. Empty if it
            is its own family.
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
    """Announces a suite: a named list of tasks, with its protocol.

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
    """Announces an objective.

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
    """Announces a metric.

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
    """Announces a probe: values computed from a network's trace.

    Attributes:
        name: lower case with hyphens.
        summary: one line for listings.
        factory: a function of a trace; returns a series for every place.
    """

    name: str
    summary: str
    factory: Factory


@dataclass(frozen=True, slots=True)
class OptimiserSpec:
    """Announces an optimiser; a protocol names it under ``optimiser``.

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
    """Announces a learning-rate schedule; a protocol names it under ``schedule``.

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
    """Announces a sampler of training strings; a protocol names it as ``curriculum.kind``.

    Attributes:
        name: lower case with hyphens.
        summary: one line for listings.
        factory: called with its config, if it has one; returns a `formalbench.Sampler`.
        config: the class of its options.
        reference: where it comes from.
        version: raise it whenever its samples could change.
    """

    name: str
    summary: str
    factory: Factory
    config: Options = None
    reference: str = ""
    version: Version = 1


@dataclass(frozen=True, slots=True)
class PenaltySpec:
    """Announces a penalty; a protocol names it, with a weight, under ``penalties``.

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
    """Announces an executor of units of work; ``--executor`` names it.

    Attributes:
        name: lower case with hyphens.
        summary: one line for listings.
        factory: called with a `formalbench.Resources` and its config, if it has one; returns a
            `concurrent.futures.Executor`.
        config: the class of its options, which `--set executor.key=value` changes.
        resources: for executors on other machines: called with the config, returns the default
            `formalbench.Resources` of units.
        workplace: old name of `resources`, until version 0.5.
    """

    name: str
    summary: str
    factory: Factory
    config: Options = None
    resources: Factory | None = None
    workplace: InitVar[Factory | None] = None

    def __post_init__(self, workplace: Factory | None) -> None:
        if workplace is not None:
            text = "ExecutorSpec.workplace is now resources; version 0.5 will refuse the old name"
            warnings.warn(text, DeprecationWarning, stacklevel=3)
            object.__setattr__(self, "resources", workplace)


@dataclass(frozen=True, slots=True)
class TrackerSpec:
    """Announces a tracker, which stores numbers of runs elsewhere; ``--tracker`` names it.

    Attributes:
        name: lower case with hyphens.
        summary: one line for listings.
        factory: called with its config, if it has one; returns an observer, an object whose
            methods are marked `formalbench.hookimpl`. Its `close()`, if there is one, is always
            called when the session ends. It raises `formalbench.RequestError` if something is
            missing, such as a package.
        config: the class of its options, which `--set tracker.key=value` changes.
    """

    name: str
    summary: str
    factory: Factory
    config: Options = None


@dataclass(frozen=True, slots=True)
class TableSpec:
    """Announces numbers of a paper, which boards show in tables of published numbers.

    Attributes:
        name: lower case with hyphens; the table's key in its file.
        summary: one line for listings.
        path: the YAML file (`formalbench.contracts.paper_tables.PublishedFile` says what is in it).
    """

    name: str
    summary: str
    path: Path


@dataclass(frozen=True, slots=True)
class ReproductionSpec:
    """Announces a figure or table of a paper for ``formalbench reproduce``.

    Attributes:
        name: lower case with hyphens, as on the command line and in the names of its files.
        summary: what is reproduced; the title of its page.
        reference: the paper, with number of the figure or table.
        factory: called with the bench of ``formalbench reproduce``; measures, checks the claims and
            returns the findings.
        about: description of the figure or table, a paragraph.
        reduced: what the scale ``quick`` reduces; a sentence or two.
        core_hours: CPU core hours at the scales ``quick`` and ``paper``; None if unknown.
        figure: whether it draws one.
        inside: whether it measures inside networks, so that records alone are not enough.
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
    """Return a name with options, as displayed: ``regulargpt[chunk=3]``."""
    if not options:
        return name
    pairs = ", ".join(f"{key}={show_value(value)}" for key, value in sorted(options.items()))
    return f"{name}[{pairs}]"


def show_value(value: Value | Sequence[Value]) -> str:
    """Format an option's value, or a list of values, for `--set`."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ",".join(map(show_value, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


# Names, which may be patterns.

_FIELD = re.compile(r"\{([A-Za-z]\w*)\}")

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def check_name(name: str) -> None:
    """Check that a spec's name is lower case with hyphens (and fields).

    Raises:
        ValueError: if it is not.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(_FIELD.sub("0", name)) or len(name) > 64:
        raise ValueError(f"bad name {name!r}: lower case letters, digits and hyphens only")
    fields = _FIELD.findall(name)
    if len(set(fields)) < len(fields):
        raise ValueError(f"bad name {name!r}: a field occurs twice")


@lru_cache(maxsize=1024)
def _pattern(name: str) -> re.Pattern[str]:
    parts = _FIELD.split(name)
    # split() gives text, field, text, field, …
    text = "".join(
        f"(?P<{part}>0|[1-9][0-9]{{0,5}})" if index % 2 else re.escape(part)
        for index, part in enumerate(parts)
    )
    return re.compile(text)


def match_name(pattern: str, name: str) -> dict[str, int] | None:
    """Return the integer fields of `name` if it fits the pattern, else None.

    Example:
        >>> match_name("dyck-{k}-{D}", "dyck-2-3")
        {'k': 2, 'D': 3}
    """
    match = _pattern(pattern).fullmatch(name)
    return {key: int(value) for key, value in match.groupdict().items()} if match else None


def field_names(pattern: str) -> list[str]:
    """Return the names of a pattern's fields.

    Example:
        >>> field_names("dyck-{k}-{D}")
        ['k', 'D']
    """
    return _FIELD.findall(pattern)


def fill_fields(pattern: str, value: int) -> str:
    """Return the pattern's name in which every field is `value`.

    Example:
        >>> fill_fields("dyck-{k}-{D}", 2)
        'dyck-2-2'
    """
    return _FIELD.sub(str(value), pattern)


def split_task(name: str) -> tuple[str, str]:
    """Split ``language:objective``; the objective is empty if not given."""
    language, colon, objective = name.partition(":")
    if colon and not objective:
        raise RequestError(f"task {name!r} ends in a colon: name an objective, as in parity:tag")
    return language, objective
