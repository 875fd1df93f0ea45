"""Faults of a cluster that is played by threads: units, scheduler, executor and store are real."""

import contextlib
import pickle
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from formalbench import RequestError, Resources
from formalbench import store as storing
from formalbench.contracts.errors import UnwritableError
from formalbench.host import PluginHost
from formalbench.running.dispatch import Dispatcher
from formalbench.running.plan import RunOptions, RunRequest, make_plan
from formalbench.running.session import execute
from formalbench.running.units import ProgressFile
from formalbench.store import Store
from formalbench_executors import slurm, slurm_queue
from formalbench_executors.slurm_queue import carry_out

MODELS = Path(__file__).parents[2] / "benchmark" / "plugins" / "odd_models.py"

SEEDS = 3


class KilledError(BaseException):
    """Ends a job where it is."""


class Played:
    """A cluster of one node, whose jobs are threads.

    Args:
        folder: where results are.
        faults: by the order of submission, what befalls a job: ``mid`` kills it while it trains,
            ``after`` when its record is written, ``full`` fills the disk of its node.
    """

    array = 1000

    def __init__(self, folder, faults=()):
        self.folder, self.faults = folder, dict(faults)
        self.submitted, self.queue, self.cancelled = [], set(), []
        self.answers = threading.Event()
        self.up = threading.Event()
        self.answers.set(), self.up.set()

    def submit(self, calls, minutes, name):
        if not self.answers.is_set():
            raise RequestError("Unable to contact slurm controller")
        jobs = [str(len(self.submitted) + index) for index in range(len(calls))]
        self.queue |= {*jobs}
        for job, call in zip(jobs, calls, strict=True):
            self.submitted.append(call[1].names)
            threading.Thread(target=self._work, args=(job, *call), daemon=True).start()
        return jobs

    def find(self, name):
        return None

    def alive(self):
        return {*self.queue} if self.answers.is_set() else None

    def cancel(self, jobs):
        self.cancelled += jobs
        self.queue -= {*jobs}

    def _work(self, job, function, unit):
        self.up.wait()
        now.fault = self.faults.pop(int(job), None)
        with contextlib.suppress(KilledError):
            answer = carry_out(function, unit)
            if now.fault not in ("mid", "after"):
                path = self.folder / slurm_queue.result_name(job)
                path.with_suffix(".part").write_bytes(pickle.dumps(("success", answer)))
                path.with_suffix(".part").rename(path)
        self.queue.discard(job)


now = threading.local()
"""What is to befall the job of a thread."""


@pytest.fixture(autouse=True)
def _faults(own_place, all_here, monkeypatch):
    progress, write = ProgressFile.progress, storing.write_atomically

    def killed_in_training(file, run, told):
        progress(file, run, told)
        if getattr(now, "fault", None) == "mid":
            raise KilledError

    def no_room(path, contents):
        if getattr(now, "fault", None) == "full":
            raise UnwritableError(f"cannot write {path}: No space left on device")
        write(path, contents)

    monkeypatch.setattr(ProgressFile, "progress", killed_in_training)
    for owner in ("formalbench.cache", "formalbench.store"):
        monkeypatch.setattr(f"{owner}.write_atomically", no_room)
    monkeypatch.setattr(slurm, "TICK", 0.01)
    monkeypatch.setattr(slurm, "QUIET", 0.05)


@pytest.fixture
def session(tmp_path, tiny, monkeypatch):
    """Carry out one request on a cluster, or in this process."""
    host = PluginHost.load([tiny, MODELS])
    plan = make_plan(host, RunRequest(("bag",), ("first",), protocol="tiny", seeds=SEEDS))
    rough, calm = Store(tmp_path / "rough"), Store(tmp_path / "calm")

    def session(cluster=None):
        if cluster is None:
            return numbers(execute(host, plan, calm, RunOptions(jobs=1)))
        monkeypatch.setattr(slurm, "SlurmCluster", lambda folder, config: cluster)
        asked = {"poll": 0.1, "grace": 0.0}
        options = RunOptions(jobs=SEEDS, executor="slurm", config=asked)
        return numbers(execute(host, plan, rough, options))

    session.rough = rough
    session.folder = slurm_queue.private_folder(rough.path)
    return session


def numbers(found):
    """Return what a table is made of."""
    return [(one.seed, one.status, one.selected, one.test and one.test.cells) for one in found]


KILLED = """if True:
    import sys, time
    from dataclasses import dataclass
    from pathlib import Path
    from types import SimpleNamespace
    from formalbench import Resources
    from formalbench_executors import slurm

    @dataclass(frozen=True)
    class Piece:
        names: tuple
        progress: None = None
        threads: int = 1
        cores: int = 1
        runs = (SimpleNamespace(protocol=SimpleNamespace(time_limit=None)),)

    executor = slurm.make(Resources(store=Path(sys.argv[1])), slurm.SlurmConfig())
    for name in sys.argv[2:]:
        executor.submit(len, Piece((name,)))
    time.sleep(600)
"""
"""A session that is killed while it submits, as `sbatch` has done its part."""


