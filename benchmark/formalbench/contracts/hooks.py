"""The hooks a plugin can implement (pluggy, project name ``formalbench``).

A plugin is a module (or object) with functions marked ``@formalbench.hookimpl``, found
through the entry-point group ``formalbench`` or named with ``--plugin PATH``.
Implementations may leave out arguments they do not need.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pluggy

from formalbench.contracts.specs import ModelSpec, ProtocolSpec, SuiteSpec, TaskSpec

if TYPE_CHECKING:
    import typer

    from formalbench.contracts.record import Record

hookspec = pluggy.HookspecMarker("formalbench")
hookimpl = pluggy.HookimplMarker("formalbench")


@dataclass(frozen=True, slots=True)
class RunInfo:
    """One run, as observers hear of it.

    Attributes:
        run_id: the run's identity.
        model: the model's name and the options set, as in ``regulargpt[chunk=3]``.
        task: the task's full name and the options set.
        protocol: the protocol's name.
        learning_rate: None for an exact model.
        seed: 0, 1, …
        steps: the most steps it may train.
    """

    run_id: str
    model: str
    task: str
    protocol: str
    learning_rate: float | None
    seed: int
    steps: int


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is.

    Attributes:
        phase: ``train`` or ``test``.
        step: optimiser steps taken.
        stage: the longest string length in training now.
        error: the share of wrong answers in training since the last report, if known.
        validation: the share of right answers in the latest validation, if any.
    """

    phase: str
    step: int
    stage: int
    error: float | None = None
    validation: float | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """One call of ``run``, as observers hear of it at its end.

    Attributes:
        results: the folder the records are in.
        quiet: whether standard output belongs to someone else (``--json``).
    """

    results: Path
    quiet: bool


@hookspec
def formalbench_tasks() -> Iterable[TaskSpec]:
    """Announce languages.

    Example:
        >>> @hookimpl
        ... def formalbench_tasks():
        ...     yield TaskSpec(
        ...         name="majority", version=1, summary="more 1s than 0s",
        ...         factory="my_package.majority:Majority",
        ...     )
    """
    raise NotImplementedError


@hookspec
def formalbench_models() -> Iterable[ModelSpec]:
    """Announce models.

    Example:
        >>> @hookimpl
        ... def formalbench_models():
        ...     yield ModelSpec(
        ...         name="bag", version=1, summary="mean of embeddings",
        ...         factory="my_package.bag:Bag", objectives=("classify",),
        ...         options={"width": Option(64, "embedding size", minimum=1)},
        ...     )
    """
    raise NotImplementedError


@hookspec
def formalbench_suites() -> Iterable[SuiteSpec]:
    """Announce suites.

    Example:
        >>> @hookimpl
        ... def formalbench_suites():
        ...     yield SuiteSpec(
        ...         name="star-free", version=1, summary="star-free languages only",
        ...         tasks=("first", "tomita-1", "tomita-4"),
        ...     )
    """
    raise NotImplementedError


@hookspec
def formalbench_protocols() -> Iterable[ProtocolSpec]:
    """Announce protocols.

    Example:
        >>> @hookimpl
        ... def formalbench_protocols():
        ...     path = Path(__file__).with_name("tiny.yaml")
        ...     yield ProtocolSpec(name="tiny", summary="a smoke test", path=path)
    """
    raise NotImplementedError


@hookspec(firstresult=True)
def formalbench_read_yaml(path: Path, data: Mapping[str, Any]) -> TaskSpec | None:
    """Turn a YAML file given with ``--plugin`` into a task, or return None to pass.

    The engine reads the file safely and keeps protocols and suites to itself; it
    raises `RequestError` if nobody takes the file.

    Example:
        >>> @hookimpl
        ... def formalbench_read_yaml(path, data):
        ...     if "grammar" in data:
        ...         return TaskSpec(name=data["name"], version=1, summary="a grammar",
        ...                         factory=lambda: Grammar(data["grammar"]))
    """
    raise NotImplementedError


@hookspec
def formalbench_commands(app: typer.Typer) -> None:
    """Add commands to the command line.

    Import what is heavy inside the commands: this runs for ``formalbench --help``.

    Example:
        >>> @hookimpl
        ... def formalbench_commands(app):
        ...     @app.command()
        ...     def hello() -> None:
        ...         "Say hello."
        ...         print("hello")
    """
    raise NotImplementedError


@hookspec
def formalbench_run_started(run: RunInfo) -> None:
    """Hear that a run begins to train.

    Example:
        >>> @hookimpl
        ... def formalbench_run_started(run):
        ...     tracker.start(run.run_id, name=f"{run.model} on {run.task}")
    """
    raise NotImplementedError


@hookspec
def formalbench_run_progress(run: RunInfo, progress: Progress) -> None:
    """Hear how far a run is, at each of its evaluations.

    Example:
        >>> @hookimpl
        ... def formalbench_run_progress(run, progress):
        ...     tracker.log(run.run_id, step=progress.step, error=progress.error)
    """
    raise NotImplementedError


@hookspec
def formalbench_run_finished(run: RunInfo, record: Record) -> None:
    """Hear that a run's record is on disk, whatever its status.

    Example:
        >>> @hookimpl
        ... def formalbench_run_finished(run, record):
        ...     tracker.finish(run.run_id, status=record.status)
    """
    raise NotImplementedError


@hookspec
def formalbench_session_finished(session: Session, records: Sequence[Record]) -> None:
    """Hear that everything asked for is done: one record per run of the request.

    Records of runs that an earlier session finished are among them.

    Example:
        >>> @hookimpl
        ... def formalbench_session_finished(records):
        ...     print(len(records), "records")
    """
    raise NotImplementedError
