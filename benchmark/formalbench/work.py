"""A unit of work: a cohort, as a worker process is told of it, and what it does with it."""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from formalbench.contracts.errors import PLUGIN_FAILURES, FormalbenchError
from formalbench.contracts.hooks import Progress
from formalbench.host import PluginHost
from formalbench.plan import Run

if TYPE_CHECKING:
    import torch
    from torch import nn

    from formalbench.contracts.protocol import Protocol
    from formalbench.contracts.record import Record, Selected, Status, Tested, Training
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
        threads: CPU threads to train with. Networks this small gain little from more than
            one, lose much when cores are shared, and round differently.
        cores: how many batches to test at a time, each by one thread; it changes no result.
    """

    runs: tuple[Run, ...]
    device: str
    threads: int = 1
    cores: int = 1


class Outcome(NamedTuple):
    """What comes back of a run: its record, and the selected weights if that names any."""

    record: Record
    weights: bytes | None = None


def do_unit(host: PluginHost, unit: Unit, report: ReportRun) -> list[Outcome]:
    """Train and test the runs of a unit; every run becomes a record, whatever happens to it.

    Args:
        host: the plugins, as loaded in this process.
        unit: what to do.
        report: told of progress.
    """
    import torch

    from formalbench.device import keep_freed_memory

    device = torch.device(unit.device)
    threads = torch.get_num_threads()
    if device.type == "cpu":
        torch.set_num_threads(unit.threads)
        keep_freed_memory()
    else:
        torch.cuda.reset_peak_memory_stats(device)
    results = [RunResult(run, str(device)) for run in unit.runs]
    try:
        _train(host, results, report)
        for result in results:
            if result.status == "finished":
                _test(host, result, unit.cores, report)
        return [result.outcome() for result in results]
    finally:
        torch.set_num_threads(threads)


def _train(host: PluginHost, results: Sequence[RunResult], report: ReportRun) -> None:
    """Train runs together; if that fails, in halves, until only the guilty one fails.

    A cohort larger than was foreseen for the device's memory is thus halved until it fits.
    """
    try:
        _train_together(host, results, report)
    except PLUGIN_FAILURES as error:
        if len(results) == 1:
            results[0].status, results[0].message = _judge(error)
            return
        half = len(results) // 2
        _train(host, results[:half], report)
        _train(host, results[half:], report)


def _judge(error: BaseException) -> tuple[Status, str]:
    """Return the status and the line that tell of an exception in a run."""
    import torch

    from formalbench.evaluation.evaluate import NotFiniteError

    lines = [f"{type(error).__name__}: {error}"]
    if isinstance(error, FormalbenchError):
        lines = str(error).strip().splitlines()
        lines = [lines[0], lines[-1]] if len(lines) > 1 else lines
    text = " ".join(": ".join(lines).split())
    text = text.encode("utf-8", "backslashreplace").decode()[:500]
    if isinstance(error, NotFiniteError):
        return "diverged", text
    out_of_memory = isinstance(error, MemoryError | torch.cuda.OutOfMemoryError)
    if out_of_memory or "can't allocate memory" in text:
        return "out-of-memory", text
    return "error", text


def _train_together(host: PluginHost, results: Sequence[RunResult], report: ReportRun) -> None:
    from formalbench.cache import code_digest
    from formalbench.training.control import Member
    from formalbench.training.fit import runs_that_fit
    from formalbench.training.programs import choose_program
    from formalbench.training.resume import Keeper
    from formalbench.training.trainer import Cohort, train_cohort

    first, device = results[0].run, torch_device(results[0].device)
    task = _task(host, first)

    def build() -> nn.Module:
        network: nn.Module = host.network(first.model.name, task, first.model.options)
        parameters = sum(parameter.numel() for parameter in network.parameters())
        for result in results:
            result.parameters = parameters
        return network

    if first.learning_rate is None:  # an exact model: one run, nothing to train
        results[0].network = build().to(device)
        return
    members = [
        Member(run.learning_rate, run.seed, partial(report, run.run_id))
        for run in (result.run for result in results)
        if run.learning_rate is not None
    ]
    program = partial(choose_program, batch=first.protocol.batch)
    cohort = Cohort(build, task, first.protocol, members, device, program)
    done: list[Trained] = []
    size = runs_that_fit(cohort)
    code = code_digest(task, task.language, task.objective, build())
    for start in range(0, len(members), size):
        part = slice(start, start + size)
        keeper = Keeper(_kept_at(results[part], code))
        done += train_cohort(replace(cohort, members=members[part], keeper=keeper))
        keeper.forget()
    for result, trained in zip(results, done, strict=True):
        result.trained, result.network, result.status = trained, trained.network, trained.status
        if trained.status == "diverged":
            result.message = f"the loss or a logit was not finite by step {trained.steps}"
        elif trained.status == "timeout":
            result.message = f"longer than {first.protocol.time_limit:g} s, step {trained.steps}"


def _kept_at(results: Sequence[RunResult], code: str) -> Path:
    """Return where a cohort is saved: a function of all that decides its numbers."""
    from formalbench.cache import cache_folder

    key = [[result.run.run_id for result in results], results[0].device, code]
    name = hashlib.sha256(json.dumps(key).encode()).hexdigest()
    return cache_folder() / "training" / f"{name[:32]}.safetensors"


def torch_device(name: str) -> torch.device:
    """Return the device called `name`."""
    import torch

    return torch.device(name)


def _test(host: PluginHost, result: RunResult, cores: int, report: ReportRun) -> None:
    try:
        _test_network(host, result, cores, report)
    except PLUGIN_FAILURES as error:
        result.status, result.message = _judge(error)


def _test_network(host: PluginHost, result: RunResult, cores: int, report: ReportRun) -> None:
    from formalbench.evaluation.evaluate import evaluate

    run, trained = result.run, result.trained
    steps, stage = (trained.steps, trained.stage) if trained else (0, 0)
    report(run.run_id, Progress("test", steps, stage))
    start = time.perf_counter()
    task = _task(host, run)
    cells = _test_set(task, run.task.source.model_dump_json(), run.protocol)
    assert result.network is not None
    device = torch_device(result.device)
    precision = run.protocol.precision
    scores = evaluate(result.network, task.objective, cells, device, cores, precision)
    result.tested = _tested(run, task, cells, scores, time.perf_counter() - start)


def _task(host: PluginHost, run: Run) -> Task:
    options = tuple(sorted(run.task.options.items()))
    task: Task = _build_task(host, run.task.name, options, run.protocol)
    return task


@lru_cache(maxsize=8)
def _build_task(
    host: PluginHost, name: str, options: tuple[tuple[str, Any], ...], protocol: Protocol
) -> Task:
    return protocol.apply(host.task(name, dict(options)))


@lru_cache(maxsize=1)
def _test_set(task: Task, source: str, protocol: Protocol) -> CellSet:
    """Return a task's test set; the last one stays in memory, since the runs after share it."""
    from formalbench.evaluation.kept import kept_test_set

    return kept_test_set(task, source, protocol)


