"""The hooks of a plugin, and what observers and executors get.

A plugin is a module (or object) with functions marked ``@formalbench.hookimpl``, found
through the entry-point group ``formalbench`` or named with ``--plugin PATH``.
Implementations may leave out arguments they do not need.
"""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pluggy

from formalbench.contracts.specs import (
    ExecutorSpec,
    MetricSpec,
    ModelSpec,
    ObjectiveSpec,
    OptimiserSpec,
    PenaltySpec,
    ProbeSpec,
    ProtocolSpec,
    ReproductionSpec,
    SamplerSpec,
    ScheduleSpec,
    SuiteSpec,
    TableSpec,
    TaskSpec,
    TrackerSpec,
)

if TYPE_CHECKING:
    import typer

    from formalbench.contracts.published import PublishedTable
    from formalbench.contracts.record import Record


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where units are worked on, and how many at a time.

    Attributes:
        devices: of this machine, ``cpu`` or ``cuda:i``; of several, each unit gets one. ``cuda``
            for the GPU that another machine gives a unit.
        jobs: how many units are handed over at a time.
        store: the folder that records go to; None where there is none.
    """

    devices: tuple[str, ...] = ("cpu",)
    jobs: int = 1
    store: Path | None = None

    @property
    def device(self) -> str:
        """The device of a unit; ``cuda`` for the GPU of its process."""
        return self.devices[0] if len(self.devices) == 1 else "cuda"


class DetachedExecutor(Executor):
    """An executor whose units continue when the process that submitted them ends.

    A repeated request finds them again: a run has the same name in every process
    (`formalbench.running.units.Unit.names`).

    Attributes:
        cancel_command: what a user may type to end what `detach` left; empty for nothing.
    """

    cancel_command: str = ""

    @abstractmethod
    def holder(self, run: str) -> str | None:
        """Return the job that has a run or will run it; None if there is none."""

    @abstractmethod
    def progress_file(self, runs: Sequence[str]) -> Path:
        """Return the file with the progress of a unit's runs."""

    @abstractmethod
    def detach(self) -> int:
        """Follow nothing any more; return how many units live on."""


hookspec = pluggy.HookspecMarker("formalbench")

hookimpl = pluggy.HookimplMarker("formalbench")
"""Marks a function of a plugin as its implementation of the hook of that name."""


