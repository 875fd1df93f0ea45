"""The executor `slurm`: units become jobs of a cluster.

A thread collects units for a moment and submits them together, reads results from a folder that all
machines share, and polls the queue for running jobs. A job that left the queue without a result is
lost; this needs no accounting.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from formalbench.contracts.config import Config, option
from formalbench.contracts.errors import RequestError, need_package
from formalbench.contracts.hooks import DetachedExecutor, Resources

from formalbench_executors.slurm_queue import (
    Answer,
    Job,
    Ledger,
    SlurmCluster,
    forget_files,
    key_of,
    log_of,
    make_private,
    private_folder,
    result_name,
)

if TYPE_CHECKING:
    from pathlib import Path

    from formalbench.running.units import Unit

MOST_JOBS = 1000
"""Default maximum of jobs that are queued or running, without ``--jobs``."""

TESTING = 60
"""Minutes for loading and testing, in addition to the protocol's time limit for training."""

UNLIMITED = 24 * 60
"""Time limit in minutes for a unit whose protocol has no time limit."""


class SlurmConfig(Config):
    """The resources of jobs, and the options for polling the queue."""

    partition: str = option("", "partition of the jobs; empty for the cluster's default")
    account: str = option("", "account that the time is charged to, if the cluster needs one")
    qos: str = option("", "quality of service, if the cluster needs one")
    constraint: str = option("", "required features of a node: a100")
    gpus: int = option(
        0, "GPUs per job: 1 to train on a GPU, 0 to train on the CPU", minimum=0, maximum=1
    )
    cpus: int = option(
        1, "CPU cores per job; only testing uses more than one", minimum=1, maximum=256
    )
    memory: int = option(
        0, "memory per job in GB; 0 for the partition's default", minimum=0, maximum=4096
    )
    minutes: int = option(
        0, "time limit of a job; 0 for the protocol's limit plus one hour", minimum=0, maximum=43200
    )
    parallel: int = option(
        256, "most jobs of an array that run at the same time", minimum=1, maximum=100000
    )
    poll: float = option(15.0, "seconds between two polls of the queue", minimum=0.1, maximum=600)
    grace: float = option(
        60.0, "seconds to wait for a result after its job left the queue", minimum=0, maximum=3600
    )

    def minutes_of(self, unit: Unit) -> int:
        """Return the time limit of a unit's job, in minutes."""
        if self.minutes:
            return self.minutes
        limit = unit.runs[0].protocol.time_limit
        return UNLIMITED if limit is None else math.ceil(limit * len(unit.runs) / 60) + TESTING


def resources(config: SlurmConfig) -> Resources:
    """Return the devices of units, and the number of parallel units."""
    return Resources(("cuda",) if config.gpus else ("cpu",), MOST_JOBS)


QUIET = 1.0
"""Seconds without a new unit after which an array is submitted."""

AT_MOST = 30.0
"""Seconds after which an array is submitted in any case."""


class JobFuture(Future[Any]):
    """The future of a unit; cancelling it cancels its job."""

    end: Callable[[], None] | None = None

    def cancel(self) -> bool:
        """Cancel the unit, whether it is not submitted yet, queued, or running."""
        if self.end is not None:
            self.end()
        return super().cancel()

    def tell(self, error: BaseException | None, value: Any = None) -> None:
        """Set the result or exception, unless the future was cancelled."""
        self.end = None
        with contextlib.suppress(InvalidStateError):
            if error is None:
                self.set_result(value)
            else:
                self.set_exception(error)


@dataclass(eq=False)
class _PendingUnit:
    """A unit that is not submitted to Slurm yet."""

    future: JobFuture
    function: Callable[[Any], Any]
    unit: Unit
    since: float = field(default_factory=time.monotonic)


TICK = 0.2
"""Seconds between two checks for new units."""

RESULTS = 2.0
"""Maximum seconds between two checks for results."""


class JobLostError(RuntimeError):
    """A job ended without a result, because it was cancelled or killed."""


@dataclass
class _FollowedJob:
    """A job, the futures that wait for it, and the time when it was first missing in the queue."""

    job: Job
    futures: list[JobFuture]
    missed: float | None = None


