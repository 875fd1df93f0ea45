"""What no cluster could do is one line, before anything is submitted or written."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.usefixtures("own_place", "all_here")


@pytest.fixture
def ask(refused, tiny, tmp_path):
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


def test_an_unknown_executor(ask):
    assert ask("slrum") == "formalbench: unknown executor 'slrum': did you mean slurm?"


def test_an_unknown_option(ask):
    line = ask("slurm", "partitoin=gpu")
    assert "unknown option of executor slurm 'partitoin': did you mean partition" in line


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
@pytest.mark.filterwarnings("default")  # the library's own
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
