"""A real Slurm on this machine (`make test-slurm`): what is lost, and that nothing else is."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from formalbench.store import Store

pytestmark = pytest.mark.slurm

MODELS = Path(__file__).parents[2] / "benchmark" / "plugins" / "odd_models.py"
PATIENCE = 240.0

SLOW = ("--set", "protocol.steps=300")


def until(condition, session=None):
    """Wait for a condition; return what it then says."""
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        if session is not None and session.poll() is not None:
            raise AssertionError(session.communicate())
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.1)
    return found


@pytest.fixture
def request_of(tiny):
    """Return the words of a request."""

    def words(executor, results, *more):
        asked = ("--set", "executor.poll=0.5", "--set", "executor.grace=2")
        return [
            *("-m", "formalbench", "run", "--model", "slow", "--task", "first", "--seeds", 3),
            *("--protocol", "tiny", "--plugin", tiny, "--plugin", MODELS, *SLOW, "--json"),
            *("--results", results, "--executor", executor, *more),
            *(asked if executor == "slurm" else ("--jobs", 2)),
        ]

    return words


@pytest.fixture
def calm(spawn, request_of, tmp_path_factory):
    """Return what an undisturbed run on this machine gives; it is done once."""
    if not _calm:
        folder = tmp_path_factory.mktemp("calm")
        _calm.extend(numbers(finish(spawn(*request_of("local", folder)))))
    return [*_calm]


_calm = []


def numbers(rows):
    return [(row["seed"], row["status"], row["selected"], row["test"]["cells"]) for row in rows]


def finish(session, code=0):
    out, err = session.communicate(timeout=PATIENCE)
    assert session.returncode == code, err
    return json.loads(out)


def worker_of(slurm, job):
    """Return the process that does a job's unit."""
    found = subprocess.run(["pgrep", "-f", "submitit.core._submit"], capture_output=True, text=True)
    for pid in map(int, found.stdout.split()):
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended since it was found
        own = dict(part.split(b"=", 1) for part in environment if b"=" in part)
        name = own.get(b"SLURM_JOB_ID", b"").decode()
        if b"SLURM_ARRAY_TASK_ID" in own:
            array, index = own[b"SLURM_ARRAY_JOB_ID"], own[b"SLURM_ARRAY_TASK_ID"]
            name = f"{array.decode()}_{index.decode()}"
        if name == job and b"SLURM_PROCID" in own:
            return pid
    return None


def test_what_faults_leave_equals_an_undisturbed_run(slurm, spawn, request_of, calm, tmp_path):
    """One job is cancelled, a worker killed, the controller restarted, and the command killed."""
    results = tmp_path / "rough"
    session = spawn(*request_of("slurm", results))
    until(slurm.jobs, session)
    first = slurm.jobs()[0]
    slurm.call("scancel", first)
    until(lambda: any(job != first for job in slurm.jobs()), session)
    second = next(job for job in slurm.jobs() if job != first)
    os.kill(until(lambda: worker_of(slurm, second), session), signal.SIGKILL)
    until(lambda: any(job not in (first, second) for job in slurm.jobs()), session)
    slurm.stop("slurmctld")
    time.sleep(2.0)
    slurm.start_controller()
    until(lambda: Store(results).records(), session)
    session.kill()
    session.wait()
    kept = {path: path.read_bytes() for path in results.rglob("*.json")}
    before = submissions(results)
    again = finish(spawn(*request_of("slurm", results)))
    assert numbers(again) == calm
    assert {path: path.read_bytes() for path in kept} == kept
    assert len(submissions(results) | before) <= 3 + 2  # three runs, and one for each lost job


def submissions(results):
    """Return the arrays that were submitted, as far as their scripts are there."""
    return {path.name for path in results.glob(".slurm-*/*_submission.sh")}


def test_another_shell_finds_the_jobs_that_ctrl_c_left(slurm, spawn, request_of, tmp_path):
    session = spawn(*request_of("slurm", tmp_path))
    until(slurm.jobs, session)
    os.killpg(session.pid, signal.SIGINT)
    _, err = session.communicate(timeout=PATIENCE)
    assert session.returncode == 130
    assert "3 jobs are left; the same command finds them again; to cancel: scancel " in err
    queued = slurm.call("squeue", "-h", "-r", "--format=%i").split()
    assert len(queued) == 3
    rows = finish(spawn(*request_of("slurm", tmp_path)))
    assert [row["status"] for row in rows] == ["finished"] * 3
    assert newest(slurm) == max(int(job.partition("_")[0]) for job in queued)


