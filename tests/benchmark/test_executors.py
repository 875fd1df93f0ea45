"""Executors: what carries units of work out, and what of it can be lost."""

import os
import time
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass
from functools import partial

import pytest
from formalbench.contracts.hooks import Resources
from formalbench.running import processes
from waiting import until


def visible():
    return os.environ.get("CUDA_VISIBLE_DEVICES")


def fail(text):
    raise ValueError(text)


def no_json():
    return lambda: None


@pytest.fixture
def make():
    """Make an executor of processes, which does not outlive the test."""
    made = []

    def make(jobs=1, devices=("cpu",)):
        made.append(processes.make_local(Resources(devices, jobs)))
        return made[-1]

    yield make
    for executor in made:
        executor.shutdown(wait=False, cancel_futures=True)


def test_processes_do_what_they_are_given(make):
    executor = make(jobs=2)
    first, second = executor.submit(os.getpid), executor.submit(time.sleep, 0.1)
    assert first.result() != os.getpid()
    assert second.result() is None
    with pytest.raises(RuntimeError, match="ValueError: no"):
        executor.submit(fail, "no").result()
    assert executor.submit(pow, 2, exp=5).result() == 32


def test_a_process_that_is_lost_fails_what_it_did_and_nothing_else(make):
    executor = make(jobs=2)
    other = executor.submit(time.sleep, 1.0)
    lost = executor.submit(os._exit, 3)
    with pytest.raises(BrokenExecutor):
        lost.result()
    assert executor.submit(pow, 2, 5).result() == 32  # by another process
    assert other.result() is None


@dataclass(frozen=True)
class Lodger:
    home: str


def process_of(lodger):
    return os.getpid()


def test_a_process_does_the_things_of_one_home(make):
    executor = make()
    homes = ["a", "a", "b", "a"]
    first, second, other, third = [
        executor.submit(process_of, Lodger(home)).result() for home in homes
    ]
    assert first == second != other
    assert third not in (first, other)  # what b left there, no one knows


def test_what_runs_can_be_cancelled_and_nothing_else_is_lost(make):
    executor = make()
    hanging, waiting = executor.submit(time.sleep, 600), executor.submit(pow, 2, 5)
    while not hanging.running():
        time.sleep(0.05)
    while not hanging.cancel():  # its process may not be there yet
        time.sleep(0.05)
    with pytest.raises(BrokenExecutor):
        hanging.result()
    assert waiting.result() == 32
    assert not waiting.cancel()


def quit_oddly():
    raise GeneratorExit("oddly")


def test_what_is_no_exception_is_one_to_whoever_asked(make):
    with pytest.raises(RuntimeError, match="GeneratorExit: oddly"):
        make().submit(quit_oddly).result()


def test_what_cannot_be_sent_fails_by_itself(make):
    executor = make()
    with pytest.raises(Exception, match="pickle"):
        executor.submit(lambda: 1).result()
    with pytest.raises(RuntimeError, match="function is not JSON"):
        executor.submit(no_json).result()
    assert executor.submit(pow, 2, 5).result() == 32


def test_the_processes_of_several_gpus_see_one_each(make, monkeypatch, tmp_path):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    resources = Resources(("cuda:0", "cuda:1"), 2)
    assert resources.device == "cuda"
    assert Resources(("cuda:1",), 2).device == "cuda:1"
    executor = make(2, resources.devices)
    seen = [executor.submit(_visible_to_both, tmp_path / "one") for _ in range(2)]
    assert {future.result() for future in seen} == {"0", "1"}
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,GPU-7")
    executor = make(2, resources.devices)
    seen = [executor.submit(_visible_to_both, tmp_path / "other") for _ in range(2)]
    assert {future.result() for future in seen} == {"4", "GPU-7"}
    assert make(2, ("cuda:1",)).submit(visible).result() == "4,GPU-7"


def _visible_to_both(folder):
    folder.mkdir(exist_ok=True)
    (folder / str(os.getpid())).touch()
    until(lambda: len([*folder.iterdir()]) == 2)  # so one process cannot do both
    return visible()


def _hang(began):
    began.touch()
    time.sleep(3600)


def test_what_is_in_flight_ends_at_once(make, tmp_path):
    executor, began = make(jobs=1), tmp_path / "began"
    running, waiting = executor.submit(_hang, began), executor.submit(pow, 2, 5)
    until(began.exists)
    executor.shutdown(wait=False, cancel_futures=True)
    assert waiting.cancelled()
    assert isinstance(running.exception(timeout=600), BrokenExecutor)
    with pytest.raises(RuntimeError, match="shut down"):
        executor.submit(pow, 2, 5)


