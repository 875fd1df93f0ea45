"""`make gpu`: what is done is not repeated, what is cut off goes on, and a CPU can rehearse it."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest
from formalbench.host import PluginHost

FOLDER = Path(__file__).parents[2] / "gpu"


@pytest.fixture(scope="module")
def gpu():
    """The program."""
    spec = importlib.util.spec_from_file_location("gpu_run", FOLDER / "run.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture
def program(tmp_path):
    """Return commands that record in a file that they ran, then execute normally."""

    def make(gpu, name, then="", resumes=False):
        note = f"open({str(tmp_path / name)!r}, 'a').write('x')"
        command = [sys.executable, "-c", f"import sys, time, pathlib; {note}; {then}"]
        return gpu.Part(name, f"does {name}", command, resumes)

    return make


def ran(tmp_path, name):
    return len((tmp_path / name).read_text("utf-8")) if (tmp_path / name).exists() else 0


def statuses(folder):
    entries = json.loads((folder / "index.json").read_text("utf-8"))
    return {name: entry["status"] for name, entry in entries.items()}


@pytest.mark.slow
def test_each_part_is_done_once(gpu, program, tmp_path, capsys):
    parts = [program(gpu, "one"), program(gpu, "two", "sys.exit(3)"), program(gpu, "three")]
    for _ in range(2):
        assert gpu.work(parts, gpu.Index(tmp_path / "out"), 600, 600) == 1
    assert [ran(tmp_path, part.name) for part in parts] == [1, 1, 1]
    assert statuses(tmp_path / "out") == {"one": "done", "two": "failed", "three": "done"}
    assert "failed: two" in capsys.readouterr().err
    table = (tmp_path / "out" / "index.md").read_text("utf-8")
    assert "| [two](two.log) | does two | failed |" in table


@pytest.mark.slow
def test_what_is_cut_off_goes_on(gpu, program, tmp_path, monkeypatch):
    monkeypatch.setattr(gpu, "GRACE", 0.5)
    wait = f"len(open({str(tmp_path / 'slow')!r}).read()) > 1 or time.sleep(60)"
    slow, last = program(gpu, "slow", wait, resumes=True), program(gpu, "last")
    assert gpu.work([slow, last], gpu.Index(tmp_path / "out"), 10, 600) == 0
    assert (ran(tmp_path, "slow"), ran(tmp_path, "last")) == (2, 1)
    assert statuses(tmp_path / "out") == {"slow": "done", "last": "done"}


@pytest.mark.slow
def test_it_ends_when_time_is_up_or_when_told(gpu, program, tmp_path):
    parts, index = [program(gpu, "one")], gpu.Index(tmp_path / "out")
    assert gpu.work(parts, index, 600, gpu.GRACE) == 0
    (tmp_path / "out" / gpu.STOP).touch()
    assert gpu.work(parts, index, 600, 600) == 0
    assert ran(tmp_path, "one") == 0


@pytest.mark.slow
def test_a_rehearsal_in_its_shortest_form(gpu, tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    short = ["--device", "cpu", "--short", "--out", str(tmp_path)]
    assert gpu.main([*short, "--only", "graphs,records"]) == 0
    assert statuses(tmp_path) == {"graphs-mamba-2": "done", "records": "done"}
    assert "mamba-2, width 16, R = 2" in (tmp_path / "graphs-mamba-2.log").read_text("utf-8")
    (record,) = (tmp_path / "results").rglob("*.json")
    assert json.loads(record.read_text("utf-8"))["status"] == "finished"


def test_what_is_planned_is_there(gpu, tmp_path):
    host = PluginHost.load()
    parts = gpu.parts_of("cuda", tmp_path)
    names = [part.name for part in parts]
    assert len(set(names)) == len(names)
    assert names[-1] == "records"
    files = {word for part in parts for word in part.command if word.endswith(".py")}
    assert all((gpu.ROOT / file).exists() for file in files)
    for model in gpu.COHORTS:
        assert host.network(model, host.task("parity"), {})


def test_requests_that_make_no_sense_are_one_line(gpu, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    out = ["--out", str(tmp_path)]
    assert gpu.main([*out, "--device", "cuda"]) == 2
    assert "finds no CUDA device here" in capsys.readouterr().err
    assert gpu.main([*out, "--only", "nothing"]) == 2
    assert "no part's name begins like that" in capsys.readouterr().err
