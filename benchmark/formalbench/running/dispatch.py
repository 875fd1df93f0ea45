"""Check runs before they begin, submit units to an executor, retry lost ones, collect records."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from formalbench.cache import temporary_folder
from formalbench.commit import own_commit
from formalbench.contracts.errors import (
    PLUGIN_FAILURES,
    FormalbenchError,
    RequestError,
    UnwritableError,
)
from formalbench.contracts.hooks import DetachedExecutor, Progress, Resources
from formalbench.device import usable_cores
from formalbench.host import LocalPlugin, PluginHost
from formalbench.host.host import call
from formalbench.host.options import make_config
from formalbench.running import processes
from formalbench.running.plan import Run, RunKey, RunOptions, does_for, key_of
from formalbench.running.run_record import RunFailure, plain_line
from formalbench.running.units import (
    Follower,
    Unit,
    divided,
    home_of,
    least_of,
    look_at_task,
    name_of,
    plugins_of,
)
from formalbench.running.worker import load_host, sharing, work
from formalbench.store import Store

if TYPE_CHECKING:
    from formalbench.contracts.record import Record, Status
    from formalbench.host import Plugin


T = TypeVar("T")

PATIENCE = 120.0
"""Seconds that plugin code may take to make a task or a network; and that a unit may be silent, in
addition to the time limit of its runs."""

POLL = 0.2
"""Seconds between two checks of the units' progress."""

FOLLOWED = 0.01
"""The same per unit in flight; this limit is the longer one for more than twenty units."""

MAX_TRIES = 2
"""Maximum number of attempts for a unit whose worker is lost."""


@dataclass(frozen=True)
class _Question:
    """A question about a run to a sandbox process; plain data."""

    run: Run
    plugins: tuple[LocalPlugin, ...]
    device: str

    @property
    def home(self) -> object:
        return home_of(self.run, self.plugins)


class Preflight:
    """Checks runs before they begin; problems that it misses appear in the records of the runs."""

    def __init__(self, host: PluginHost, resources: Resources) -> None:
        self._host, self._resources = host, resources
        self._executor: Executor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)

    def hand_over(self) -> Executor | None:
        """Hand over the processes used so far, if any: they have loaded the code of the runs."""
        executor, self._executor = self._executor, None
        return executor

    def look_at_task(self, run: Run) -> None:
        """Refuse a protocol that the task does not support; see `units.look_at_task`."""
        if run.foreign_code:
            self._call(_check_task, run)
        else:
            look_at_task(self._host, run)

    def least_of(self, run: Run) -> int | None:
        """Return the smallest number of runs that train together; see `units.least_of`."""
        if run.foreign_code:
            return self._call(_least, run)
        return least_of(self._host, run, self._resources.devices[0])

    def _call(self, function: Callable[[_Question], T], run: Run) -> T | None:
        if self._executor is None:
            self._executor = processes.make_local(self._resources)
        question = _Question(run, plugins_of(self._host, run), self._resources.devices[0])
        future = self._executor.submit(function, question)
        try:
            return future.result(PATIENCE)
        except (TimeoutError, BrokenExecutor):
            future.cancel()
            return None


def _check_task(question: _Question) -> None:
    look_at_task(load_host(question.plugins), question.run)


def _least(question: _Question) -> int | None:
    return least_of(load_host(question.plugins), question.run, question.device)


@dataclass
class InFlight:
    """A unit that was submitted to an executor.

    Attributes:
        tries: number of submissions, including this one.
        heard: time of its last event; None if it may still be queued.
        follower: reads its progress; set when the unit is submitted.
    """

    unit: Unit
    tries: int
    heard: float | None
    follower: Follower = field(init=False)

    @property
    def silence(self) -> float | None:
        """Seconds that the unit may be silent; None if its protocol has no time limit."""
        limit = self.unit.runs[0].protocol.time_limit
        return None if limit is None else limit * len(self.unit.runs) + PATIENCE

    def is_overdue(self) -> bool:
        """Whether the unit was silent for too long."""
        silent = None if self.heard is None else time.monotonic() - self.heard
        return silent is not None and self.silence is not None and silent > self.silence


