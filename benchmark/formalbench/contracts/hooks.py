"""Plugin hooks, and the data passed to observers and executors.

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

    from formalbench.contracts.record import Record
    from formalbench.host import PluginHost


@dataclass(frozen=True, slots=True)
class Resources:
    """Devices for units, and the number of parallel units.

    Attributes:
        devices: devices of this machine, ``cpu`` or ``cuda:i``; each unit gets one. ``cuda`` for
            the GPU that another machine assigns to a unit.
        jobs: maximum number of units submitted at a time.
        store: folder for records; None if there is none.
    """

    devices: tuple[str, ...] = ("cpu",)
    jobs: int = 1
    store: Path | None = None

    @property
    def device(self) -> str:
        """The device of a unit; ``cuda`` for the GPU of the unit's process."""
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
        """Return the job that runs or will run a run; None if there is none."""

    @abstractmethod
    def progress_file(self, runs: Sequence[str]) -> Path:
        """Return the progress file of a unit's runs."""

    @abstractmethod
    def detach(self) -> int:
        """Stop following all units; return the number of units that continue."""


hookspec = pluggy.HookspecMarker("formalbench")

hookimpl = pluggy.HookimplMarker("formalbench")
"""Marks a function of a plugin as its implementation of the hook of that name."""


@dataclass(frozen=True, slots=True)
class RunInfo:
    """Description of a run, passed to observers.

    Attributes:
        train_id: hash of everything that decides the weights.
        test_id: hash of `train_id` and everything that decides the test.
        model: name with changed options, as in ``regulargpt[chunk=3]``.
        task: full name with changed options.
        protocol: name.
        learning_rate: None for an exact model.
        seed: 0, 1, …
        steps: maximum number of steps.
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
    """Progress of a run.

    Attributes:
        phase: ``train`` or ``test``.
        step: optimiser steps taken.
        stage: current maximum string length in training.
        metrics: numbers by name: ``train/loss`` (nats per answer, the mean since the last
            report), ``train/error`` (share of wrong strings), ``train/tokens-per-second`` (of this
            run, in the same time) and, if known, ``validation/NAME`` for each metric of the latest
            validation.
    """

    phase: str
    step: int
    stage: int
    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Session:
    """Description of one call of ``run``, passed to observers.

    Attributes:
        results: folder of the records.
        host: the plugins (`formalbench.host.PluginHost`).
        quiet: whether standard output must stay free for other output (``--json``).
        runs: number of requested runs.
        todo: number of runs without a record; runs at a fallback rate count only when they are
            needed.
        plugins: loaded local plugins.
    """

    results: Path
    host: PluginHost
    quiet: bool = False
    runs: int = 0
    todo: int = 0
    plugins: tuple[Path, ...] = ()


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
    """Announce metrics that are measured in addition to an objective's own.

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
    """Announce numbers from papers; boards show them next to measured ones.

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
    """Return problems of a plugin's files in a clone of the repository.

    ``formalbench leaderboard check`` prints them.

    Args:
        repository: the clone's root.
        host: the plugins (`formalbench.host.PluginHost`).

    Returns:
        One line per problem, beginning with the file.

    Example:
        >>> @hookimpl
        ... def formalbench_check_repository(repository):
        ...     for file in (repository / "leaderboard" / "videos").glob("*.avi"):
        ...         yield f"{file}: no board shows videos"
    """


@hookspec(firstresult=True)
def formalbench_read_file(path: Path) -> TaskSpec | None:
    """Convert a file given with ``--plugin`` into a task, or return None.

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

    Import large packages inside the commands, because this hook runs for ``formalbench --help``.

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
    """Called when a run starts to train.

    Example:
        >>> @hookimpl
        ... def formalbench_run_started(run):
        ...     tracker.start(run.train_id, name=f"{run.model} on {run.task}")
    """


@hookspec
def formalbench_run_progress(run: RunInfo, progress: Progress) -> None:
    """Called at each evaluation of a run.

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
    """Called when a session begins.

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
