"""A real Slurm on this machine (`make test-slurm`): what is lost, and that nothing else is."""

import json
import os
import signal
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
    end = time.monotonic() + PATIENCE
    while not condition():
        if session is not None and session.poll() is not None:
            raise AssertionError(session.communicate())
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.1)


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
        environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        own = dict(part.split(b"=", 1) for part in environment if b"=" in part)
        name = own.get(b"SLURM_JOB_ID", b"").decode()
        if b"SLURM_ARRAY_TASK_ID" in own:
            array, index = own[b"SLURM_ARRAY_JOB_ID"], own[b"SLURM_ARRAY_TASK_ID"]
            name = f"{array.decode()}_{index.decode()}"
        if name == job and b"SLURM_PROCID" in own:
            return pid
    return None


def test_what_faults_leave_equals_an_undisturbed_run(slurm, spawn, request_of, tmp_path):
    """One job is cancelled, a worker killed, the controller restarted, and the command killed."""
    calm = finish(spawn(*request_of("local", tmp_path / "calm")))
    results = tmp_path / "rough"
    session = spawn(*request_of("slurm", results))
    until(slurm.jobs, session)
    first = slurm.jobs()[0]
    slurm.call("scancel", first)
    until(lambda: any(job != first for job in slurm.jobs()), session)
    second = next(job for job in slurm.jobs() if job != first)
    until(lambda: worker_of(slurm, second), session)
    os.kill(worker_of(slurm, second), signal.SIGKILL)
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
    assert numbers(again) == numbers(calm)
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
    assert "3 jobs are left; the same command finds them again" in err
    queued = slurm.call("squeue", "-h", "-r", "--format=%i").split()
    assert len(queued) == 3
    rows = finish(spawn(*request_of("slurm", tmp_path)))
    assert [row["status"] for row in rows] == ["finished"] * 3
    last = slurm.call("squeue", "-h", "-r", "--states=all", "--format=%i").split()
    assert set(queued) <= set(last)
    newest = max(int(job.partition("_")[0]) for job in last)
    assert newest == max(int(job.partition("_")[0]) for job in queued)  # nothing was submitted


def test_a_unit_whose_jobs_are_lost_twice_is_a_record(slurm, spawn, request_of, tmp_path):
    session = spawn(*request_of("slurm", tmp_path, "--seeds", "1"))
    for _ in range(2):
        until(slurm.jobs, session)
        (job,) = slurm.jobs()
        slurm.call("scancel", job)
        until(lambda job=job: job not in slurm.jobs(), session)
    (row,) = finish(session, code=1)
    assert row["status"] == "error"
    assert row["message"].endswith("is in the queue no more and has left no result, twice")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("executor.partition=mian",), "no partition 'mian' on this cluster: did you mean main?"),
        (("executor.gpus=1",), "executor slurm:"),
    ],
)
def test_what_the_cluster_cannot_do_is_one_line(slurm, spawn, request_of, tmp_path, options, said):
    settings = [word for option in options for word in ("--set", option)]
    session = spawn(*request_of("slurm", tmp_path, *settings))
    out, err = session.communicate(timeout=PATIENCE)
    assert session.returncode == 2
    assert said in err.splitlines()[-1]
    assert out == ""


def test_no_controller_is_one_line(slurm, spawn, request_of, tmp_path):
    slurm.stop("slurmctld")
    try:
        session = spawn(*request_of("slurm", tmp_path))
        _, err = session.communicate(timeout=PATIENCE)
    finally:
        slurm.start_controller()
    assert session.returncode == 2
    assert "executor slurm: Slurm does not answer" in err.splitlines()[-1]
