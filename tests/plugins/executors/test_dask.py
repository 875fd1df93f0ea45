"""The executor ``dask`` on a cluster of this machine, and what no cluster could do."""

import os
import time
from concurrent.futures import BrokenExecutor
from pathlib import Path

import pytest
from distributed import Nanny
from formalbench.contracts.errors import RequestError
from formalbench.contracts.hooks import Resources
from formalbench_executors import dask
from formalbench_executors.dask import DaskConfig

pytestmark = pytest.mark.filterwarnings("default")  # the library's own


@pytest.fixture
def _here(own_place, all_here):
    pass


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Two workers, for all the tests of this file; they end with what started them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORMALBENCH_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setattr(Nanny.kill, "__defaults__", (0.5, "nanny-kill"))  # it is patient else
        made = dask.make(Resources(("cpu",), 2), DaskConfig())
        assert len(made._cluster.workers) == 2
        yield made._cluster
        worker = made.submit(os.getpid).result(60)
        made.shutdown()
        with pytest.raises(ProcessLookupError):
            os.kill(worker, 0)


@pytest.fixture
def executor(cluster):
    made = dask.make(Resources(), DaskConfig(address=cluster.scheduler_address))
    yield made
    made.shutdown(wait=False, cancel_futures=True)


def note_and_die(path):
    with Path(path).open("a") as file:
        file.write("x")
    os._exit(3)


def fail(text):
    raise ValueError(text)


def test_workers_do_what_they_are_given(executor):
    assert executor.submit(os.getpid).result() != os.getpid()
    assert executor.submit(pow, 2, exp=5).result() == 32
    with pytest.raises(ValueError, match="no"):
        executor.submit(fail, "no").result()


def test_a_worker_that_is_lost_fails_what_it_did_once_and_nothing_else(executor, tmp_path):
    other = executor.submit(time.sleep, 1.0)
    lost = executor.submit(note_and_die, str(tmp_path / "deaths"))
    with pytest.raises(BrokenExecutor, match="the worker process died"):
        lost.result(60)
    assert (tmp_path / "deaths").read_text() == "x"  # Dask did not try by itself
    assert other.result(60) is None
    assert executor.submit(pow, 2, 5).result(60) == 32


def test_what_runs_can_be_cancelled_with_the_process_that_is_at_it(executor, tmp_path):
    began = tmp_path / "began"
    hanging = executor.submit(hang, str(began))
    while not began.exists() or not began.read_text():
        time.sleep(0.05)
    assert hanging.cancel()
    assert hanging.cancelled()
    with pytest.raises(ProcessLookupError):
        os.kill(int(began.read_text()), 0)
    assert executor.submit(pow, 2, 5).result(60) == 32


def hang(path):
    Path(path).write_text(str(os.getpid()))
    time.sleep(600)


def test_a_store_that_workers_do_not_see_is_refused_before_anything_is_submitted(cluster, tmp_path):
    config = DaskConfig(address=cluster.scheduler_address)
    dask.make(Resources(store=tmp_path), config).shutdown()
    with pytest.raises(RequestError, match=r"cannot see the folder .*/nowhere$"):
        dask.make(Resources(store=tmp_path / "nowhere"), config)


@pytest.fixture
def run(_here, cli, tiny):
    def run(*arguments):
        return cli(
            *("run", "--model", "gru[width=8]", "--task", "first", "--plugin", tiny, "--json"),
            *("--protocol", "tiny", "--device", "cpu", "--seeds", 1, *arguments),
        )

    return run


@pytest.mark.slow
def test_a_session_on_a_cluster_has_the_records_of_any_other(run, cluster):
    address = f"executor.address={cluster.scheduler_address}"
    done = run("--executor", "dask", "--set", address)
    assert done.code == 0, done.err
    assert [row["status"] for row in done.data] == ["finished"]
    assert all("dask" not in row["command"] for row in done.data)
    plain = run("--executor", "serial", "--results", "elsewhere")
    cells = [[row["test"]["cells"] for row in rows] for rows in (done.data, plain.data)]
    assert cells[0] == cells[1]


def test_processes_of_this_machine_would_share_a_gpu():
    with pytest.raises(RequestError, match="share a GPU"):
        dask.make(Resources(("cuda:0", "cuda:1"), 2), DaskConfig())


@pytest.fixture
def ask(_here, refused, tiny, tmp_path):
    """Ask for a run that is refused, and return the line that says why."""

    def ask(executor, *settings):
        line = refused(
            *("run", "--model", "gru[width=8]", "--task", "first", "--plugin", tiny),
            *("--protocol", "tiny", "--seeds", 1, "--device", "cpu", "--executor", executor),
            *(word for setting in settings for word in ("--set", f"executor.{setting}")),
        )
        assert not (tmp_path / "submitted").exists()
        return line

    return ask


@pytest.mark.parametrize(("executor", "package"), [("slurm", "submitit"), ("dask", "distributed")])
def test_a_missing_extra(ask, monkeypatch, executor, package):
    monkeypatch.setattr("formalbench.contracts.errors.find_spec", lambda name: None)
    assert ask(executor) == (
        f"formalbench: --executor {executor} needs the package {package}: "
        f"pip install 'formalbench[{executor}]'"
    )


def test_no_slurm_on_this_machine(ask, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    said = "formalbench: executor slurm: Slurm is not installed on this machine (sbatch not found)"
    assert ask("slurm") == said


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("address=tcp://127.0.0.1:9", "--executor dask: no scheduler at tcp://127.0.0.1:9: "),
        ("address=nonsense://x", "--executor dask: no scheduler at nonsense://x: "),
        ("adress=x", "unknown option of executor dask 'adress': did you mean address?"),
    ],
)
def test_no_such_dask_cluster(ask, monkeypatch, setting, said):
    monkeypatch.setattr("formalbench_executors.dask._PATIENCE", 0.3)
    assert said in ask("dask", setting)


def test_a_partition_that_is_not_there(ask, pretend):
    pretend("", "gpu 2-00:00:00")
    line = ask("slurm", "partition=gpus")
    assert line == (
        "formalbench: executor slurm: no partition 'gpus' on this cluster: did you mean gpu?"
    )


def test_a_store_that_nodes_cannot_see(ask, pretend, tmp_path, monkeypatch):
    pretend("node07")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert ask("slurm") == (
        f"formalbench: executor slurm: {tmp_path / 'results'} is a folder of this machine alone, "
        "and jobs run on node07: name one that every node sees with --results"
    )
