"""Ctrl-C while other machines work: whether their jobs go on."""

import pytest

REMOTE = """
    from concurrent.futures import Future
    from pathlib import Path
    from formalbench import Config, DetachedExecutor, ExecutorSpec, Workplace, hookimpl, option

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
        where = lambda config: Workplace(("cuda",) if config.gpus else ("cpu",), 50)
        make = lambda workplace, config: Remote()
        yield ExecutorSpec("remote", "elsewhere", make, config=RemoteConfig, workplace=where)
"""


@pytest.fixture
def run(run, write):
    """Run a request by an executor whose units live on."""

    def remote(*arguments, ends=False):
        path = write("remote.py", REMOTE.replace("{ends}", str(ends)))
        return run("--executor", "remote", *arguments, plugins=[path], jobs=None, device=None)

    return remote


def test_ctrl_c_leaves_what_lives_on(run):
    done = run(ends=True)
    assert done.code == 130
    left = "2 jobs are left; the same command finds them again; to cancel: end 7"
    assert left in done.err.splitlines()
    assert "Traceback" not in done.err


def test_runs_that_something_works_on_go_to_it_together(run, tmp_path):
    done = run("--seeds", 1, "--set", "protocol.learning_rates=0.01,0.02,0.03,0.04", "--json")
    assert done.code == 0, done.err
    assert [row["status"] for row in done.data] == ["finished"] * 4
    for line in (tmp_path / "told.txt").read_text().splitlines():
        device, progress, *held = line.split()
        assert device == "cpu"
        assert progress == f"progress-of-{len(held)}"
        assert len({*held}) == 1  # all with one job, or all with none


def test_what_units_compute_on_is_the_executors_to_say(run):
    done = run("--device", "cuda")
    assert done.code == 2
    assert "executor remote computes on other machines, as it is set on cpu" in done.err
    again = run("--device", "cuda:1", "--set", "executor.gpus=1")
    assert again.code == 2
    assert "as it is set on cuda" in again.err


def test_units_are_told_of_a_gpu_that_is_elsewhere(run, tmp_path):
    run("--set", "executor.gpus=1", "--seeds", 1, ends=True)
    assert (tmp_path / "told.txt").read_text().startswith("cuda ")