def test_a_kill_after_sbatch_submits_nothing_twice(slurm, spawn, request_of, calm, tmp_path):
    sbatch = tmp_path / "bin" / "sbatch"
    sbatch.parent.mkdir()
    sbatch.write_text(f'#!/bin/sh\n{shutil.which("sbatch")} "$@"\nkill -9 $PPID\n')
    sbatch.chmod(0o755)
    results = tmp_path / "rough"
    path = f"{sbatch.parent}:{os.environ['PATH']}"
    assert spawn(*request_of("slurm", results), PATH=path).wait() == -signal.SIGKILL
    submitted = newest(slurm)
    assert numbers(finish(spawn(*request_of("slurm", results)))) == calm
    assert newest(slurm) == submitted


def newest(slurm):
    """Return the number of the array that was submitted last."""
    every = slurm.call("squeue", "-h", "-r", "--states=all", "--format=%i").split()
    return max(int(job.partition("_")[0]) for job in every)


def test_a_drained_node_ends_what_it_has_and_begins_no_other(
    slurm, spawn, request_of, calm, tmp_path
):
    node = f"nodename={socket.gethostname().partition('.')[0]}"
    session = spawn(*request_of("slurm", tmp_path))
    until(slurm.jobs, session)
    slurm.call("scontrol", "update", node, "state=drain", "reason=a test")
    try:
        begun = set(slurm.jobs())
        until(lambda: not slurm.jobs(), session)
        time.sleep(2.0)
        assert session.poll() is None
        assert slurm.jobs() == []
        assert len(Store(tmp_path).records()) == len(begun)
    finally:
        slurm.call("scontrol", "update", node, "state=resume")
    assert numbers(finish(session)) == calm
    assert newest(slurm) == int(min(begun).partition("_")[0])  # nothing was submitted again


@pytest.fixture
def small_disk(tmp_path):
    """Make a disk of a megabyte."""
    made = []

    def small_disk(name):
        folder = tmp_path / name
        folder.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder]).returncode:
            pytest.skip("needs to be allowed to mount a disk")
        made.append(folder)
        return folder

    yield small_disk
    for folder in made:
        subprocess.run(["umount", "--lazy", folder], check=True)


def fill(folder):
    """Leave no room, and return the file that takes it."""
    path = folder / "filler"
    with contextlib.suppress(OSError), path.open("ab", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)
    return path


def test_a_full_disk_loses_nothing_that_was_finished(
    slurm, spawn, request_of, calm, tmp_path, small_disk
):
    """That of the workers' caches is full from the start, that of the results later on."""
    cache, results = small_disk("cache"), small_disk("results")
    fill(cache)
    one_by_one = request_of("slurm", results, "--set", "executor.parallel=1")
    session = spawn(*one_by_one, FORMALBENCH_CACHE=str(cache))
    until(lambda: Store(results).records(), session)
    while session.poll() is None:  # what others delete makes room again
        filler = fill(results)
        time.sleep(0.05)
    out, err = session.communicate(timeout=PATIENCE)
    store, full = Store(results), "No space left on device"
    failed = [record for record in store.records() if record.status != "finished"]
    if session.returncode == 1:  # there was room for the record of a run, none for its weights
        assert failed
        assert all(full in record.message for record in failed)
    else:
        assert (session.returncode, out, failed) == (2, "", [])
        assert full in err.splitlines()[-1]
    done = [record for record in store.records() if record.status == "finished"]
    kept = {path: path.read_bytes() for path in map(store.path_of, done)}
    assert kept
    filler.unlink()
    again = finish(spawn(*one_by_one, FORMALBENCH_CACHE=str(cache)))
    assert numbers(again) == calm
    assert {path: path.read_bytes() for path in kept} == kept


def test_no_controller_is_one_line(slurm, spawn, request_of, tmp_path):
    slurm.stop("slurmctld")
    try:
        session = spawn(*request_of("slurm", tmp_path))
        _, err = session.communicate(timeout=PATIENCE)
    finally:
        slurm.start_controller()
    assert session.returncode == 2
    assert "executor slurm: Slurm does not answer" in err.splitlines()[-1]
