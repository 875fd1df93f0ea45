"""Plugins run in a separate process, where errors affect only their own runs."""

import sys

import pytest
from formalbench.checks import remote
from formalbench.running import dispatch
from formalbench.store import Store

pytestmark = pytest.mark.apart

CRASH = "os._exit(7)"
HANG = "time.sleep(3600)"


@pytest.fixture
def run(cli, tiny):
    def run(models, *plugins, results="results", **more):
        named = [part for plugin in (tiny, *plugins) for part in ("--plugin", plugin)]
        return cli(
            "run", "--model", models, "--task", "first", "--protocol", "tiny", "--device", "cpu",
            "--jobs", 1, "--seeds", 1, "--json", "--results", results, *named,
            *(part for key, value in more.items() for part in ("--set", f"protocol.{key}={value}")),
        )  # fmt: skip

    return run


def told(done):
    return {row["model"]["name"]: (row["status"], row["message"]) for row in done.data}


@pytest.mark.slow
@pytest.mark.parametrize("place", [pytest.param("built", marks=pytest.mark.campaign), "called"])
def test_what_never_returns_is_ended_after_the_time_limit(run, mine, monkeypatch, place):
    monkeypatch.setattr(dispatch, "PATIENCE", 5.0)
    done = run("mine,gru", mine(**{place: HANG}), time_limit=40.0)
    assert done.code == 1, done.err
    assert told(done) == {
        "mine": ("timeout", "no message from the worker for 45 s, so it was stopped"),
        "gru": ("finished", ""),
    }


def test_what_a_plugin_changes_of_its_process_changes_no_other_run(run, mine):
    (alone,) = run("gru", results="alone").data
    mine = mine(
        imported="torch.set_default_dtype(torch.float64); torch.set_flush_denormal(True)",
        called="torch.nn.GRU.forward = 1; torch.tanh = torch.sigmoid; torch.set_num_threads(2)",
    )
    *_, beside = run("mine,gru", mine, results="beside").data
    assert beside["weights"] == alone["weights"]
    assert beside["test"]["cells"] == alone["test"]["cells"]


@pytest.mark.slow
def test_a_plugin_that_breaks_json_leaves_no_file_that_is_no_record(run, mine, results):
    broken = "import json; json.dumps = lambda *a, **k: '{}'"
    done = run("mine,gru", mine(called=broken))
    assert done.code == 1, done.err
    assert [status for status, _ in told(done).values()] == ["error", "finished"]
    assert told(done)["mine"][1] == "RuntimeError: the worker wrote no record, twice"
    assert len(Store(results).records()) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "change", "said"),
    [
        (
            "called",
            CRASH,
            ["answers in the objective's layout", "ended the process that loaded it"],
        ),
        ("imported", HANG, ["can be loaded", "did not finish within 5 s"]),
        pytest.param(
            *("built", HANG, ["can be tried", "did not finish within 30 s"]),
            marks=pytest.mark.campaign,
        ),
    ],
)
def test_a_check_comes_to_an_end(cli, mine, monkeypatch, place, change, said):
    monkeypatch.setattr(remote, "LIMIT", {"imported": 5.0, "built": 30.0, "called": 120.0}[place])
    done = cli("check", mine(**{place: change}))
    assert done.code == 1, done.err
    assert all(text in done.out for text in said)
    assert done.out.splitlines()[-1].endswith("1 failed")


@pytest.mark.slow
def test_a_check_of_a_broken_plugin_fails_as_it_would_here(cli, mine):
    done = cli("check", mine(imported="1 / 0"))
    assert (done.code, done.out) == (3, "")
    assert "ZeroDivisionError" in done.err


@pytest.mark.slow
def test_a_script_that_guards_nothing_can_run_a_plugin(python, mine, tiny, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import formalbench\n"
        f"frame = formalbench.run(models=['mine'], tasks=['first'], protocol='tiny', seeds=1,"
        f" device='cpu', plugins=[{str(mine())!r}, {str(tiny)!r}])\n"
        "print(list(frame.status))\n"
    )
    assert python(script) == "['finished']\n"
    assert "script" not in sys.modules
