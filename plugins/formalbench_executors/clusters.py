"""What submits jobs, says which are alive and ends them: Slurm, or processes of this machine."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from formalbench import RequestError
from formalbench.contracts.errors import nearest

from formalbench_executors.remote import carry_out

if TYPE_CHECKING:
    from formalbench_executors.slurm_config import SlurmConfig

PATIENCE = 60.0
"""Seconds that a command of Slurm may take."""

AT_ONCE = 500
"""Jobs that one command names."""

ARRAY = 1000
"""Units in an array; a cluster takes as many unless it is set otherwise."""

OWN_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm", "/run")  # noqa: S108
"""What each machine has for itself."""

Call = tuple[Any, object]
"""A function, and the unit it is called with."""


class Cluster(Protocol):
    """Where jobs run."""

    array: int
    """How many units go into one submission."""

    def submit(self, calls: Sequence[Call], minutes: int) -> list[str]:
        """Submit units together, and return the jobs' ids.

        Raises:
            RequestError: one line, if they are refused.
        """

    def alive(self, jobs: Collection[str]) -> set[str] | None:
        """Say which jobs are queued or running; None if it cannot be told now.

        Args:
            jobs: those that are asked about, at least.
        """

    def cancel(self, jobs: Sequence[str]) -> None:
        """End jobs."""


class SlurmCluster:
    """Slurm, by submitit and the commands `squeue` and `scancel`.

    submitit asks accounting whether a job is over. Many clusters have none, so the queue itself is
    asked here.

    Args:
        folder: where the files of jobs are, which every node must see.
        config: what jobs ask for.

    Raises:
        RequestError: one line, if there is no Slurm here, the partition is not there, or the nodes
            cannot see the folder.
    """

    array = ARRAY

    def __init__(self, folder: Path, config: SlurmConfig) -> None:
        for command in ("sbatch", "squeue", "srun"):
            if shutil.which(command) is None:
                raise RequestError(f"executor slurm: no Slurm on this machine ({command} is not)")
        _check_seen(folder)
        self._folder, self._config = folder, config
        self._limit = _partition_limit(config.partition)

    def submit(self, calls: Sequence[Call], minutes: int) -> list[str]:
        """Submit units as one array."""
        from submitit import SlurmExecutor as Submitter
        from submitit.core.utils import FailedJobError, FailedSubmissionError

        submitter = Submitter(self._folder)
        submitter.update_parameters(**self._parameters(minutes))
        functions, units = zip(*calls, strict=True)
        try:
            with _no_interrupts():
                jobs = submitter.map_array(carry_out, functions, units)
        except (FailedJobError, FailedSubmissionError, subprocess.SubprocessError) as error:
            raise RequestError(f"executor slurm: {_said(str(error))}") from None
        except OSError as error:
            said = f"cannot write {self._folder}: {error.strerror}"
            raise RequestError(f"executor slurm: {said}") from None
        return [job.job_id for job in jobs]

    def _parameters(self, minutes: int) -> dict[str, Any]:
        config = self._config
        asked: dict[str, Any] = {
            "partition": config.partition,
            "account": config.account,
            "qos": config.qos,
            "constraint": config.constraint,
            "gpus_per_node": config.gpus,
            "mem": f"{config.memory}GB" if config.memory else "",
        }
        return {
            "job_name": "formalbench",
            "time": minutes if self._limit is None else min(minutes, self._limit),
            "cpus_per_task": config.cpus,
            "array_parallelism": config.parallel,
            "stderr_to_stdout": True,
            "signal_delay_s": 0,  # no warning of the end: it would kill a short job as it starts
            **{key: value for key, value in asked.items() if value},
        }

    def alive(self, jobs: Collection[str]) -> set[str] | None:
        """Ask the queue: all that is this user's, whatever is asked about."""
        done = _slurm("squeue", "--me", "--noheader", "--array", "--format=%i")
        return None if done.returncode else set(done.stdout.split())

    def cancel(self, jobs: Sequence[str]) -> None:
        """Have them cancelled; those that are over are none of Slurm's concern."""
        for first in range(0, len(jobs), AT_ONCE):
            _slurm("scancel", *jobs[first : first + AT_ONCE])


