"""The executor ``slurm``: what it submits, what it finds again, and what it gives up."""

import os
import pickle
import signal
import threading
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
from formalbench import RequestError
from formalbench_executors import slurm, slurm_queue
from formalbench_executors.slurm import JobLostError, SlurmConfig, SlurmExecutor
from waiting import PATIENCE, until


@dataclass(frozen=True)
class Piece:
    """What an executor sees of a unit."""

    names: tuple[str, ...]
    progress: Path | None = None
    limit: float | None = None
    threads: int = 1
    cores: int = 1

    @property
    def runs(self):
        protocol = SimpleNamespace(time_limit=self.limit)
        return [SimpleNamespace(protocol=protocol) for _ in self.names]


class Scripted:
    """A cluster whose jobs do what the test says."""

    array = 3

    def __init__(self, folder):
        self.folder, self.arrays, self.queue, self.cancelled = folder, [], set(), []
        self.refusal, self.silent, self.known, self.asked = None, False, {}, 0

    def submit(self, calls, minutes, name):
        self.asked += 1
        if self.refusal:
            raise RequestError(self.refusal)
        self.arrays.append([unit.names for _, unit in calls])
        ids = [f"{len(self.arrays)}_{index}" for index in range(len(calls))]
        self.known |= {job: (call, minutes) for job, call in zip(ids, calls, strict=True)}
        self.queue |= set(ids)
        return ids

    def find(self, name):
        return None

    def alive(self):
        self.asked += 1
        return None if self.silent else set(self.queue)

    def cancel(self, jobs):
        self.cancelled += jobs
        self.queue -= set(jobs)

    def finish(self, job, outcome="success", answer=(True, "done")):
        path = self.folder / slurm_queue.result_name(job)
        path.with_suffix(".part").write_bytes(pickle.dumps((outcome, answer)))
        path.with_suffix(".part").rename(path)
        self.queue.discard(job)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(slurm, "TICK", 0.01)
    monkeypatch.setattr(slurm, "QUIET", 0.05)


@pytest.fixture
def cluster(tmp_path):
    return Scripted(tmp_path)


@pytest.fixture
def make(tmp_path, cluster):
    """Make an executor, as a session does; it is closed at the end."""
    made = []

    def make(**options):
        config = SlurmConfig(**{"poll": 0.1, "grace": 0.0, **options})
        made.append(SlurmExecutor(cluster, tmp_path, config))
        return made[-1]

    yield make
    for executor in made:
        executor.shutdown(wait=False, cancel_futures=True)


def ask_again(cluster):
    """Wait until the executor has asked the cluster some times more."""
    enough = cluster.asked + 4
    until(lambda: cluster.asked >= enough)


def test_units_handed_over_together_are_arrays(make, cluster):
    executor = make()
    futures = [executor.submit(len, Piece((f"r{n}",))) for n in range(4)]
    until(lambda: len(cluster.arrays) == 2)
    assert cluster.arrays == [[("r0",), ("r1",), ("r2",)], [("r3",)]]
    cluster.finish("1_1")
    assert futures[1].result(PATIENCE) == "done"
    assert not any(futures[n].done() for n in (0, 2, 3))


def test_a_job_has_its_protocols_time_and_an_hour(make, cluster):
    executor = make(cpus=4)
    executor.submit(len, Piece(("a", "b"), limit=600.0))
    executor.submit(len, Piece(("c",)))
    until(lambda: len(cluster.known) == 2)
    minutes = {call[1].names: minutes for call, minutes in cluster.known.values()}
    assert minutes == {("a", "b"): 20 + slurm.TESTING, ("c",): slurm.UNLIMITED}
    assert {call[1].cores for call, _ in cluster.known.values()} == {4}
    assert SlurmConfig(minutes=7).minutes_of(Piece(("a",), limit=600.0)) == 7


