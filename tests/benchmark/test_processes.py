"""Runs in several processes: the same numbers, and nothing left behind by a kill."""

import os
import signal
from pathlib import Path

import pytest
from formalbench.contracts.hooks import hookimpl
from formalbench.host import PluginHost
from formalbench.running.plan import RunOptions, RunRequest, make_plan
from formalbench.running.session import execute
from formalbench.running.units import Follower, ProgressFile
from formalbench.store import Store
from waiting import PATIENCE, until


class Listener:
    """Keeps what it hears."""

    def __init__(self):
        self.events = []

    @hookimpl
    def formalbench_run_started(self, run):
        self.events.append((run.test_id, "started"))

    @hookimpl
    def formalbench_run_progress(self, run, progress):
        self.events.append((run.test_id, "progress"))

    @hookimpl
    def formalbench_run_finished(self, run):
        self.events.append((run.test_id, "finished"))


def descendants(pid):
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(stat.parent.name)] = int(fields[1])
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def alive(pid):
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


def numbers(record):
    return record.test_id, record.status, record.selected, record.test.cells, record.training.steps


def test_two_processes_give_the_numbers_of_one(tmp_path, tiny, odd_models):
    host = PluginHost.load([tiny, odd_models])
    plan = make_plan(host, RunRequest(("bag",), ("first", "parity"), protocol="tiny"))
    alone = execute(host, plan, Store(tmp_path / "one"), RunOptions(jobs=1))
    listener = Listener()
    host.observe(listener, "listener")
    shared = execute(host, plan, Store(tmp_path / "two"), RunOptions(jobs=2))
    assert [numbers(record) for record in shared] == [numbers(record) for record in alone]
    assert len(Store(tmp_path / "two").records()) == 4
    for run in plan.runs:
        heard = [kind for test_id, kind in listener.events if test_id == run.test_id]
        assert heard == ["started", *["progress"] * 5, "finished"]


@pytest.mark.slow
def test_a_worker_that_dies_twice_takes_only_its_own_run_down(tmp_path, tiny, odd_models):
    host = PluginHost.load([tiny, odd_models])
    listener = Listener()
    host.observe(listener, "listener")
    request = RunRequest(("dying", "bag"), ("first",), protocol="tiny", seeds=2)
    store = Store(tmp_path / "results")
    records = execute(host, make_plan(host, request), store, RunOptions(jobs=2))
    told = [(record.model.name, record.status, record.message) for record in records]
    assert told == [
        *[("dying", "error", "the worker process died, twice")] * 2,
        *[("bag", "finished", "")] * 2,
    ]
    assert len(store.records()) == 4
    for record in records:
        heard = [kind for test_id, kind in listener.events if test_id == record.test_id]
        assert (heard[0], heard[-1]) == ("started", "finished")
        assert heard.count("started") == heard.count("finished") == 1


DIES_ONCE = "os.path.exists('died') or (open('died', 'x').close(), os._exit(9))"


@pytest.mark.slow
@pytest.mark.parametrize("executor", ["local", "pool"])
def test_a_worker_that_dies_once_costs_a_try(tmp_path, tiny, write, mine, executor):
    pool = write(
        "pool.py",
        """
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor
        from formalbench import ExecutorSpec, hookimpl

        @hookimpl
        def formalbench_executors():
            def make(resources):
                context = multiprocessing.get_context("spawn")
                return ProcessPoolExecutor(resources.jobs, context)
            yield ExecutorSpec("pool", "the standard library's", make)
        """,
    )
    host = PluginHost.load([tiny, mine("once", called=DIES_ONCE), pool])
    request = RunRequest(("once",), ("first",), protocol="tiny", seeds=2)
    plan, store = make_plan(host, request), Store(tmp_path / "results")
    records = execute(host, plan, store, RunOptions(jobs=1, executor=executor))
    assert [record.status for record in records] == ["finished"] * 2