@contextlib.contextmanager
def _no_interrupts() -> Iterator[None]:
    """Keep Ctrl-C from the commands that are started: one would submit and not say what."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _slurm(*command: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)  # noqa: S603
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, "", "no answer")


def _check_seen(folder: Path) -> None:
    """Refuse a folder that other machines cannot have: jobs would start and find nothing.

    Raises:
        RequestError: one line.
    """
    here = socket.gethostname().partition(".")[0]
    nodes = set(_slurm("sinfo", "--noheader", "--Node", "--format=%N").stdout.split()) - {here}
    temporary = {tempfile.gettempdir(), *OWN_FOLDERS}
    if nodes and any(folder.resolve().is_relative_to(Path(own).resolve()) for own in temporary):
        raise RequestError(
            f"executor slurm: {folder.parent} is a folder of this machine alone, and jobs run on "
            f"{min(nodes)}: name one that every node sees with --results"
        )


def _partition_limit(name: str) -> int | None:
    """Return the longest a job may take in a partition, in minutes; None for any time.

    Raises:
        RequestError: if there is no such partition, or no controller to ask.
    """
    done = _slurm("sinfo", "--all", "--noheader", "--format=%P %l")
    if done.returncode:
        raise RequestError(f"executor slurm: Slurm does not answer: {_said(done.stderr)}")
    limits = dict(line.split()[:2] for line in done.stdout.splitlines())
    default = next((key.rstrip("*") for key in limits if key.endswith("*")), "")
    limits = {key.rstrip("*"): limit for key, limit in limits.items()}
    asked = name or default
    if name and name not in limits:
        close = nearest(name, limits, count=1)
        hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(sorted(limits))}"
        raise RequestError(f"executor slurm: no partition {name!r} on this cluster: {hint}")
    return _minutes(limits.get(asked, ""))


def _minutes(limit: str) -> int | None:
    """Return the minutes of ``3-12:30:00``, ``12:30:00`` or ``30:00``; None for no limit."""
    found = re.fullmatch(r"(?:(\d+)-)?(?:(\d+):)?(\d+):\d+", limit)
    if found is None:
        return None
    days, hours, minutes = (int(part or 0) for part in found.groups())
    return days * 1440 + hours * 60 + minutes


def _said(error: str) -> str:
    """Return what a command of Slurm complained of, as one line."""
    lines = [line for line in error.splitlines() if "error:" in line] or error.splitlines()[-1:]
    return " ".join(line.partition("error:")[2].strip() or line.strip() for line in lines)


class LocalCluster:
    """Processes of this machine, started and watched over by submitit; the same files.

    Args:
        folder: where the files of jobs are.
        config: what jobs ask for.
    """

    array = 1

    def __init__(self, folder: Path, config: SlurmConfig) -> None:
        self._folder, self._gpus = folder, config.gpus
        self._started: dict[str, Any] = {}

    def submit(self, calls: Sequence[Call], minutes: int) -> list[str]:
        """Start a process for each."""
        from submitit import LocalExecutor as Submitter

        submitter = Submitter(self._folder)
        submitter.update_parameters(timeout_min=minutes, gpus_per_node=self._gpus)
        started = {
            job.job_id: job for job in (submitter.submit(carry_out, *call) for call in calls)
        }
        self._started |= started
        return list(started)

    def alive(self, jobs: Collection[str]) -> set[str]:
        """Look for their processes."""
        return {job for job in jobs if self._is_alive(job)}

    def _is_alive(self, job: str) -> bool:
        if started := self._started.get(job):
            return not started.done()
        try:
            os.kill(int(job), 0)
        except (ProcessLookupError, PermissionError):  # or its number is somebody else's now
            return False
        return True

    def cancel(self, jobs: Sequence[str]) -> None:
        """End what watches over them, which ends them."""
        for job in jobs:
            with contextlib.suppress(OSError):
                os.kill(int(job), signal.SIGINT)
