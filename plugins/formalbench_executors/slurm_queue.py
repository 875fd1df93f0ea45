"""Slurm's commands, and a ledger of jobs and their runs.

Its folder is in the results folder, which all machines share. It must belong to one user only,
because results of jobs are unpickled from it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formalbench.contracts.errors import FormalbenchError, RequestError, nearest
from formalbench.files import read_plain, write_atomically
from formalbench.running.processes import no_interrupts

if TYPE_CHECKING:
    from formalbench_executors.slurm import SlurmConfig


Answer = tuple[bool, Any]
"""Whether the call returned, and its result or exception."""


def carry_out(function: Callable[[Any], Any], unit: object) -> Answer:
    """Call a function in a job, and return its result or formalbench's own exception.

    The warning before the time limit is ignored, so that the job is killed if it does not finish:
    submitit would raise an exception inside the unit, which would look like the model's own.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    try:
        return True, function(unit)
    except FormalbenchError as error:
        return False, error


PATIENCE = 60.0
"""Time limit for a Slurm command, in seconds."""

AT_ONCE = 500
"""Maximum jobs per command."""

ARRAY = 1000
"""Maximum units in an array, which is Slurm's default limit."""

OWN_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm", "/run")  # noqa: S108
"""Folders that each machine has for itself."""

Call = tuple[Any, object]
"""A function and its argument, a unit."""


class SlurmCluster:
    """Slurm, through submitit and the commands `squeue` and `scancel`.

    submitit uses Slurm's accounting to find out whether a job has ended. Many clusters have no
    accounting, so this class polls the queue instead.

    Args:
        folder: the folder of the jobs' files, which every node must see.
        config: the resources of jobs.

    Raises:
        RequestError: one line, if Slurm or the partition is missing, or the nodes cannot see the
            folder.
    """

    array = ARRAY

    def __init__(self, folder: Path, config: SlurmConfig) -> None:
        for command in ("sbatch", "squeue", "srun"):
            if shutil.which(command) is None:
                raise RequestError(
                    f"executor slurm: Slurm is not installed on this machine ({command} not found)"
                )
        _check_seen(folder)
        self._folder, self._config = folder, config
        self._limit = _partition_limit(config.partition)

    def submit(self, calls: Sequence[Call], minutes: int, name: str) -> list[str]:
        """Submit units as one array under a name, and return the jobs' ids."""
        from submitit import SlurmExecutor as Submitter
        from submitit.core.utils import FailedJobError, FailedSubmissionError

        submitter = Submitter(self._folder)
        submitter.update_parameters(job_name=name, **self._parameters(minutes))
        functions, units = zip(*calls, strict=True)
        try:
            with no_interrupts():  # an interrupted command would submit jobs without their ids
                jobs = submitter.map_array(carry_out, functions, units)
        except (FailedJobError, FailedSubmissionError, subprocess.SubprocessError) as error:
            raise RequestError(f"executor slurm: {_error_text(str(error))}") from None
        except OSError as error:
            message = f"cannot write {self._folder}: {error.strerror}"
            raise RequestError(f"executor slurm: {message}") from None
        return [job.job_id for job in jobs]

    def _parameters(self, minutes: int) -> dict[str, Any]:
        config = self._config
        options: dict[str, Any] = {
            "partition": config.partition,
            "account": config.account,
            "qos": config.qos,
            "constraint": config.constraint,
            "gpus_per_node": config.gpus,
            "mem": f"{config.memory}GB" if config.memory else "",
        }
        return {
            "time": minutes if self._limit is None else min(minutes, self._limit),
            "cpus_per_task": config.cpus,
            "array_parallelism": config.parallel,
            "stderr_to_stdout": True,
            "signal_delay_s": 0,  # no early warning: it would kill a short job at its start
            **{key: value for key, value in options.items() if value},
        }

    def alive(self) -> set[str] | None:
        """Return this user's queued and running jobs; None if the queue does not answer."""
        result = _slurm("squeue", "--me", "--noheader", "--array", "--format=%i")
        return None if result.returncode else set(result.stdout.split())

    def find(self, name: str) -> str | None:
        """Return the id of the array with a name; None if it is not in the queue."""
        result = _slurm("squeue", "--me", "--noheader", f"--name={name}", "--format=%F")
        if result.returncode:
            raise RequestError("executor slurm: Slurm does not say which jobs are queued")
        return next(iter(result.stdout.split()), None)

    def cancel(self, jobs: Sequence[str]) -> None:
        """Cancel jobs; Slurm ignores those that have ended."""
        for first in range(0, len(jobs), AT_ONCE):
            _slurm("scancel", *jobs[first : first + AT_ONCE])