class SlurmExecutor(DetachedExecutor):
    """Submits units, finds the jobs of earlier sessions, and collects results.

    Args:
        folder: a folder that all machines share and that belongs to this user.

    Raises:
        RequestError: if the cluster does not answer.
    """

    def __init__(self, cluster: SlurmCluster, folder: Path, config: SlurmConfig) -> None:
        self._cluster, self._folder, self._config = cluster, folder, config
        self._ledger = Ledger(folder)
        self._waiting: list[_PendingUnit] = []
        self._followed: dict[str, _FollowedJob] = {}
        self._lock = threading.RLock()
        self._closed = threading.Event()
        self._detached = False
        self._polled = self._checked = time.monotonic()
        self._ledger.settle(cluster.find)
        alive = cluster.alive()
        if alive is None:
            raise RequestError("executor slurm: squeue does not list the queued jobs")
        self._ledger.load(alive)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    # The interface of an executor.

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit a unit as a job, or wait for the job of an earlier session that does the unit."""
        if self._closed.is_set():
            raise RuntimeError("the executor was shut down")
        (unit,) = args
        future = JobFuture()
        with self._lock:
            job = self._ledger.holder(unit.names[0])
            if job is not None and set(unit.names) <= set(job.runs):
                self._follow(job, future)
            else:
                unit = replace(unit, cores=max(unit.threads, self._config.cpus))
                self._waiting.append(_PendingUnit(future, fn, unit))
        return future

    def holder(self, run: str) -> str | None:
        """Return the id of the job that does a run; None if there is none."""
        with self._lock:
            job = self._ledger.holder(run)
        return None if job is None else job.job_id

    def progress_file(self, runs: Sequence[str]) -> Path:
        """Return the progress file of the job that does some runs; it may not exist yet."""
        with self._lock:
            job = self._ledger.holder(runs[0])
        return self._folder / f"{key_of(runs) if job is None else job.key}.progress"

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for the jobs (`wait`) or cancel them (`cancel_futures`), then stop polling."""
        if wait and not cancel_futures:
            while self._busy():
                time.sleep(TICK)
        self._close()
        if cancel_futures and not self._detached and self._followed:
            self._cluster.cancel([*self._followed])
        for future in self._give_up():
            future.cancel()

    def detach(self) -> int:
        """Stop following jobs but leave them running; units that wait are not submitted."""
        self._detached = True
        self._close()
        with self._lock:
            left = [*self._followed]
        arrays = dict.fromkeys(job.partition("_")[0] for job in left)
        self.cancel_command = f"scancel {' '.join(arrays)}"
        for future in self._give_up():
            future.cancel()
        return len(left)

    def _busy(self) -> bool:
        with self._lock:
            return bool(self._waiting or self._followed)

    def _close(self) -> None:
        self._closed.set()
        self._thread.join()  # the thread may be submitting

    def _give_up(self) -> list[JobFuture]:
        with self._lock:
            futures = [one.future for one in self._waiting]
            self._waiting = []
            for followed in self._followed.values():
                futures += followed.futures
            self._followed = {}
            for future in futures:
                future.end = None
        return futures

    # The thread.

    def _serve(self) -> None:
        while not self._closed.wait(TICK):
            try:
                self._submit_waiting()
                self._look()
            except Exception as error:  # noqa: BLE001  # the thread has no caller to report it
                for future in self._give_up():
                    future.tell(error)

    def _submit_waiting(self) -> None:
        """Submit the waiting units when no new ones arrive, as one array per time limit."""
        now = time.monotonic()
        with self._lock:
            self._waiting = [one for one in self._waiting if not one.future.cancelled()]
            since = [one.since for one in self._waiting]
        if not since or (now - since[-1] < QUIET and now - since[0] < AT_MOST):
            return
        groups: dict[int, list[_PendingUnit]] = {}
        for one in self._waiting[: len(since)]:
            groups.setdefault(self._config.minutes_of(one.unit), []).append(one)
        for minutes, group in groups.items():
            for first in range(0, len(group), self._cluster.array):
                self._submit_batch(group[first : first + self._cluster.array], minutes)

    def _submit_batch(self, batch: list[_PendingUnit], minutes: int) -> None:
        """Submit units as one array; while Slurm does not answer, they keep waiting."""
        for one in batch:
            if one.unit.progress is not None:  # from an earlier job of the same runs
                one.unit.progress.unlink(missing_ok=True)
        units = [Job("", _key(one.unit), one.unit.names) for one in batch]
        try:
            name = self._ledger.intend(units)
        except RequestError as error:
            self._refuse(batch, error)
            return
        try:
            ids = self._cluster.submit([(one.function, one.unit) for one in batch], minutes, name)
        except RequestError as error:
            self._ledger.withdraw(name)
            if self._cluster.alive() is None:
                for one in batch:
                    one.since = time.monotonic() + self._config.poll
            else:
                self._refuse(batch, error)
            return
        jobs = [replace(job, job_id=job_id) for job_id, job in zip(ids, units, strict=True)]
        try:
            with self._lock:
                self._ledger.add(name, jobs)
        except RequestError as error:  # the jobs could not be found again
            self._cluster.cancel(ids)
            self._ledger.withdraw(name)
            self._refuse(batch, error)
            return
        with self._lock:
            self._remove(batch)
            for job, one in zip(jobs, batch, strict=True):
                self._follow(job, one.future)

    def _remove(self, batch: list[_PendingUnit]) -> None:
        removed = set(batch)
        self._waiting = [one for one in self._waiting if one not in removed]

    def _refuse(self, batch: list[_PendingUnit], error: RequestError) -> None:
        with self._lock:
            self._remove(batch)
        for one in batch:
            one.future.tell(error)

    def _follow(self, job: Job, future: JobFuture) -> None:
        future.end = lambda: self._cluster.cancel([job.job_id])
        if future.cancelled():  # during the submission
            future.end()
            return
        self._followed.setdefault(job.job_id, _FollowedJob(job, [])).futures.append(future)

    def _look(self) -> None:
        """Collect the available results; from time to time poll the queue for missing jobs."""
        now = time.monotonic()
        with self._lock:
            followed = [*self._followed]
        if not followed or now - self._checked < min(RESULTS, self._config.poll):
            return
        alive = None
        if now - self._polled >= self._config.poll:
            alive = self._cluster.alive()
            self._polled = time.monotonic()
        self._checked = time.monotonic()
        names = {path.name for path in self._folder.iterdir()}
        for job_id in followed:
            if result_name(job_id) in names:
                self._end(job_id, *self._answer(job_id))
            elif alive is not None:
                self._miss(job_id, job_id in alive)

    def _miss(self, job_id: str, alive: bool) -> None:
        """Give up on a job that is missing for long; results may arrive late on a shared disk."""
        followed = self._followed[job_id]
        now = time.monotonic()
        followed.missed = None if alive else followed.missed or now
        if followed.missed is not None and now - followed.missed >= self._config.grace:
            message = f"job {job_id} left the queue without a result"
            if not log_of(self._folder, job_id).exists():
                message += f", nor a log: do the nodes see {self._folder.parent}?"
            self._end(job_id, False, JobLostError(message))

    def _answer(self, job_id: str) -> Answer:
        from submitit.core.utils import pickle_load

        try:
            outcome, answer = pickle_load(self._folder / result_name(job_id))
        except Exception as error:  # noqa: BLE001  # a damaged file may raise anything
            return False, JobLostError(f"the result of job {job_id} cannot be read: {error}")
        if outcome == "error":  # outside the unit's own work
            return False, JobLostError(str(answer).strip().splitlines()[-1])
        done, value = answer
        return bool(done), value

    def _end(self, job_id: str, done: bool, value: Any) -> None:
        with self._lock:
            followed = self._followed.pop(job_id)
            self._ledger.drop(job_id)
        forget_files(self._folder, followed.job)
        if done:
            log_of(self._folder, job_id).unlink(missing_ok=True)
        for future in followed.futures:
            future.tell(None if done else value, value)


def _key(unit: Unit) -> str:
    return key_of(unit.names) if unit.progress is None else unit.progress.stem


def make(resources: Resources, config: SlurmConfig) -> SlurmExecutor:
    """Return the executor; its files are in this user's own folder in the results folder.

    Nothing is written before the cluster has answered.
    """
    need_package("--executor slurm", "submitit", "slurm")
    if resources.store is None:
        raise RequestError("executor slurm needs a results folder that every node can read")
    folder = private_folder(resources.store)
    cluster = SlurmCluster(folder, config)
    make_private(folder)
    return SlurmExecutor(cluster, folder, config)