def test_what_is_in_flight_can_be_waited_for(make):
    with make(jobs=1) as executor:
        futures = [executor.submit(pow, 2, n) for n in range(3)]
    assert [future.result() for future in futures] == [1, 2, 4]


def test_this_process_does_it_at_once():
    executor = processes.make_serial(Resources())
    assert executor.submit(os.getpid).result() == os.getpid()
    with pytest.raises(ValueError, match="no"):
        executor.submit(fail, "no").result()
    with pytest.raises(KeyboardInterrupt):  # Ctrl-C is the session's
        executor.submit(_interrupt)


def _interrupt():
    raise KeyboardInterrupt


THREADS = """
    from concurrent.futures import ThreadPoolExecutor
    from formalbench import Config, ExecutorSpec, hookimpl, option

    class ThreadsConfig(Config):
        threads: int = option(1, "how many", minimum=1)

    class Threads(ThreadPoolExecutor):
        def submit(self, function, *arguments, **more):
            with open("handed-over.txt", "a") as file:
                unit = arguments[0]
                print(self._max_workers, unit.runs[0].seed, unit.threads, unit.cores, file=file)
            return super().submit(function, *arguments, **more)

    @hookimpl
    def formalbench_executors():
        make = lambda resources, config: Threads(config.threads)
        yield ExecutorSpec("threads", "threads of this process", make, config=ThreadsConfig)
"""


@pytest.fixture
def run(run, write):
    """Run a request with a plugin's executor."""
    return partial(run, plugins=[write("threads.py", THREADS)], jobs=None)


def test_a_plugin_can_bring_an_executor(run, tmp_path):
    done = run("--executor", "threads", "--set", "executor.threads=2", "--jobs", 2, "--json")
    assert done.code == 0, done.err
    assert [row["status"] for row in done.data] == ["finished"] * 2
    told = (tmp_path / "handed-over.txt").read_text().splitlines()
    assert [line.split()[:2] for line in told] == [["2", "0"], ["2", "1"]]
    assert all("executor" not in row["command"] for row in done.data)  # it decides no number
    plain = run("--executor", "serial", "--results", "elsewhere", "--json")
    cells = [[row["test"]["cells"] for row in rows] for rows in (done.data, plain.data)]
    assert cells[0] == cells[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "cores"),
    [
        (("--seeds", 4), 2),
        (("--seeds", 4, "--jobs", 1), 8),
        (("--seeds", 1), 8),
        (("--seeds", 1, "--jobs", 4), 8),
        (("--seeds", 4, "--threads", 3), 3),
    ],
)
def test_cores_are_shared_out_for_testing(run, tmp_path, monkeypatch, arguments, cores):
    for place in ("session", "dispatch"):
        monkeypatch.setattr(f"formalbench.running.{place}.usable_cores", lambda: 8)
    assert run("--executor", "threads", *arguments).code == 0
    told = (tmp_path / "handed-over.txt").read_text().splitlines()
    threads = "3" if "--threads" in arguments else "1"
    assert {tuple(line.split()[2:]) for line in told} == {(threads, str(cores))}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--executor", "lokal"), "unknown executor 'lokal': did you mean local"),
        (("--executor", "local", "--set", "executor.nodes=3"), "executor local"),
        (("--executor", "threads", "--set", "executor.thread=3"), "did you mean threads"),
        (("--executor", "threads", "--set", "executor.threads=0"), "at least 1"),
    ],
)
def test_executors_that_cannot_be(run, arguments, said):
    done = run(*arguments)
    assert done.code == 2
    assert said in done.err
    assert len(done.err.splitlines()) == 1


def test_a_factory_that_fails_is_a_broken_plugin(run, write):
    path = write(
        "bad.py",
        """
        from formalbench import ExecutorSpec, hookimpl

        @hookimpl
        def formalbench_executors():
            yield ExecutorSpec("bad", "gives no executor", lambda resources: 3)
        """,
    )
    done = run("--plugin", path, "--executor", "bad")
    assert done.code == 3
    assert "TypeError: the factory of bad gave a int" in done.err


