"""A unit of work: a cohort, as a worker process is told of it, and what it does with it."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from formalbench.contracts.errors import FormalbenchError
from formalbench.contracts.hooks import Progress
from formalbench.host import PluginHost
from formalbench.plan import Run

if TYPE_CHECKING:
    import torch

    from formalbench.contracts.record import Record, Status
    from formalbench.contracts.task import Task
    from formalbench.evaluation.cells import CellSet
    from formalbench.evaluation.evaluate import CellScore
    from formalbench.training.trainer import Trained

ReportRun = Callable[[str, Progress], None]
"""Called with a run's identity and how far it is."""

MAX_BITS_ENTRIES = 64


@dataclass(frozen=True)
class Unit:
    """A cohort of runs as plain data: names, parameters and a device; no objects.

    Attributes:
        runs: they differ in learning rate and seed only.
        device: ``cpu`` or ``cuda:i``.
    """

    runs: tuple[Run, ...]
    device: str


def do_unit(host: PluginHost, unit: Unit, report: ReportRun) -> list[Record]:
    """Train and test the runs of a unit; every run becomes a record, whatever happens to it.

    Args:
        host: the plugins, as loaded in this process.
        unit: what to do.
        report: told of progress.
    """
    import torch

    device = torch.device(unit.device)
    if device.type == "cpu":
        # Networks this small gain nothing from more threads, lose much when cores are
        # shared, and would round differently on a machine with other cores.
        torch.set_num_threads(1)
    else:
        torch.cuda.reset_peak_memory_stats(device)
    return [_do_run(host, run, device, report) for run in unit.runs]


def _do_run(host: PluginHost, run: Run, device: torch.device, report: ReportRun) -> Record:
    try:
        return _run(host, run, device, report)
    except Exception as error:  # noqa: BLE001  # a model's code can raise anything
        status, message = _judge(error)
        return make_record(run, str(device), status, message)


def _judge(error: Exception) -> tuple[Status, str]:
    """Return the status and the line that tell of an exception in a run."""
    import torch

    from formalbench.evaluation.evaluate import NotFiniteError

    text = " ".join(f"{type(error).__name__}: {error}".split())
    if isinstance(error, FormalbenchError):
        lines = str(error).strip().splitlines()
        text = f"{lines[0]}: {lines[-1]}" if len(lines) > 1 else lines[0]
    if isinstance(error, NotFiniteError):
        return "diverged", text[:500]
    out_of_memory = isinstance(error, MemoryError | torch.cuda.OutOfMemoryError)
    if out_of_memory or "can't allocate memory" in text:
        return "out-of-memory", text[:500]
    return "error", text[:500]


def _run(host: PluginHost, run: Run, device: torch.device, report: ReportRun) -> Record:
    import torch

    from formalbench.evaluation.evaluate import evaluate
    from formalbench.training.control import Member
    from formalbench.training.trainer import Cohort, train_cohort

    task = _task(host, run)
    trained: Trained | None = None
    if run.learning_rate is None:
        network = host.network(run.model.name, task, run.model.options).to(device)
    else:
        member = Member(run.learning_rate, run.seed, lambda p: report(run.run_id, p))
        cohort = Cohort(
            build=lambda: host.network(run.model.name, task, run.model.options),
            task=task,
            protocol=run.protocol,
            members=[member],
            device=device,
        )
        trained = train_cohort(cohort)[0]
        network = trained.network
    parameters = sum(parameter.numel() for parameter in network.parameters())
    if trained and trained.status != "finished":
        return make_record(run, str(device), trained.status, "", parameters, trained)
    steps, stage = (trained.steps, trained.stage) if trained else (0, 0)
    report(run.run_id, Progress("test", steps, stage))
    start = time.perf_counter()
    cells = _test_set(task, run)
    with torch.inference_mode():
        scores = evaluate(network, task.objective, cells, device)
    tested = _tested(task, cells, scores, time.perf_counter() - start)
    return make_record(run, str(device), "finished", "", parameters, trained, tested)


def _task(host: PluginHost, run: Run) -> Task:
    task: Task = _build_task(host, run.task.name, tuple(sorted(run.task.options.items())))
    return task


@lru_cache(maxsize=8)
def _build_task(host: PluginHost, name: str, options: tuple[tuple[str, Any], ...]) -> Any:
    return host.task(name, dict(options))


_SETS: dict[str, CellSet] = {}


def _test_set(task: Task, run: Run) -> CellSet:
    """Return the task's test set; the last one is kept, since seeds share it."""
    from formalbench.evaluation.cells import test_set

    key = f"{task.name} {dict(task.parameters)} {run.protocol.test}"
    if key not in _SETS:
        _SETS.clear()
        _SETS[key] = test_set(task, run.protocol)
    return _SETS[key]


def _tested(task: Task, cells: CellSet, scores: list[CellScore], seconds: float) -> Any:
    from formalbench.cache import cached
    from formalbench.contracts.record import Cells, Tested

    lengths = [score.length for score in scores]
    window = -(-len(scores) // MAX_BITS_ENTRIES)
    groups = [scores[i : i + window] for i in range(0, len(scores), window)]

    def compute() -> list[float]:
        chance = task.chance(lengths)
        return [chance.constant, chance.length_only]

    # A local plugin may change without changing its version, so only its test set names it.
    constant, length_only = cached(["chance", task.name, cells.fingerprint], compute)
    return Tested(
        metric=task.objective.metric,
        fingerprint=cells.fingerprint,
        chance_constant=constant,
        chance_length=length_only,
        seconds=round(seconds, 3),
        cells=Cells(
            length=tuple(lengths),
            strings=tuple(score.strings for score in scores),
            correct=tuple(score.correct for score in scores),
            millibits=tuple(round(1000 * sum(s.bits for s in g) / len(g)) for g in groups),
            window=window,
        ),
    )


def make_record(
    run: Run,
    device: str,
    status: Status,
    message: str,
    parameters: int = 0,
    trained: Trained | None = None,
    tested: Any = None,
) -> Record:
    """Write down what came of a run."""
    from formalbench.contracts.record import SCHEMA_VERSION, Record, Selected, Training
    from formalbench.device import describe_environment

    training = selected = None
    if trained:
        training = Training(
            steps=trained.steps,
            ended=trained.ended,
            stage=trained.stage,
            strings=trained.strings,
            seconds=round(trained.seconds, 3),
            strings_per_second=round(trained.strings / max(trained.seconds, 1e-9), 1),
        )
    if trained and trained.best:
        best = trained.best
        selected = Selected(
            step=best.step, strings=best.strings, correct=best.correct, bits=round(best.bits, 6)
        )
    now = datetime.datetime.now(datetime.UTC)
    return Record(
        schema_version=SCHEMA_VERSION,
        run_id=run.run_id,
        status=status,
        message=message,
        model=run.model.model_copy(update={"parameters": parameters}),
        task=run.task,
        protocol=run.protocol,
        learning_rate=run.learning_rate,
        seed=run.seed,
        training=training,
        selected=selected,
        test=tested,
        environment=describe_environment(device),
        command=run.command[:500],
        date=now.strftime("%Y-%m-%dT%H:%M:%SZ"),
    )
