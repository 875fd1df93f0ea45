"""Specs: the static data by which a plugin announces what it provides.

A spec costs nothing to make. Whatever needs numpy, torch or time sits behind
its factory, which may be a callable or a lazy ``"package.module:Name"``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Value = bool | int | float | str
"""What an option can hold: it must survive JSON and a command line."""

Factory = Callable[..., Any] | str


@dataclass(frozen=True, slots=True)
class Option:
    """One thing that `--set` can change; its type is the type of its default.

    Attributes:
        default: the value used when nothing is set.
        help: one line for `formalbench show`.
        choices: the only values allowed, if not empty.
        minimum: the least number allowed, if given.
        maximum: the greatest number allowed, if given.
    """

    default: Value
    help: str
    choices: tuple[Value, ...] = ()
    minimum: float | None = None
    maximum: float | None = None


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


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """A language (or string function), announced.

    Attributes:
        name: lower case with hyphens; may hold integer fields, as in ``dyck-{k}-{D}``.
        version: raise it whenever a symbol of any test set could change.
        summary: one line for listings.
        factory: called with the name's fields and the options as keyword arguments;
            returns a `formalbench.contracts.language.Language`.
        objectives: what can be asked about it; the first is the default.
        splits: lengths for training and testing, unless the language states its own.
        options: what `--set task.key=value` can change.
        reference: the paper, section or equation that defines it.
    """

    name: str
    version: int
    summary: str
    factory: Factory
    objectives: tuple[str, ...] = ("classify",)
    splits: Splits = field(default_factory=Splits)
    options: Mapping[str, Option] = field(default_factory=dict)
    reference: str = ""


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model, announced.

    Attributes:
        name: lower case with hyphens; may hold integer fields, as in ``yao-hard-{k}-{D}``.
        version: raise it whenever a run's numbers could change.
        summary: one line for listings.
        factory: called as ``factory(task, **options)`` with a
            `formalbench.contracts.task.Task`; returns a network
            (`formalbench.contracts.network.Network`).
        kind: ``learned`` (trained by the protocol) or ``exact`` (a construction).
        objectives: the objectives its networks can answer.
        options: what `--set model.key=value` can change.
        reference: the paper, section or equation that defines it.
        task: for an exact model, the task it was made for; may hold the fields of its
            name, as in ``dyck-{k}-{D}``.
    """

    name: str
    version: int
    summary: str
    factory: Factory
    kind: Literal["learned", "exact"] = "learned"
    objectives: tuple[str, ...] = ("classify", "tag", "next-symbols", "generate")
    options: Mapping[str, Option] = field(default_factory=dict)
    reference: str = ""
    task: str = ""


@dataclass(frozen=True, slots=True)
class SuiteSpec:
    """A named list of tasks, and the protocol it is meant for.

    Attributes:
        name: lower case with hyphens.
        version: raise it whenever the list changes.
        summary: one line for listings.
        tasks: task names as on the command line (``parity``, ``parity:tag``).
        protocol: the protocol's name; empty for the default of the device at hand.
        reference: where the list comes from.
    """

    name: str
    version: int
    summary: str
    tasks: tuple[str, ...]
    protocol: str = ""
    reference: str = ""


@dataclass(frozen=True, slots=True)
class ProtocolSpec:
    """A protocol's YAML file, announced; the file is read and checked when it is asked for.

    Attributes:
        name: lower case with hyphens, as in the file.
        summary: one line for listings.
        path: the YAML file (`formalbench.contracts.protocol.Protocol` says what is in it).
        device: ``cpu`` or ``cuda`` if it is the default protocol for that device.
    """

    name: str
    summary: str
    path: Path
    device: Literal["cpu", "cuda", ""] = ""


Spec = TaskSpec | ModelSpec | SuiteSpec | ProtocolSpec


def display(name: str, options: Mapping[str, Value]) -> str:
    """Return a name with the options set, as people see it: ``regulargpt[chunk=3]``."""
    if not options:
        return name
    pairs = ", ".join(f"{key}={show_value(value)}" for key, value in sorted(options.items()))
    return f"{name}[{pairs}]"


def show_value(value: Value) -> str:
    """Return an option's value as `--set` takes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