def test_what_a_job_does_is_an_answer_and_a_warning_of_its_end_is_none():
    def refuse(unit):
        raise RequestError(unit)

    before = signal.getsignal(signal.SIGUSR2)
    try:
        assert slurm_queue.carry_out(lambda unit: os.kill(unit, signal.SIGUSR2), os.getpid())[0]
    finally:
        signal.signal(signal.SIGUSR2, before)
    done, error = slurm_queue.carry_out(refuse, "no")
    assert (done, str(error)) == (False, "no")


@pytest.mark.parametrize("outcome", ["error", "unreadable"])
def test_a_job_that_fails_before_its_unit_is_lost(make, cluster, outcome):
    future = make().submit(len, Piece(("a",)))
    until(lambda: cluster.queue)
    if outcome == "error":
        cluster.finish("1_0", "error", "Traceback\nUncompletedJobError: timed-out")
    else:
        (cluster.folder / slurm_queue.result_name("1_0")).write_bytes(b"nonsense")
    with pytest.raises(JobLostError, match=r"timed-out|cannot be read"):
        future.result(PATIENCE)


def test_a_job_that_leaves_the_queue_without_a_result_is_lost_and_no_other(make, cluster):
    executor = make()
    lost, other = (executor.submit(len, Piece((name,))) for name in "ab")
    until(lambda: cluster.queue)
    cluster.queue.discard("1_0")
    with pytest.raises(JobLostError, match="job 1_0 left the queue") as caught:
        lost.result(PATIENCE)
    assert str(caught.value).endswith(f"nor a log: do the nodes see {cluster.folder.parent}?")
    assert not other.done()
    assert executor.holder("a") is None  # so it is submitted again
    assert executor.holder("b") == "1_1"


def test_a_result_may_come_late(make, cluster):
    future = make(grace=600.0).submit(len, Piece(("a",)))
    until(lambda: cluster.queue)
    cluster.queue.clear()
    ask_again(cluster)
    assert not future.done()
    cluster.finish("1_0")
    assert future.result(PATIENCE) == "done"


def test_the_next_session_finds_what_is_alive_and_submits_only_the_rest(make, cluster):
    first = make()
    first.submit(len, Piece(("a", "b", "c"), first.progress_file(("a", "b", "c"))))
    first.submit(len, Piece(("d",)))
    until(lambda: len(cluster.queue) == 2)
    assert first.detach() == 2
    cluster.queue.discard("1_1")
    second = make()
    assert [second.holder(run) for run in "abcd"] == ["1_0"] * 3 + [None]
    assert second.progress_file(("b",)) == first.progress_file(("a", "b", "c"))
    found = second.submit(len, Piece(("b",)))
    second.submit(len, Piece(("d",)))
    until(lambda: len(cluster.arrays) == 2)
    assert cluster.arrays[1] == [("d",)]
    cluster.finish("1_0")
    assert found.result(PATIENCE) == "done"
    assert cluster.cancelled == []


def test_what_dead_jobs_left_goes_but_for_what_they_printed(make, cluster, tmp_path):
    first = make()
    first.submit(len, Piece(("a",)))
    until(lambda: cluster.queue)
    first.detach()
    cluster.queue.clear()
    log = slurm_queue.log_of(tmp_path, "1_0")
    log.write_text("killed")
    make()
    assert [path for path in tmp_path.iterdir() if path.is_file()] == [log]


def test_a_damaged_ledger_costs_no_more_than_doing_it_again(make, cluster, tmp_path):
    (tmp_path / "9.jobs").write_text('[["9_0"')
    (tmp_path / "8.jobs").write_text("[[8]]")
    cluster.queue = {"9_0", "8"}
    assert make().holder("a") is None