@pytest.mark.parametrize(
    ("method", "body", "said"),
    [
        ("submit", 'raise ConnectionRefusedError(111, "nobody is there")', "nobody is there"),
        ("submit", "raise SystemExit(4)", "SystemExit: 4"),
        ("shutdown", 'raise ValueError("once more")', "ValueError: once more"),
    ],
)
def test_an_executor_that_fails_is_a_broken_plugin(run, results, write, method, body, said):
    path = write(
        "failing.py",
        f"""
        from concurrent.futures import ThreadPoolExecutor
        from formalbench import ExecutorSpec, hookimpl

        class Failing(ThreadPoolExecutor):
            def {method}(self, *arguments, **more):
                {body}

        @hookimpl
        def formalbench_executors():
            yield ExecutorSpec("failing", "does not work", lambda resources: Failing(1))
        """,
    )
    done = run("--plugin", path, "--executor", "failing", "--seeds", 1)
    assert done.code == 3
    assert f"plugin {path} is broken" in done.err
    assert said in done.err
    assert "dispatcher.py" not in done.err
    assert len(list(results.rglob("*.json"))) == (method == "shutdown")  # what was done is kept


LAZY = """
    from concurrent.futures import Executor, Future
    from formalbench import ExecutorSpec, hookimpl

    class Lazy(Executor):
        def submit(self, function, *arguments, **more):
            future = Future()
            future.set_result([])
            return future

    @hookimpl
    def formalbench_executors():
        yield ExecutorSpec("lazy", "says that all is done", lambda resources: Lazy())
"""


def test_an_executor_that_does_nothing_is_a_record_that_says_so(run, write):
    done = run("--plugin", write("lazy.py", LAZY), "--executor", "lazy", "--json")
    assert done.code == 1
    assert {row["status"] for row in done.data} == {"error"}
    assert {row["message"] for row in done.data} == {
        "RuntimeError: the worker wrote no record, twice"
    }


# Ctrl-C while other machines work: whether their jobs go on.


REMOTE = """
    from concurrent.futures import Future
    from pathlib import Path
    from formalbench import Config, DetachedExecutor, ExecutorSpec, Resources, hookimpl, option

    class RemoteConfig(Config):
        gpus: int = option(0, "of a job", minimum=0)

    class Remote(DetachedExecutor):
        def submit(self, function, unit):
            held = [self.holder(name) for name in unit.names]
            tell(unit.device, unit.progress.name, *held)
            if {ends}:
                raise KeyboardInterrupt
            future = Future()
            future.set_result(function(unit))
            return future

        def holder(self, run):
            return "job" if hash_of(run) % 2 else None

        def progress_file(self, runs):
            return Path("progress-of-" + str(len(runs)))

        def detach(self):
            self.cancel_command = "end 7"
            return 2

    def tell(*words):
        with open("told.txt", "a") as file:
            print(*words, file=file)

    def hash_of(run):
        return int(run.split()[0], 16)

    @hookimpl
    def formalbench_executors():
        where = lambda config: Resources(("cuda",) if config.gpus else ("cpu",), 50)
        make = lambda resources, config: Remote()
        yield ExecutorSpec("remote", "elsewhere", make, config=RemoteConfig, resources=where)
"""


@pytest.fixture
def leave(run, write):
    """Run a request by an executor whose units live on."""

    def remote(*arguments, ends=False):
        path = write("remote.py", REMOTE.replace("{ends}", str(ends)))
        return run("--executor", "remote", *arguments, plugins=[path], device=None)

    return remote


def test_ctrl_c_leaves_what_lives_on(leave):
    done = leave(ends=True)
    assert done.code == 130
    left = "2 jobs are left; the same command finds them again; to cancel: end 7"
    assert left in done.err.splitlines()
    assert "Traceback" not in done.err


def test_runs_that_something_works_on_go_to_it_together(leave, tmp_path):
    done = leave("--seeds", 1, "--set", "protocol.learning_rates=0.01,0.02,0.03,0.04", "--json")
    assert done.code == 0, done.err
    assert [row["status"] for row in done.data] == ["finished"] * 4
    for line in (tmp_path / "told.txt").read_text().splitlines():
        device, progress, *held = line.split()
        assert device == "cpu"
        assert progress == f"progress-of-{len(held)}"
        assert len({*held}) == 1  # all with one job, or all with none


def test_what_units_compute_on_is_the_executors_to_say(leave):
    done = leave("--device", "cuda")
    assert done.code == 2
    assert "executor remote computes on other machines, as it is set on cpu" in done.err
    again = leave("--device", "cuda:1", "--set", "executor.gpus=1")
    assert again.code == 2
    assert "as it is set on cuda" in again.err


def test_units_are_told_of_a_gpu_that_is_elsewhere(leave, tmp_path):
    leave("--set", "executor.gpus=1", "--seeds", 1, ends=True)
    assert (tmp_path / "told.txt").read_text().startswith("cuda ")