@pytest.mark.parametrize("ids", [("7",), ("7_0", "7_1")])
@pytest.mark.parametrize("reached", [True, False])
def test_a_kill_while_units_are_submitted(pretend, tmp_path, spawn, monkeypatch, ids, reached):
    submitted, queue, names = pretend(""), tmp_path / "queue", "ab"[: len(ids)]
    commands = {
        "sbatch": f"cat $1 >> {submitted}\n"
        + f"sed -n 's/^#SBATCH --job-name=//p' $1 > {queue}\n" * reached
        + "kill -9 $PPID",
        "squeue": f'case "$*" in *--name=$(cat {queue})*) echo 7;; *--name=*) ;; '
        + f"*) test -s {queue} && printf '%s\\n' {' '.join(ids)};; esac; true",
    }
    for command, does in commands.items():
        (tmp_path / "bin" / command).write_text(f"#!/bin/sh\n{does}\n")
    queue.touch()
    store = tmp_path / "runs"
    assert spawn("-c", KILLED, store, *names).wait() == -9
    monkeypatch.setattr(slurm_queue, "SETTLE", 0.0)
    executor = slurm.make(Resources(store=store), slurm.SlurmConfig())
    holders = [executor.holder(name) for name in names]
    folder = slurm_queue.private_folder(store)
    left = sorted(path.name for path in folder.iterdir())
    if reached:
        assert holders == list(ids)
        (ledger,) = (name for name in left if name.endswith(".jobs"))
        assert left == sorted([ledger, *(f"{one}_submitted.pkl" for one in ids)])
        future = executor.submit(len, SimpleNamespace(names=("a",)))
        executor.detach()
        assert future.cancelled()
    else:
        assert holders == [None] * len(ids)
        assert left == []
    executor.shutdown(wait=False)
    assert submitted.read_text().count("--job-name=") == 1


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["mid", "after", "full"])
def test_what_befalls_a_worker_changes_no_number(session, fault):
    """`scancel` and ``kill -9`` are ``mid`` or ``after``, by when they come."""
    cluster = Played(session.folder, {0: fault})
    assert session(cluster) == session()
    again = cluster.submitted[SEEDS:]
    assert again == [cluster.submitted[0]] * (fault != "after")  # what is written is not done again


@pytest.mark.parametrize("fault", ["mid", "full"])
def test_a_unit_that_is_lost_twice_is_a_record_and_no_other_is_touched(session, fault):
    found = session(Played(session.folder, {0: fault, SEEDS: fault}))
    failed = [one for one in found if one[1] != "finished"]
    assert [one[1] for one in failed] == ["error"]
    assert [one for one in found if one[1] == "finished"] == [
        one for one in session() if one[0] != failed[0][0]
    ]
    messages = [record.message for record in session.rough.records() if record.message]
    assert len(messages) == 1
    assert messages[0].endswith(", twice")
    assert ("No space left" in messages[0]) == (fault == "full")


def test_units_on_a_drained_node_wait_until_it_is_back(session):
    cluster = Played(session.folder)
    cluster.up.clear()
    threading.Timer(1.0, cluster.up.set).start()
    assert session(cluster) == session()
    assert len(cluster.submitted) == SEEDS


def test_a_controller_that_restarts_loses_nothing(session):
    """It is gone when the units are handed over, and again while they are worked on."""
    cluster = Played(session.folder)
    cluster.answers.clear()
    cluster.up.clear()
    with pytest.raises(RequestError, match="squeue does not list the queued jobs"):
        session(cluster)
    cluster.answers.set()
    for after, what in enumerate((cluster.answers.clear, cluster.up.set, cluster.answers.set), 1):
        threading.Timer(0.3 * after, what).start()
    assert session(cluster) == session()
    assert len(cluster.submitted) == SEEDS


def test_what_a_command_that_ended_had_submitted_the_next_one_finds(session, monkeypatch):
    cluster = Played(session.folder)
    cluster.up.clear()
    wait = Dispatcher._wait

    def interrupted(dispatcher):
        if len(cluster.submitted) == SEEDS:
            raise KeyboardInterrupt
        wait(dispatcher)

    with monkeypatch.context() as patch:
        patch.setattr(Dispatcher, "_wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            session(cluster)
    cluster.up.set()
    assert session(cluster) == session()
    assert len(cluster.submitted) == SEEDS
    assert cluster.cancelled == []
