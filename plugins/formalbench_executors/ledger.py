"""The ledger: which job has which runs, on disk, so that any later session finds them.

Its folder lies in the results folder, which every machine sees, and belongs to one user: what jobs
leave there is unpickled.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from formalbench import RequestError
from formalbench.files import read_plain
from formalbench.store import write_atomically

MAX_BYTES = 64 << 20
"""Of one file; an array of a thousand units of ten runs has half a megabyte."""


@dataclass(frozen=True)
class Job:
    """A unit that was submitted.

    Attributes:
        job_id: as the queue shows it, ``12`` or ``12_3``.
        key: what the unit's files are named after.
        runs: the names of its runs.
    """

    job_id: str
    key: str
    runs: tuple[str, ...]


def key_of(runs: Sequence[str]) -> str:
    """Return what the files of a unit of some runs are named after."""
    return hashlib.sha256("\n".join(runs).encode()).hexdigest()[:24]


def result_name(job_id: str) -> str:
    """Return the name of the file that a job leaves its result in."""
    return f"{job_id}_0_result.pkl"


def log_of(folder: Path, job_id: str) -> Path:
    """Return the file that has what a job printed."""
    return folder / f"{job_id}_0_log.out"


def forget_files(folder: Path, job: Job) -> None:
    """Delete the files of a job that is over, but for what it printed."""
    for name in (f"{job.job_id}_submitted.pkl", result_name(job.job_id), f"{job.key}.progress"):
        (folder / name).unlink(missing_ok=True)


def private_folder(store: Path, name: str) -> Path:
    """Return the name of a folder of this user's own in a results folder."""
    return store / f".{name}-{os.geteuid()}"


def make_private(folder: Path) -> None:
    """Make a folder that nobody else can put files into, if it is not there.

    Raises:
        RequestError: if it cannot be made, or if somebody else could put files there.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        facts = folder.lstat()
    except OSError as error:
        raise RequestError(f"cannot make {folder}: {error.strerror}") from None
    others = stat.S_IWGRP | stat.S_IWOTH
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.geteuid() or facts.st_mode & others:
        raise RequestError(f"{folder}: must be a folder that you own and nobody else can write to")


class Ledger:
    """Which job has which runs.

    Args:
        folder: where its files are, one for each submission.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._jobs: dict[str, Job] = {}
        self._holders: dict[str, Job] = {}

    def submitted(self) -> set[str]:
        """Return the ids of all jobs that earlier sessions submitted, alive or not."""
        return {job.job_id for file in self._files() for job in _read(file)}

    def load(self, alive: Collection[str]) -> None:
        """Read what earlier sessions submitted and is alive; what is left of other jobs goes."""
        for file in self._files():
            jobs = _read(file)
            living = [job for job in jobs if job.job_id in alive]
            for job in living:
                self._hold(job)
            if not living:
                for job in jobs:
                    forget_files(self._folder, job)
                file.unlink(missing_ok=True)
                (self._folder / f"{file.stem}_submission.sh").unlink(missing_ok=True)
        for link in self._folder.glob(".submission_file_*"):
            if link.is_symlink() and not link.exists():
                link.unlink(missing_ok=True)

    def _files(self) -> list[Path]:
        return sorted(self._folder.glob("*.jobs"))

    def add(self, jobs: Sequence[Job]) -> None:
        """Write down jobs that were submitted together.

        Raises:
            RequestError: if it cannot be written.
        """
        for job in jobs:
            self._hold(job)
        rows = [[job.job_id, job.key, *job.runs] for job in jobs]
        first = jobs[0].job_id.partition("_")[0]
        write_atomically(self._folder / f"{first}.jobs", json.dumps(rows))

    def holder(self, run: str) -> Job | None:
        """Return the job that has a run; None for none."""
        return self._holders.get(run)

    def drop(self, job_id: str) -> None:
        """Forget a job that has ended, however it did."""
        job = self._jobs.pop(job_id, None)
        for run in job.runs if job else ():
            if self._holders.get(run) is job:
                del self._holders[run]

    def _hold(self, job: Job) -> None:
        self._jobs[job.job_id] = job
        self._holders.update(dict.fromkeys(job.runs, job))


def _read(file: Path) -> list[Job]:
    """Read one file; a damaged one costs no more than doing again what it told of."""
    try:
        rows = json.loads(read_plain(file, MAX_BYTES))
        return [Job(job_id, key, tuple(runs)) for job_id, key, *runs in rows]
    except (RequestError, ValueError, TypeError):
        return []