@pytest.fixture
def start_slow(spawn, tiny, odd_models, results):
    """Start a session of slow runs in two workers; wait for its first record."""

    def start():
        session = spawn(
            "-m", "formalbench", "run", "--model", "slow", "--task", "first", "--seeds", 30,
            "--protocol", "tiny", "--plugin", tiny, "--plugin", odd_models,
            "--device", "cpu", "--jobs", 2,
        )  # fmt: skip
        until(lambda: session.poll() is not None or any(results.rglob("*.json")))
        assert session.poll() is None, session.communicate()
        workers = descendants(session.pid)
        assert len(workers) >= 2
        return session, workers

    return start


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_killed_session_leaves_records_and_no_workers(start_slow, results, run):
    session, workers = start_slow()
    session.kill()
    session.wait(PATIENCE)
    until(lambda: not any(alive(pid) for pid in workers))
    kept = Store(results).records()
    assert kept
    assert all(record.status == "finished" for record in kept)
    before = {path: path.read_bytes() for path in results.rglob("*.json")}
    seeds = max(record.seed for record in kept) + 1
    again = run("--json", model="slow", seeds=seeds)
    assert again.code == 0
    assert len(again.data) == seeds
    assert all(path.read_bytes() == text for path, text in before.items())


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_ctrl_c_exits_130_with_one_line_and_no_workers(start_slow, results):
    session, workers = start_slow()
    os.killpg(session.pid, signal.SIGINT)  # a terminal sends it to every process of the group
    out, err = session.communicate(timeout=PATIENCE)
    assert session.returncode == 130
    assert "Traceback" not in err
    assert "interrupted" in err.splitlines()[-1]
    assert out == ""
    until(lambda: not any(alive(pid) for pid in workers))
    assert Store(results).records()


@pytest.fixture
def start_slowly(spawn, tiny, odd_models, write, tmp_path):
    """Start a session; return it while its workers start, and the file they wait for."""
    write(
        "site/sitecustomize.py",
        """
        import os, pathlib, sys, time
        if "--multiprocessing-fork" in sys.orig_argv:
            pathlib.Path(f"starts-{os.getpid()}").touch()
            while not pathlib.Path("go-on").exists():
                time.sleep(0.05)
        """,
    )

    def start():
        session = spawn(
            "-m", "formalbench", "run", "--model", "bag", "--task", "first", "--seeds", 30,
            "--protocol", "tiny", "--plugin", tiny, "--plugin", odd_models,
            "--device", "cpu", "--jobs", 2, PYTHONPATH="site",
        )  # fmt: skip
        until(lambda: session.poll() is not None or [*tmp_path.glob("starts-*")])
        assert session.poll() is None, session.communicate()
        return session, descendants(session.pid), tmp_path / "go-on"

    return start


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_ctrl_c_while_the_workers_start(start_slowly):
    session, workers, go_on = start_slowly()
    os.killpg(session.pid, signal.SIGINT)
    _, err = session.communicate(timeout=PATIENCE)
    go_on.touch()
    assert session.returncode == 130
    assert "Traceback" not in err
    until(lambda: not any(alive(pid) for pid in workers))


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_session_killed_while_its_workers_start_leaves_none(start_slowly):
    session, workers, go_on = start_slowly()
    session.kill()
    session.wait(PATIENCE)
    go_on.touch()
    until(lambda: not any(alive(pid) for pid in workers))


def test_what_workers_print_is_not_the_commands_output(run, mine):
    plugins = [mine("loud", imported="print('loaded')", called="print('forward')")]
    for jobs in (1, 2):
        results = ("--results", f"results-{jobs}")
        done = run("--json", *results, model="loud", plugins=plugins, seeds=2, jobs=jobs)
        assert done.code == 0, done.err
        assert len(done.data) == 2  # nothing but JSON


def test_half_a_line_of_progress_is_passed_over(tmp_path):
    path, heard = tmp_path / "told.jsonl", []
    follower = Follower(path, lambda event, run, progress: heard.append((event, run)))
    path.write_text('{"event": "started", "run": "a"}\n{"event": "progr\n')
    ProgressFile(path).finished("a")
    follower.close()
    assert heard == [("started", "a"), ("finished", "a")]