def _slurm(*command: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)  # noqa: S603
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, "", "no answer")


def _check_seen(folder: Path) -> None:
    """Refuse a folder that other machines cannot see, in which jobs would find no files."""
    host = socket.gethostname().partition(".")[0]
    nodes = set(_slurm("sinfo", "--noheader", "--Node", "--format=%N").stdout.split()) - {host}
    temporary = {tempfile.gettempdir(), *OWN_FOLDERS}
    if nodes and any(folder.resolve().is_relative_to(Path(own).resolve()) for own in temporary):
        raise RequestError(
            f"executor slurm: {folder.parent} is a folder of this machine alone, and jobs run on "
            f"{min(nodes)}: name one that every node sees with --results"
        )


def _partition_limit(name: str) -> int | None:
    """Return the time limit of a partition in minutes; None for no limit."""
    result = _slurm("sinfo", "--all", "--noheader", "--format=%P %l")
    if result.returncode:
        raise RequestError(f"executor slurm: Slurm does not answer: {_error_text(result.stderr)}")
    limits = dict(line.split()[:2] for line in result.stdout.splitlines())
    default = next((key.rstrip("*") for key in limits if key.endswith("*")), "")
    limits = {key.rstrip("*"): limit for key, limit in limits.items()}
    if name and name not in limits:
        near = nearest(name, limits, count=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(limits))}"
        raise RequestError(f"executor slurm: no partition {name!r} on this cluster: {hint}")
    return _minutes(limits.get(name or default, ""))


def _minutes(limit: str) -> int | None:
    """Return the minutes of ``3-12:30:00``, ``12:30:00`` or ``30:00``; None for no limit."""
    match = re.fullmatch(r"(?:(\d+)-)?(?:(\d+):)?(\d+):\d+", limit)
    if match is None:
        return None
    days, hours, minutes = (int(part or 0) for part in match.groups())
    return days * 1440 + hours * 60 + minutes


def _error_text(error: str) -> str:
    """Return the error message of a Slurm command as one line."""
    lines = [line for line in error.splitlines() if "error:" in line] or error.splitlines()[-1:]
    return " ".join(line.partition("error:")[2].strip() or line.strip() for line in lines)


MAX_BYTES = 64 << 20
"""Maximum bytes of a file; an array of a thousand units of ten runs takes half a megabyte."""


@dataclass(frozen=True)
class Job:
    """A unit that was submitted, or is about to be.

    Attributes:
        job_id: the id in the queue, ``12`` or ``12_3``; empty until it is known.
        key: the base name of the unit's files.
        runs: the names of its runs.
    """

    job_id: str
    key: str
    runs: tuple[str, ...]


def key_of(runs: Sequence[str]) -> str:
    """Return the base name of the files of a unit with some runs."""
    return hashlib.sha256("\n".join(runs).encode()).hexdigest()[:24]


def result_name(job_id: str) -> str:
    """Return the name of a job's result file."""
    return f"{job_id}_0_result.pkl"


def log_of(folder: Path, job_id: str) -> Path:
    """Return the log file of a job's output."""
    return folder / f"{job_id}_0_log.out"


def forget_files(folder: Path, job: Job) -> None:
    """Delete the files of a job that has ended, except its log."""
    for name in (f"{job.job_id}_submitted.pkl", result_name(job.job_id), f"{job.key}.progress"):
        (folder / name).unlink(missing_ok=True)


def hand_over(folder: Path, name: str, jobs: Sequence[Job]) -> None:
    """Rename the files with units for their jobs, if a killed session had not done so.

    Files of jobs without an id, which are not in the queue, are deleted.
    """
    from submitit.core.utils import DelayedSubmission

    for script in folder.glob(".submission_file_*.sh"):
        if not script.is_symlink() and f"--job-name={name}\n" in script.read_text():
            script.unlink()
    by_runs = {job.runs: job for job in jobs}
    for path in folder.glob("*.pkl"):
        if not re.fullmatch(r"[0-9a-f]{32}", path.stem):
            continue
        with contextlib.suppress(Exception):  # a damaged file may raise anything
            job = by_runs[DelayedSubmission.load(path).args[1].names]
            if job.job_id:
                path.rename(folder / f"{job.job_id}_submitted.pkl")
            else:
                path.unlink()


