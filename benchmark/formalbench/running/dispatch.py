"""Hand units to an executor, retry lost ones, collect their records."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formalbench.cache import temporary_folder
from formalbench.commit import own_commit
from formalbench.contracts.errors import (
    PLUGIN_FAILURES,
    FormalbenchError,
    RequestError,
    UnwritableError,
)
from formalbench.contracts.hooks import DetachedExecutor, Progress, Workplace
from formalbench.device import usable_cores
from formalbench.host import PluginHost
from formalbench.host.host import load
from formalbench.host.options import make_config
from formalbench.running.plan import Run, RunKey, RunOptions, does_for, key_of
from formalbench.running.progress import Follower
from formalbench.running.run_record import RunFailure, plain_line
from formalbench.running.sandbox import Preflight
from formalbench.running.units import Unit, divided, name_of, plugins_of
from formalbench.running.worker import sharing, work
from formalbench.store import Store

if TYPE_CHECKING:
    from formalbench.contracts.record import Record, Status
    from formalbench.host import Plugin


PATIENCE = 120.0
"""Seconds that nothing may be heard from a unit, beyond the time that its runs may train for."""


@dataclass
class Attempt:
    """A unit that was handed over, for the how-manieth time, and when it was last heard of.

    One that nothing was heard of yet may be waiting, on whatever machine it is to run.
    """

    unit: Unit
    number: int
    heard: float | None

    @property
    def silence(self) -> float | None:
        """How long nothing may be heard of it; None if its protocol has no time limit."""
        limit = self.unit.runs[0].protocol.time_limit
        return None if limit is None else limit * len(self.unit.runs) + PATIENCE

    def is_overdue(self) -> bool:
        """Say whether no message from the worker for too long."""
        if self.heard is None or self.silence is None:
            return False
        return time.monotonic() - self.heard > self.silence


POLL = 0.2
"""Seconds between two looks at how far the units are."""


FOLLOWED = 0.01
"""The same for each unit in flight; beyond twenty of them it counts."""


TRIES = 2
"""How often a unit is tried whose worker is lost."""


class Dispatcher:
    """Hands the runs of a plan over as units, and takes what comes of them.

    Args:
        host: the plugins.
        store: where records go.
        options: where, and by what.
        cohorts: the runs of each model on each task.
        first: what `least_of` says of the first of them.
        preflight: says it of the others.
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
        own_commit()  # before anything runs, as `_fail` may need it hours later
        self.host, self.store, self.options = host, store, options
        self.jobs = options.jobs or 1
        self.cohorts, self.first, self.preflight = cohorts, first, preflight
        self.workplace = Workplace(options.devices, self.jobs, store.path.resolve())
        self.results: dict[RunKey, Record] = {}
        self.started: set[RunKey] = set()
        self.stopped = False
        self.units = self._units()
        self.waiting: list[tuple[Unit, int]] = []
        self.running: dict[Future[list[str]], tuple[Attempt, Follower]] = {}
        self.handed = 0
        self.followed = 0.0

    def run(self) -> dict[RunKey, Record]:
        """Do everything, and return the records."""
        self.executor, self.provider = self._make_executor()
        try:
            with sharing(self.host), temporary_folder("progress") as self.folder:
                while not self.stopped and (self._hand_over() or self.running):
                    self._wait()
        except KeyboardInterrupt:
            if isinstance(self.executor, DetachedExecutor) and (left := self.executor.detach()):
                jobs = "1 job is" if left == 1 else f"{left} jobs are"
                ends = f"; to cancel: {end}" if (end := self.executor.cancel_command) else ""
                self.host.warn(f"{jobs} left; the same command finds them again{ends}")
            raise
        finally:
            # Ends what is in flight at once, if anything is: it is lost, as by any kill.
            with self.host.blaming(self.provider):
                self.executor.shutdown(wait=False, cancel_futures=True)
        return self.results

    def _make_executor(self) -> tuple[Executor, Plugin]:
        name = self.options.executor or ("serial" if self._can_be_here() else "local")
        entry, _ = self.host.executors.get(name)
        if name == "local" and (begun := self.preflight.hand_over()):
            return begun, entry.plugin
        config = make_config(entry.spec, self.options.config)
        arguments: list[Any] = [self.workplace, *([] if config is None else [config])]
        with self.host.blaming(entry.plugin):
            made = load(entry.spec.factory)(*arguments)
            if not isinstance(made, Executor):
                raise TypeError(f"the factory of {name} gave a {type(made).__name__}")
        return made, entry.plugin

    def _can_be_here(self) -> bool:
        """Say whether this process may do it: one thing at a time, and by no stranger's code."""
        if self.host.runs_local_code() or any(cohort[0].strangers for cohort in self.cohorts):
            return False
        return self.jobs == 1 or (len(self.cohorts) == 1 and len(self._parts_of_first()) == 1)

    # From runs to units.

    def _parts_of_first(self) -> list[tuple[Run, ...]]:
        return list(divided(self.cohorts[0], self.workplace.device, self.first))

    def _units(self) -> Iterator[Unit]:
        """Make units when their turn comes, so that one network is built at a time."""
        device = self.workplace.device
        cores = max(self.options.threads, usable_cores() // self.jobs) if device == "cpu" else 1
        for index, cohort in enumerate(self.cohorts):
            try:
                least = self._least_of(cohort) if index else self.first
            except RequestError as error:
                if not self.results:
                    raise
                self._fail(cohort, str(error))
                continue
            parts = divided(cohort, device, least)
            for part in (piece for whole in parts for piece in self._as_held(whole)):
                yield Unit(
                    runs=part,
                    store=self.store.path.resolve(),
                    plugins=plugins_of(self.host, part[0]),
                    device=device,
                    threads=self.options.threads,
                    cores=cores,
                    debug=self.options.debug,
                )

    def _as_held(self, part: tuple[Run, ...]) -> list[tuple[Run, ...]]:
        """Divide a part by what works on its runs already, from an earlier session."""
        if not isinstance(self.executor, DetachedExecutor):
            return [part]
        held: dict[str | None, list[Run]] = {}
        self._take_done(part)  # a job of an earlier session may have ended just now
        for run in self._left(part):
            held.setdefault(self.executor.holder(name_of(run)), []).append(run)
        return [tuple(runs) for runs in held.values()]

    def _least_of(self, cohort: Sequence[Run]) -> int | None:
        return self.preflight.least_of(cohort[0]) if len(cohort) > 1 else None  # one goes alone

    def _next(self) -> tuple[Unit, int] | None:
        """Return a unit to hand over, and for the how-manieth time; None if there is none now."""
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
        """Say whether a run of a unit is training for another test; then its weights will do."""
        now = {run.train_id for attempt, _ in self.running.values() for run in attempt.unit.runs}
        return any(run.train_id in now for run in unit.runs if run.learning_rate is not None)

    def _hand_over(self) -> bool:
        """Hand units over until as many as wanted are at work; say whether any was."""
        before = self.handed
        while len(self.running) < self.jobs and (following := self._next()):
            unit, number = following
            self.handed += 1
            path = self._progress_file(unit)
            # Ours begin at once; another's may wait for its turn before they do.
            begun = time.monotonic() if self.options.executor in ("", "local") else None
            attempt = Attempt(unit, number, begun)
            follower = Follower(path, partial(self._hear, attempt))
            self.running[self._submit(replace(unit, progress=path))] = attempt, follower
        return self.handed > before

    def _progress_file(self, unit: Unit) -> Path:
        if isinstance(self.executor, DetachedExecutor):
            return self.executor.progress_file(unit.names)
        return Path(self.folder) / f"{self.handed}.jsonl"

    def _submit(self, unit: Unit) -> Future[list[str]]:
        with self.host.blaming(self.provider):
            try:
                return self.executor.submit(work, unit)
            except BrokenExecutor:  # a library's pool takes nothing more once a process of it died
                self.executor.shutdown(wait=False, cancel_futures=True)
                self.executor, self.provider = self._make_executor()
                return self.executor.submit(work, unit)

    # From units to records.

    def _wait(self) -> None:
        ended, _ = wait(self.running, timeout=POLL, return_when=FIRST_COMPLETED)
        self._follow()
        for future in ended:
            attempt, follower = self.running.pop(future)
            follower.close()
            self._end(attempt, future)
        for future, (attempt, follower) in [*self.running.items()]:
            if attempt.is_overdue():
                future.cancel()  # ends its process, if the executor can do that
                del self.running[future]
                follower.close()
                self._take_done(attempt.unit.runs)
                said = f"no message from the worker for {attempt.silence:g} s, so it was stopped"
                self._fail(self._left(attempt.unit.runs), said, "timeout")

    def _follow(self) -> None:
        """Read how far the units are; of many rarely, for the file system's sake."""
        now = time.monotonic()
        if now - self.followed >= FOLLOWED * len(self.running):
            self.followed = now
            for _, follower in self.running.values():
                follower.read()

    def _end(self, attempt: Attempt, future: Future[list[str]]) -> None:
        """Take what came of a unit."""
        unit = attempt.unit
        try:
            future.result()
        except UnwritableError as error:  # a full disk is of one machine
            self._lost(attempt, error)
        except FormalbenchError as error:
            if not self.results:
                raise
            self._fail(self._left(unit.runs), str(error))
        except PLUGIN_FAILURES as error:
            self._lost(attempt, error)
        else:
            if any(self.store.record_of(run) is None for run in self._left(unit.runs)):
                self._lost(attempt, RuntimeError("the worker wrote no record"))
                return
            for run in self._left(unit.runs):
                self._take(run)

    def _lost(self, attempt: Attempt, error: BaseException) -> None:
        self._take_done(attempt.unit.runs)
        left = self._left(attempt.unit.runs)
        if not left:
            return
        if attempt.number < TRIES:
            self.waiting.append((replace(attempt.unit, runs=left), attempt.number + 1))
            return
        message = f"{type(error).__name__}: {error}, twice"
        if isinstance(error, BrokenExecutor):
            message = "the worker process died, twice"
        self._fail(left, message)

    def _take_done(self, runs: Sequence[Run]) -> None:
        """Take what is finished, of runs that something worked on."""
        for run in self._left(runs):
            record = self.store.record_of(run)
            if record is not None and does_for(record, run):
                self._take(run)

    def _left(self, runs: Sequence[Run]) -> tuple[Run, ...]:
        return tuple(run for run in runs if key_of(run) not in self.results)

    def _hear(self, attempt: Attempt, event: str, test_id: str, told: Progress | None) -> None:
        attempt.heard = time.monotonic()
        run = next((run for run in attempt.unit.runs if run.test_id == test_id), None)
        if run is None:
            return  # a plugin broke what writes it
        key = key_of(run)
        if event == "finished":
            if self.store.record_of(run) is not None:  # else a plugin broke what writes it
                self._take(run)
        elif told is not None and key not in self.results:
            self.host.notify("formalbench_run_progress", run=run.info, progress=told)
        elif event == "started" and key not in self.started:
            self.started.add(key)
            self.host.notify("formalbench_run_started", run=run.info)

    def _take(self, run: Run) -> None:
        """Take a run's record out of the store, and tell of it, once."""
        if key_of(run) in self.results:
            return
        record = self.store.record_of(run)
        if record is None:
            raise RequestError(
                f"{self.store.path_of(run)}: a worker wrote this record, but it is missing"
            )
        self._tell(run, record)

    def _fail(self, runs: Sequence[Run], message: str, status: Status = "error") -> None:
        """Write the records of runs that nobody could do."""
        from formalbench.running.run_record import RunResult

        for run in runs:
            result = RunResult(run, self.options.devices[0])
            result.fail(RunFailure(status, plain_line(message)))
            record, _ = result.outcome()
            self.store.write(record)
            self._tell(run, record)

    def _tell(self, run: Run, record: Record) -> None:
        self.results[key_of(run)] = record
        self.host.notify("formalbench_run_finished", run=run.info, record=record)
        if self.options.fail_fast and record.status != "finished":
            self.stopped = True