@dataclass(frozen=True, slots=True)
class RunInfo:
    """One run, as observers hear of it.

    Attributes:
        train_id: what decides its weights, as a hash.
        test_id: that, and what decides its testing.
        model: the model's name and the options set, as in ``regulargpt[chunk=3]``.
        task: the task's full name and the options set.
        protocol: the protocol's name.
        learning_rate: None for an exact model.
        seed: 0, 1, …
        steps: the most steps it may train.
    """

    train_id: str
    test_id: str
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
        metrics: numbers by name: ``train/loss`` (nats per answer, the mean since the last
            report), ``train/error`` (the share of strings that are wrong),
            ``train/tokens-per-second`` (of this run, in the same time) and, where they are known,
            ``validation/NAME`` for each metric of the latest validation.
    """

    phase: str
    step: int
    stage: int
    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Session:
    """One call of ``run``, as observers hear of it.

    Attributes:
        results: the folder the records are in.
        quiet: whether standard output belongs to someone else (``--json``).
        runs: how many runs were asked for.
        todo: how many have no record yet; runs at a fallback rate are counted only once they are
            needed.
        plugins: the local plugins that are loaded.
        published: numbers from papers, as plugins announced them.
    """

    results: Path
    quiet: bool = False
    runs: int = 0
    todo: int = 0
    plugins: tuple[Path, ...] = ()
    published: tuple[PublishedTable, ...] = ()


@hookspec
def formalbench_tasks() -> Iterable[TaskSpec]:
    """Announce languages.

    Example:
        >>> @hookimpl
        ... def formalbench_tasks():
        ...     yield TaskSpec(
        ...         name="more-ones", version=1, summary="more 1s than 0s",
        ...         factory="my_package.more_ones:MoreOnes",
        ...     )
    """


@hookspec
def formalbench_models() -> Iterable[ModelSpec]:
    """Announce models.

    Example:
        >>> @hookimpl
        ... def formalbench_models():
        ...     yield ModelSpec(
        ...         name="bag", version=1, summary="mean of embeddings",
        ...         factory="my_package.bag:Bag", config="my_package.config:BagConfig",
        ...     )
    """


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


@hookspec
def formalbench_protocols() -> Iterable[ProtocolSpec]:
    """Announce protocols.

    Example:
        >>> @hookimpl
        ... def formalbench_protocols():
        ...     path = Path(__file__).with_name("tiny.yaml")
        ...     yield ProtocolSpec(name="tiny", summary="a smoke test", path=path)
    """


@hookspec
def formalbench_objectives() -> Iterable[ObjectiveSpec]:
    """Announce objectives.

    Example:
        >>> @hookimpl
        ... def formalbench_objectives():
        ...     yield ObjectiveSpec("masked-symbol", "which symbol stood here?", MaskedSymbol)
    """


@hookspec
def formalbench_metrics() -> Iterable[MetricSpec]:
    """Announce metrics that are measured beside an objective's own.

    Example:
        >>> @hookimpl
        ... def formalbench_metrics():
        ...     yield MetricSpec("calibration", 1, "how sure it is", Calibration, ("classify",))
    """


@hookspec
def formalbench_probes() -> Iterable[ProbeSpec]:
    """Announce probes, which a protocol's ``watch`` can name.

    Example:
        >>> @hookimpl
        ... def formalbench_probes():
        ...     yield ProbeSpec("norm", "of the topmost state", read_norm)
    """


@hookspec
def formalbench_optimisers() -> Iterable[OptimiserSpec]:
    """Announce optimisers, which a protocol's ``optimiser`` can name.

    Example:
        >>> @hookimpl
        ... def formalbench_optimisers():
        ...     yield OptimiserSpec("lars", "by matrix", Lars, config=LarsConfig)
    """


@hookspec
def formalbench_schedules() -> Iterable[ScheduleSpec]:
    """Announce schedules of the learning rate, which a protocol's ``schedule`` can name.

    Example:
        >>> @hookimpl
        ... def formalbench_schedules():
        ...     yield ScheduleSpec("triangle", "up and down", Triangle, config=TriangleConfig)
    """


@hookspec
def formalbench_samplers() -> Iterable[SamplerSpec]:
    """Announce samplers, which a protocol's ``curriculum.kind`` can name.

    Example:
        >>> @hookimpl
        ... def formalbench_samplers():
        ...     yield SamplerSpec("long-first", "longer strings more often", LongFirst)
    """


@hookspec
def formalbench_penalties() -> Iterable[PenaltySpec]:
    """Announce penalties, which a protocol can name under ``penalties``.

    Example:
        >>> @hookimpl
        ... def formalbench_penalties():
        ...     yield PenaltySpec("sure", "squares of the logits", SquaredLogits)
    """


@hookspec
def formalbench_executors() -> Iterable[ExecutorSpec]:
    """Announce executors, which ``--executor`` can name.

    Example:
        >>> @hookimpl
        ... def formalbench_executors():
        ...     yield ExecutorSpec("threads", "threads of this process", make_pool)
    """


@hookspec
def formalbench_trackers() -> Iterable[TrackerSpec]:
    """Announce trackers, which ``--tracker`` can name.

    Example:
        >>> @hookimpl
        ... def formalbench_trackers():
        ...     yield TrackerSpec("csv", "every number, in a file", CsvTracker, config=CsvConfig)
    """


@hookspec
def formalbench_tables() -> Iterable[TableSpec]:
    """Announce numbers from papers, which boards show beside measured ones.

    Example:
        >>> @hookimpl
        ... def formalbench_tables():
        ...     path = Path(__file__).with_name("published.yaml")
        ...     yield TableSpec("nobody-2026-table-1", "a new network on PARITY", path)
    """


@hookspec
def formalbench_reproductions() -> Iterable[ReproductionSpec]:
    """Announce figures and tables of papers that ``formalbench reproduce`` reproduces.

    Example:
        >>> @hookimpl
        ... def formalbench_reproductions():
        ...     yield ReproductionSpec(
        ...         name="nobody-table-1", summary="A new network on PARITY",
        ...         reference="Nobody (2026), Table 1", factory="my_package.table_1:carry_out",
        ...         about="Accuracy at lengths 41 to 500.", figure=False,
        ...     )
    """


@hookspec
def formalbench_check_repository(repository: Path, host: Any) -> Iterable[str]:
    """Return the problems of the files that a plugin keeps in a clone of the repository.

    ``formalbench leaderboard check`` prints them with its own.

    Args:
        repository: the clone's root.
        host: the plugins (`formalbench.host.PluginHost`).

    Returns:
        One line for each problem; it begins with the file.

    Example:
        >>> @hookimpl
        ... def formalbench_check_repository(repository):
        ...     for file in (repository / "leaderboard" / "videos").glob("*.avi"):
        ...         yield f"{file}: no board shows videos"
    """


@hookspec(firstresult=True)
def formalbench_read_file(path: Path) -> TaskSpec | None:
    """Turn a file given with ``--plugin`` into a task, or return None to pass.

    It is called for files that are not Python; the engine reads protocols and suites (YAML)
    itself. `formalbench.read_yaml` reads YAML safely. If no plugin accepts the file, the engine
    raises `RequestError`.

    Example:
        >>> @hookimpl
        ... def formalbench_read_file(path):
        ...     if path.suffix == ".grammar":
        ...         return TaskSpec(name=path.stem, version=1, summary="a grammar",
        ...                         factory=lambda: Grammar(path.read_text()))
    """


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


@hookspec
def formalbench_run_started(run: RunInfo) -> None:
    """Hear that a run begins to train.

    Example:
        >>> @hookimpl
        ... def formalbench_run_started(run):
        ...     tracker.start(run.train_id, name=f"{run.model} on {run.task}")
    """


@hookspec
def formalbench_run_progress(run: RunInfo, progress: Progress) -> None:
    """Hear how far a run is, at each of its evaluations.

    Example:
        >>> @hookimpl
        ... def formalbench_run_progress(run, progress):
        ...     tracker.log(run.train_id, progress.step, progress.metrics)
    """


@hookspec
def formalbench_run_finished(run: RunInfo, record: Record) -> None:
    """Called when a run's record is on disk, with any status.

    Example:
        >>> @hookimpl
        ... def formalbench_run_finished(run, record):
        ...     tracker.finish(run.train_id, status=record.status)
    """


@hookspec
def formalbench_session_started(session: Session) -> None:
    """Hear that a session begins, and how much it has to do.

    Example:
        >>> @hookimpl
        ... def formalbench_session_started(session):
        ...     print(session.todo, "of", session.runs, "runs to do")
    """


@hookspec
def formalbench_session_finished(session: Session, records: Sequence[Record]) -> None:
    """Called when all runs of a request are done, with one record per run.

    Records of runs that an earlier session finished are among them.

    Example:
        >>> @hookimpl
        ... def formalbench_session_finished(records):
        ...     print(len(records), "records")
    """