class Dispatcher:
    """Submits the runs of a plan as units, and collects their records.

    Args:
        first: the value of `least_of` for the first cohort.
        preflight: computes it for the others.
    """

    def __init__(
        self,
        host: PluginHost,
        store: Store,
        options: RunOptions,
        cohorts: Sequence[tuple[Run, ...]],
        first: int | None,
        preflight: Preflight,
    ) -> None:
        own_commit()  # before anything runs: the commit may have changed when a failure needs it
        self.host, self.store, self.options = host, store, options
        self.jobs = options.jobs or 1
        self.cohorts, self.first, self.preflight = cohorts, first, preflight
        self.resources = Resources(options.devices, self.jobs, store.path.resolve())
        self.records: dict[RunKey, Record] = {}
        self.started: set[RunKey] = set()
        self.stopped = False
        self.units = self._units()
        self.waiting: list[tuple[Unit, int]] = []
        self.running: dict[Future[list[str]], InFlight] = {}
        self.handed = 0
        self.followed = 0.0

    def run(self) -> dict[RunKey, Record]:
        """Do all runs, and return their records."""
        self.executor, self.provider = self._make_executor()
        try:
            with sharing(self.host), temporary_folder("progress") as self.folder:
                while not self.stopped and (self._submit_units() or self.running):
                    self._wait()
        except KeyboardInterrupt:
            if isinstance(self.executor, DetachedExecutor) and (left := self.executor.detach()):
                jobs = "1 job is" if left == 1 else f"{left} jobs are"
                hint = f"; to cancel: {cmd}" if (cmd := self.executor.cancel_command) else ""
                self.host.warn(f"{jobs} left; the same command finds them again{hint}")
            raise
        finally:
            # Units in flight are killed at once, and their work is lost.
            with self.host.blaming(self.provider):
                self.executor.shutdown(wait=False, cancel_futures=True)
        return self.records

    def _make_executor(self) -> tuple[Executor, Plugin]:
        name = self.options.executor or ("serial" if self._runs_in_process() else "local")
        entry, _ = self.host.executors.get(name)
        if name == "local" and (executor := self.preflight.hand_over()):
            return executor, entry.plugin
        config = make_config(entry.spec, self.options.config)
        with self.host.blaming(entry.plugin):
            executor = call(entry.spec.factory, self.resources, config)
            if not isinstance(executor, Executor):
                raise TypeError(f"the factory of {name} gave a {type(executor).__name__}")
        return executor, entry.plugin

    def _runs_in_process(self) -> bool:
        """Return whether this process may run the units: one at a time, formalbench's code only."""
        if self.host.runs_local_code() or any(cohort[0].foreign_code for cohort in self.cohorts):
            return False
        parts = divided(self.cohorts[0], self.resources.device, self.first)
        return self.jobs == 1 or (len(self.cohorts) == 1 and len(list(parts)) == 1)

    # From runs to units.

    def _units(self) -> Iterator[Unit]:
        """Yield units lazily, so that one network is built at a time."""
        device = self.resources.device
        cores = max(self.options.threads, usable_cores() // self.jobs) if device == "cpu" else 1
        for index, cohort in enumerate(self.cohorts):
            try:
                least = self.first
                if index:  # one goes alone
                    least = self.preflight.least_of(cohort[0]) if len(cohort) > 1 else None
            except RequestError as error:
                if not self.records:
                    raise
                self._write_failures(cohort, str(error))
                continue
            parts = divided(cohort, device, least)
            for part in (piece for whole in parts for piece in self._split_by_job(whole)):
                yield Unit(
                    runs=part,
                    store=self.store.path.resolve(),
                    plugins=plugins_of(self.host, part[0]),
                    device=device,
                    threads=self.options.threads,
                    cores=cores,
                )

    def _split_by_job(self, part: tuple[Run, ...]) -> list[tuple[Run, ...]]:
        """Divide a part by the jobs of an earlier session that already work on its runs."""
        if not isinstance(self.executor, DetachedExecutor):
            return [part]
        by_job: dict[str | None, list[Run]] = {}
        self._collect_finished(part)  # a job of an earlier session may have ended just now
        for run in self._missing(part):
            by_job.setdefault(self.executor.holder(name_of(run)), []).append(run)
        return [tuple(runs) for runs in by_job.values()]

    def _next(self) -> tuple[Unit, int] | None:
        """Return the next unit to submit and the number of the attempt; None if there is none."""
        if self.stopped:
            return None
        for index, (unit, _) in enumerate(self.waiting):
            if not self._trains_now(unit):
                return self.waiting.pop(index)
        for unit in self.units:
            if not self._trains_now(unit):
                return unit, 1
            self.waiting.append((unit, 1))
        return None

    def _trains_now(self, unit: Unit) -> bool:
        """Return whether a run with the same training is in flight; its weights can be reused."""
        training = {run.train_id for flight in self.running.values() for run in flight.unit.runs}
        return any(run.train_id in training for run in unit.runs if run.learning_rate is not None)

    def _submit_units(self) -> bool:
        """Submit units until enough are in flight; return whether any was submitted."""
        before = self.handed
        while len(self.running) < self.jobs and (item := self._next()):
            self.handed += 1
            unit, tries = item
            path = Path(self.folder) / f"{self.handed}.jsonl"
            if isinstance(self.executor, DetachedExecutor):
                path = self.executor.progress_file(unit.names)
            # The local executor starts units at once; another one may queue them.
            start = time.monotonic() if self.options.executor in ("", "local") else None
            flight = InFlight(unit, tries, start)
            flight.follower = Follower(path, partial(self._handle, flight))
            self.running[self._submit(replace(unit, progress=path))] = flight
        return self.handed > before

    def _submit(self, unit: Unit) -> Future[list[str]]:
        with self.host.blaming(self.provider):
            try:
                return self.executor.submit(work, unit)
            except BrokenExecutor:  # a pool with a dead process accepts nothing more
                self.executor.shutdown(wait=False, cancel_futures=True)
                self.executor, self.provider = self._make_executor()
                return self.executor.submit(work, unit)

    # Events of a unit: progress, end, timeout.

    def _wait(self) -> None:
        done, _ = wait(self.running, timeout=POLL, return_when=FIRST_COMPLETED)
        now = time.monotonic()
        if now - self.followed >= FOLLOWED * len(self.running):  # for the file system's sake
            self.followed = now
            for flight in self.running.values():
                flight.follower.read()
        for future in done:
            flight = self.running.pop(future)
            flight.follower.close()
            self._finish(flight, future)
        for future, flight in [*self.running.items()]:
            if flight.is_overdue():
                future.cancel()  # ends its process, if the executor can do that
                del self.running[future]
                flight.follower.close()
                self._collect_finished(flight.unit.runs)
                message = f"no message from the worker for {flight.silence:g} s, so it was stopped"
                self._write_failures(self._missing(flight.unit.runs), message, "timeout")

    def _handle(self, flight: InFlight, kind: str, test_id: str, progress: Progress | None) -> None:
        """Note an event of a unit, and notify the observers."""
        flight.heard = time.monotonic()
        run = next((run for run in flight.unit.runs if run.test_id == test_id), None)
        if run is None:
            return  # a plugin damaged the progress file
        key = key_of(run)
        if kind == "finished":
            if self.store.record_of(run) is not None:  # else a plugin damaged the progress file
                self._collect(run)
        elif progress is not None and key not in self.records:
            self.host.notify("formalbench_run_progress", run=run.info, progress=progress)
        elif kind == "started" and key not in self.started:
            self.started.add(key)
            self.host.notify("formalbench_run_started", run=run.info)

    def _finish(self, flight: InFlight, future: Future[list[str]]) -> None:
        """Collect the records of a unit; submit it again if its worker was lost."""
        missing = self._missing(flight.unit.runs)
        try:
            future.result()
        except UnwritableError as error:  # the disk of that machine is full; others may have room
            self._retry(flight, error)
        except FormalbenchError as error:  # refused: every run of the unit would fail like this
            if not self.records:
                raise  # nothing has run yet: one line and exit code 2
            self._write_failures(missing, str(error))
        except PLUGIN_FAILURES as error:
            self._retry(flight, error)
        else:
            if any(self.store.record_of(run) is None for run in missing):
                self._retry(flight, RuntimeError("the worker wrote no record"))
                return
            for run in missing:
                self._collect(run)

    def _retry(self, flight: InFlight, error: BaseException) -> None:
        """Submit the runs without a record again; after the last attempt, record the failure."""
        self._collect_finished(flight.unit.runs)
        missing = self._missing(flight.unit.runs)
        if missing and flight.tries < MAX_TRIES:
            self.waiting.append((replace(flight.unit, runs=missing), flight.tries + 1))
        elif missing:
            died = isinstance(error, BrokenExecutor)
            cause = "the worker process died" if died else f"{type(error).__name__}: {error}"
            self._write_failures(missing, f"{cause}, twice")

    def _missing(self, runs: Sequence[Run]) -> tuple[Run, ...]:
        """Return the runs whose records have not been collected."""
        return tuple(run for run in runs if key_of(run) not in self.records)

    def _collect_finished(self, runs: Sequence[Run]) -> None:
        """Collect the records that a worker wrote before it was lost."""
        for run in self._missing(runs):
            record = self.store.record_of(run)
            if record is not None and does_for(record, run):
                self._collect(run)

    def _collect(self, run: Run) -> None:
        """Read a run's record from the store, and notify the observers, once."""
        if key_of(run) in self.records:
            return
        record = self.store.record_of(run)
        if record is None:
            raise RequestError(
                f"{self.store.path_of(run)}: a worker wrote this record, but it is missing"
            )
        self._add_record(run, record)

    def _write_failures(self, runs: Sequence[Run], message: str, status: Status = "error") -> None:
        """Write the records of runs that no worker could do."""
        from formalbench.running.run_record import RunResult

        for run in runs:
            result = RunResult(run, self.options.devices[0])
            result.fail(RunFailure(status, plain_line(message)))
            record, _ = result.outcome()
            self.store.write(record)
            self._add_record(run, record)

    def _add_record(self, run: Run, record: Record) -> None:
        self.records[key_of(run)] = record
        self.host.notify("formalbench_run_finished", run=run.info, record=record)
        if self.options.fail_fast and record.status != "finished":
            self.stopped = True