def _tested(
    run: Run, task: Task, cells: CellSet, scores: list[CellScore], seconds: float
) -> Tested:
    from formalbench import __version__
    from formalbench.cache import cached
    from formalbench.contracts.cells import Cells
    from formalbench.contracts.closes import closes_of
    from formalbench.contracts.record import Tested
    from formalbench.evaluation.evaluate import total

    every = total(scores, cells.window)
    if cells.window is not None:
        scores = [every]
    window = -(-len(scores) // MAX_BITS_ENTRIES)
    groups = [scores[i : i + window] for i in range(0, len(scores), window)]

    def compute() -> list[float]:
        chance = task.chance(cells.lengths)
        return [chance.constant, chance.length_only]

    used = run.task.model_dump()  # where the language came from is part of it
    constant, length_only = cached(["chance", __version__, used, cells.fingerprint], compute)
    return Tested(
        metric=task.objective.metric,
        fingerprint=cells.fingerprint,
        chance_constant=constant,
        chance_length=length_only,
        seconds=round(seconds, 3),
        cells=Cells(
            length=tuple(score.length for score in scores),
            first=cells.window and cells.window[:1],
            strings=tuple(score.strings for score in scores),
            correct=tuple(score.correct for score in scores),
            millibits=tuple(round(1000 * sum(s.bits for s in g) / len(g)) for g in groups),
            window=window,
        ),
        closes=closes_of(every.close_brackets),
    )


@dataclass
class RunResult:
    """What came of a run so far.

    Attributes:
        run: the run.
        device: ``cpu`` or ``cuda:i``.
        status: how it stands.
        message: one line, if it did not finish.
        parameters: of its network, once that is built.
        network: trained, or as constructed.
        trained: what training came to.
        tested: what the test came to.
    """

    run: Run
    device: str
    status: Status = "finished"
    message: str = ""
    parameters: int = 0
    network: nn.Module | None = None
    trained: Trained | None = None
    tested: Tested | None = None

    def outcome(self) -> Outcome:
        """Write it down, and keep the weights of a run that trained and was tested."""
        from formalbench.weights import pack

        weights = None
        if self.status == "finished" and self.trained and self.network is not None:
            # A network that cannot be written down costs the weights, not the result.
            with contextlib.suppress(*PLUGIN_FAILURES):
                weights = pack(self.network)
        digest = None if weights is None else hashlib.sha256(weights).hexdigest()
        return Outcome(self.record(digest), weights)

    def record(self, weights: str | None = None) -> Record:
        """Write it down.

        Args:
            weights: SHA-256 of those that are kept.
        """
        from formalbench.contracts.record import SCHEMA_VERSION, Record
        from formalbench.device import describe_environment

        run = self.run
        now = datetime.datetime.now(datetime.UTC)
        return Record(
            schema_version=SCHEMA_VERSION,
            run_id=run.run_id,
            status=self.status,
            message=self.message,
            model=run.model.model_copy(update={"parameters": self.parameters}),
            task=run.task,
            protocol=run.protocol,
            learning_rate=run.learning_rate,
            seed=run.seed,
            training=self._training(),
            selected=self._selected(),
            test=self.tested,
            weights=weights,
            environment=describe_environment(self.device),
            command=run.command,
            date=now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        )

    def _training(self) -> Training | None:
        from formalbench.contracts.record import Member, Training

        trained = self.trained
        if trained is None:
            return None
        cohort = tuple(Member(learning_rate=m.learning_rate, seed=m.seed) for m in trained.cohort)
        return Training(
            steps=trained.steps,
            ended=trained.ended,
            stage=trained.stage,
            strings=trained.strings,
            seconds=round(trained.seconds, 3),
            strings_per_second=round(trained.strings / max(trained.seconds, 1e-9), 1),
            history=trained.history,
            cohort=cohort if len(cohort) > 1 else None,
        )

    def _selected(self) -> Selected | None:
        from formalbench.contracts.record import Selected

        best = self.trained.best if self.trained else None
        if best is None:
            return None
        return Selected(
            step=best.step,
            strings=best.strings,
            correct=best.correct,
            bits=round(best.bits, 6),
            closes=best.closes,
        )