def test_shutting_down_cancels_and_detaching_does_not(make, cluster):
    first = make()
    left = first.submit(len, Piece(("a",)))
    until(lambda: cluster.queue)
    unsubmitted = first.submit(len, Piece(("b",)))
    assert first.detach() == 1
    first.shutdown(wait=False, cancel_futures=True)  # as any session ends
    assert cluster.cancelled == []
    assert left.cancelled()
    assert unsubmitted.cancelled()
    assert cluster.arrays == [[("a",)]]
    assert first.cancel_command == "scancel 1"
    second = make()
    second.submit(len, Piece(("c",)))
    until(lambda: "2_0" in cluster.queue)
    second.shutdown(wait=False, cancel_futures=True)
    assert cluster.cancelled == ["2_0"]
    with pytest.raises(RuntimeError, match="shut down"):
        second.submit(len, Piece(("d",)))


def test_to_cancel_a_future_ends_its_job(make, cluster):
    executor = make()
    running = executor.submit(len, Piece(("a",)))
    until(lambda: cluster.queue)
    assert running.cancel()
    until(lambda: cluster.cancelled == ["1_0"])
    waiting = executor.submit(len, Piece(("b",)))
    assert waiting.cancel()
    other = executor.submit(len, Piece(("c",)))
    until(lambda: len(cluster.arrays) == 2)
    assert cluster.arrays[1] == [("c",)]
    assert not other.done()


def test_progress_of_an_earlier_job_is_not_taken_for_this_ones(make, cluster):
    executor = make()
    path = executor.progress_file(("a",))
    path.write_text('{"event": "finished", "run": "x"}\n')
    executor.submit(len, Piece(("a",), path))
    until(lambda: cluster.queue)
    assert not path.exists()


def test_a_session_can_wait_for_its_jobs(make, cluster):
    executor = make()
    future = executor.submit(len, Piece(("a",)))
    until(lambda: cluster.queue)
    threading.Timer(0.2, cluster.finish, ("1_0",)).start()
    executor.shutdown()
    assert future.result(0) == "done"
    assert cluster.cancelled == []


def test_the_folder_of_jobs_is_the_users_own(tmp_path):
    folder = slurm_queue.private_folder(tmp_path / "results")
    for _ in range(2):
        slurm_queue.make_private(folder)
        assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o777)
    with pytest.raises(RequestError, match="nobody else can write to"):
        slurm_queue.make_private(folder)
    folder.rmdir()
    folder.symlink_to(tmp_path)
    with pytest.raises(RequestError, match="must be a folder"):
        slurm_queue.make_private(folder)


@pytest.mark.parametrize(
    ("told", "minutes"),
    [("infinite", None), ("30:00", 30), ("2:05:00", 125), ("3-01:00:00", 4380), ("n/a", None)],
)
def test_time_limits_are_read(told, minutes):
    assert slurm_queue._minutes(told) == minutes


def test_what_is_asked_of_slurm(pretend, tmp_path):
    """No more time than the partition gives, and no warning of its end, which would be an end."""
    submitted = pretend("", "gpu 2-00:00:00")
    config = SlurmConfig(partition="gpu", gpus=1, cpus=4, memory=8, parallel=1)
    cluster = slurm_queue.SlurmCluster(tmp_path / "jobs", config)
    assert cluster.submit([(len, "a"), (len, "bc")], 9999, "mine") == ["7_0", "7_1"]
    lines = submitted.read_text().splitlines()
    asked = {line.removeprefix("#SBATCH --") for line in lines if line.startswith("#SBATCH ")}
    assert asked >= {
        *("array=0-1%1", "partition=gpu", "gpus-per-node=1", "cpus-per-task=4", "mem=8GB"),
        *("time=2880", "signal=USR2@0", "job-name=mine"),
    }


def test_a_folder_without_room_is_one_line(pretend, tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    pretend("")
    cluster = slurm_queue.SlurmCluster(tmp_path / "jobs", SlurmConfig())
    monkeypatch.setattr("submitit.core.utils.DelayedSubmission.dump", full)
    with pytest.raises(RequestError, match=r"cannot write .*jobs: No space left on device"):
        cluster.submit([(len, "a"), (len, "bc")], 10, "mine")