def private_folder(store: Path) -> Path:
    """Return the path of this user's own folder in a results folder."""
    return store / f".slurm-{os.geteuid()}"


def make_private(folder: Path) -> None:
    """Create a folder that only this user can write to, unless it exists."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        facts = folder.lstat()
    except OSError as error:
        raise RequestError(f"cannot make {folder}: {error.strerror}") from None
    writable = stat.S_IWGRP | stat.S_IWOTH
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.geteuid() or facts.st_mode & writable:
        raise RequestError(f"{folder}: must be a folder that you own and nobody else can write to")


SETTLE = PATIENCE
"""Seconds within which a submission can reach the queue, even if its session was killed."""


class Ledger:
    """A record on disk of which job does which runs.

    Each submission has a file with its name, which is written before the submission. If a session
    is killed before it knows the jobs' ids, the next session looks up the name in the queue.

    Args:
        folder: the folder of its files, one per submission.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._jobs: dict[str, Job] = {}
        self._holders: dict[str, Job] = {}

    def settle(self, find: Callable[[str], str | None]) -> None:
        """Find the jobs of submissions whose session was killed before it knew their ids.

        `find` returns the id of a submission by its name, such as `SlurmCluster.find`.
        """
        for file in self._files():
            while (jobs := _read(file)) and not jobs[0].job_id:
                if (array_id := find(file.stem)) is not None:
                    ids = [f"{array_id}_{index}" for index in range(len(jobs))]
                    ids = ids if len(jobs) > 1 else [array_id]
                    jobs = [replace(job, job_id=one) for job, one in zip(jobs, ids, strict=True)]
                    self._write(file.stem, jobs)
                    hand_over(self._folder, file.stem, jobs)
                elif _age(file) > SETTLE:
                    file.unlink(missing_ok=True)
                    hand_over(self._folder, file.stem, jobs)
                else:
                    time.sleep(0.5)

    def load(self, alive: Collection[str]) -> None:
        """Read the jobs of earlier sessions that are alive; delete the files of other jobs."""
        for file in self._files():
            jobs = _read(file)
            living = [job for job in jobs if job.job_id in alive]
            for job in living:
                self._register(job)
            if not living:
                for job in jobs:
                    forget_files(self._folder, job)
                file.unlink(missing_ok=True)
                for first in {job.job_id.partition("_")[0] for job in jobs}:
                    (self._folder / f"{first}_submission.sh").unlink(missing_ok=True)
        for link in self._folder.glob(".submission_file_*"):
            if link.is_symlink() and not link.exists():
                link.unlink(missing_ok=True)

    def _files(self) -> list[Path]:
        return sorted(self._folder.glob("*.jobs"))

    def intend(self, jobs: Sequence[Job]) -> str:
        """Record jobs that are about to be submitted together; return the submission's name."""
        name = f"formalbench-{uuid.uuid4().hex[:12]}"
        self._write(name, jobs)
        return name

    def add(self, name: str, jobs: Sequence[Job]) -> None:
        """Record jobs that were submitted under a name."""
        for job in jobs:
            self._register(job)
        self._write(name, jobs)

    def withdraw(self, name: str) -> None:
        """Remove a submission that was refused."""
        (self._folder / f"{name}.jobs").unlink(missing_ok=True)

    def _write(self, name: str, jobs: Sequence[Job]) -> None:
        rows = [[job.job_id, job.key, *job.runs] for job in jobs]
        write_atomically(self._folder / f"{name}.jobs", json.dumps(rows))

    def holder(self, run: str) -> Job | None:
        """Return the job that does a run; None if there is none."""
        return self._holders.get(run)

    def drop(self, job_id: str) -> None:
        """Remove a job that has ended, with or without success."""
        job = self._jobs.pop(job_id, None)
        for run in job.runs if job else ():
            if self._holders.get(run) is job:
                del self._holders[run]

    def _register(self, job: Job) -> None:
        self._jobs[job.job_id] = job
        self._holders.update(dict.fromkeys(job.runs, job))


def _age(file: Path) -> float:
    """Return the age of a file in seconds; 0 if it no longer exists."""
    try:
        return time.time() - file.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _read(file: Path) -> list[Job]:
    """Read one file; a damaged one has no jobs, whose units are then done again."""
    try:
        rows = json.loads(read_plain(file, MAX_BYTES))
        return [Job(job_id, key, tuple(runs)) for job_id, key, *runs in rows]
    except (RequestError, ValueError, TypeError):
        return []
