"""The plan is filled in its order: killed, continued, complete, and published once."""

import fcntl
import importlib.util
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import pytest
import yaml
from formalbench.contracts.errors import RequestError
from formalbench.documents.reproduction import read_document
from formalbench.host import PluginHost
from formalbench.store import Store
from formalbench_leaderboard import fill as filling
from formalbench_leaderboard.plan import Plan, PlanEntry, read_plan

ROOT = Path(__file__).parents[2]
PLAN = {
    "code": "0" * 40,
    "entries": [
        {"title": "one", "reason": "r", "tasks": ["parity"], "models": ["rnn[width=8]"]},
        {"title": "two", "reason": "r", "tasks": ["first"], "models": ["gru[width=8]"]},
        {"title": "three", "reason": "r", "tasks": ["parity", "first"], "models": ["gru[width=8]"]},
    ],
}
for one in PLAN["entries"]:
    one["protocol"] = "tiny"

PAPER = {"title": "p", "reason": "r", "reproduce": "yao-fig5", "scale": "paper"}

pytestmark = pytest.mark.usefixtures("own_place")


@pytest.fixture
def clone(tmp_path, monkeypatch, tiny):
    """A clone with a plan of three entries and nothing published; its protocol is of a file."""
    root = tmp_path / "clone"
    (root / "leaderboard" / "results").mkdir(parents=True)
    (root / "leaderboard" / "plan.yaml").write_text(yaml.safe_dump(PLAN))
    monkeypatch.chdir(root)
    monkeypatch.setenv("FORMALBENCH_PLUGINS", str(tiny))
    return root


@pytest.fixture
def evidence():
    spec = importlib.util.spec_from_file_location("evidence", ROOT / "leaderboard" / "evidence.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def fill(cli):
    def fill(*arguments):
        return cli("leaderboard", "fill", "--device", "cpu", *arguments)

    return fill


def contents(folder):
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def wait_for_a_record(folder, process):
    while not [*folder.rglob("*.json")]:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


@pytest.mark.slow
def test_it_is_killed_and_goes_on_and_is_published_once(
    clone, tmp_path, spawn, fill, evidence, monkeypatch, capsys
):
    folder = tmp_path / "evidence"
    results = folder / "results"
    ask = ("--results", results, "--dry-run", "--json")
    assert [one["missing"] for one in fill(*ask).data["entries"]] == [2, 2, 2]

    words = ("-m", "formalbench", "leaderboard", "fill", "--device", "cpu", "--jobs", 2)
    process = spawn(*words, "--results", results)
    wait_for_a_record(results, process)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    kept = {path: seen for path, seen in contents(results).items() if path.suffix == ".json"}
    assert 1 <= len(kept) < 6
    assert fill(*ask).data["missing"] == 6 - len(kept)
    monkeypatch.setattr(evidence, "ROOT", clone)
    assert evidence.publish_new(clone, folder) == 0
    early = {record.test_id for record in Store(clone / "leaderboard" / "results").records()}
    assert len(early) % 2 == 0  # a model on a task is published with all seeds, or not at all

    done = fill("--results", results, "--jobs", 2, "--json")
    assert (done.code, done.data["missing"], done.data["core_hours"]) == (0, 0, 0)
    after = contents(results)
    assert len(Store(results).records()) == 6
    assert all(after[path] == seen for path, seen in kept.items())

    assert evidence.publish_new(clone, folder) == 0
    published = contents(clone / "leaderboard" / "results")
    assert {record.test_id for record in Store(clone / "leaderboard" / "results").records()} == {
        record.test_id for record in Store(results).records()
    }
    capsys.readouterr()
    assert evidence.publish_new(clone, folder) == 0
    assert contents(clone / "leaderboard" / "results") == published
    assert "published" not in capsys.readouterr().err

    shutil.rmtree(results)  # a new machine has the published records, and trains nothing again
    assert fill("--results", results).code == 0
    assert not results.exists()


@pytest.mark.slow
def test_it_stops_when_its_time_is_up(clone, fill, results):
    done = fill("--hours", 1e-9, "--json")
    assert done.code == 0
    assert done.data["missing"] == 6 - len(Store(results).records())
    assert fill().code == 0
    assert fill("--dry-run", "--json").data["missing"] == 0


def test_entries_are_trained_in_order_and_shared_runs_once(clone, fill, results, capsys):
    done = fill("--jobs", 1)
    assert done.code == 0
    told = [line.partition("]")[2] for line in done.err.splitlines() if line.startswith("[")]
    order = [" ".join(line.split(" ")[1:4]) for line in told]
    assert order == [
        *["rnn[width=8] on parity:classify,"] * 2,
        *["gru[width=8] on first:classify,"] * 2,
        *["gru[width=8] on parity:classify,"] * 2,
    ]
    assert "0 runs missing: 0.0 core hours" in done.out


def test_core_hours_are_those_of_runs_like_them(clone, fill, cli, results):
    words = ("--protocol", "tiny", "--seeds", 1, "--device", "cpu", "--quiet")
    assert cli("run", "--model", "rnn[width=8]", "--task", "parity", *words).code == 0
    (record,) = Store(results).records()
    hours = (record.training.seconds + record.test.seconds) / 3600
    found = fill("--dry-run", "--json").data
    assert [one["core_hours"] for one in found["entries"]] == pytest.approx(
        [hours, 2 * hours, 2 * hours], abs=1e-4
    )
    assert found["missing"] == 5


def test_without_records_of_a_protocol_the_budget_of_strings_tells(clone, fill, cli, results):
    assert [one["core_hours"] for one in fill("--dry-run", "--json").data["entries"]] == [None] * 3
    words = ("--protocol", "tiny", "--seeds", 1, "--device", "cpu", "--quiet")
    other = ("--set", "protocol.steps=80")
    assert cli("run", "--model", "gru", "--task", "parity", *words, *other).code == 0
    (record,) = Store(results).records()
    hours = 40 * 8 / record.training.strings_per_second / 3600
    found = fill("--dry-run", "--json").data
    assert found["core_hours"] == pytest.approx(6 * hours, abs=2e-4)


def changed(number, **keys):
    plan = json.loads(json.dumps(PLAN))
    plan["entries"][number - 1] |= keys
    return plan


BAD = {
    "unknown model": (changed(2, models=["grru"]), "entry 2: unknown model 'grru'"),
    "option": (changed(2, models=["gru[wide=8]"]), "entry 2: unknown option of gru 'wide'"),
    "unknown task": (changed(3, tasks=["paritty"]), "entry 3: unknown task 'paritty'"),
    "unknown suite": (
        changed(1, suite="defalt", tasks=None),
        "entry 1: unknown suite 'defalt'",
    ),
    "unknown protocol": (changed(1, protocol="tinny"), "entry 1: unknown protocol 'tinny'"),
    "seeds": (changed(1, seeds=0), "entry 1: --seeds 0"),
    "both": (changed(1, suite="default"), "entry 1: name either a suite or tasks"),
    "unknown key": (changed(3, sedes=3), "entry 3: unknown key 'sedes': did you mean seeds"),
    "no reason": (changed(2, reason=""), "entry 2: reason='': must have"),
    "experiment": (
        {**PLAN, "entries": [*PLAN["entries"], {**PAPER, "reproduce": "yao-fig9"}]},
        "entry 4: unknown reproduction 'yao-fig9': did you mean yao-fig",
    ),
    "code": ({**PLAN, "code": "main"}, "plan.yaml: code=main: must be the 40 hexadecimal digits"),
    "no entries": ({"code": "0" * 40, "entries": []}, "plan.yaml: entries: "),
}


@pytest.mark.parametrize("name", BAD)
def test_a_plan_that_cannot_be_is_one_line_before_anything_is_trained(clone, refused, name):
    plan, line = BAD[name]
    (clone / "leaderboard" / "plan.yaml").write_text(yaml.safe_dump(plan))
    assert line in refused("leaderboard", "fill")


def test_a_plan_that_is_not_there_or_no_yaml_is_one_line(clone, refused, tmp_path, monkeypatch):
    assert "No such file" in refused("leaderboard", "fill", "--plan", "none.yaml")
    assert "--hours 0: must be more than 0" in refused("leaderboard", "fill", "--hours", 0)
    assert "unknown executor" in refused("leaderboard", "fill", "--executor", "nobody")
    (clone / "leaderboard" / "plan.yaml").write_text("entries: [")
    assert "malformed YAML" in refused("leaderboard", "fill")
    monkeypatch.chdir(tmp_path)
    assert "leaderboard/results" in refused("leaderboard", "fill")


PAGE = {
    "schema_version": 2, "reproduction": "made", "title": "t", "source": "s", "about": "a",
    "command": "c", "scale": "paper", "reduced": "", "date": "2026-11-20", "seconds": 3600.0,
    "took": "", "environments": [], "records": 0, "figure": False, "holds": True, "cells": [
        {"row": "rnn", "column": "k = 2", "paper": "1", "ours": "1", "verdict": "holds"},
        {"row": "rnn", "column": "k = 3", "paper": "1", "ours": "",
         "verdict": "not run at this scale"},
    ], "claims": [], "remarks": [], "data": [],
}  # fmt: skip

MADE = """
    from formalbench import ReproductionSpec, hookimpl
    from formalbench_papers.framework.claims import Findings

    def measure(bench):
        return Findings([], [], None)

    @hookimpl
    def formalbench_reproductions():
        yield ReproductionSpec(
            name="made", summary="s", reference="r", factory=measure, figure=False,
        )
"""


@pytest.mark.parametrize(
    ("entry", "page", "missing"),
    [
        ({}, None, 1),
        ({"scale": "quick"}, PAGE, 0),
        ({"scale": "quick"}, {**PAGE, "scale": "quick"}, 0),
        (
            {"scale": "quick"},
            {**PAGE, "scale": "quick", "remarks": ["1 of 2 cells of this scale lack runs: …"]},
            1,
        ),
        ({}, {**PAGE, "cells": PAGE["cells"][:1], "notes": ["Nothing was kept."]}, 1),
        ({}, PAGE, 1),
        ({}, {**PAGE, "cells": PAGE["cells"][:1]}, 0),
        (
            {},
            {
                **PAGE,
                "cells": PAGE["cells"][:1],
                "remarks": ["1 of 2 cells of this scale lack runs: …"],
            },
            1,
        ),
        ({}, {**PAGE, "cells": PAGE["cells"][:1], "scale": "quick"}, 1),
    ],
)
def test_a_reproduction_is_there_if_its_page_is(clone, fill, write, entry, page, missing):
    plugin = write("made.py", MADE)
    plan = {**PLAN, "entries": [{**PAPER, "reproduce": "made", **entry}]}
    (clone / "leaderboard" / "plan.yaml").write_text(yaml.safe_dump(plan))
    if page:
        (clone / "leaderboard" / "reproductions").mkdir()
        (clone / "leaderboard" / "reproductions" / "made.json").write_text(json.dumps(page))
    (found,) = fill("--dry-run", "--json", "--plugin", plugin).data["entries"]
    assert found["missing"] == missing


def test_a_page_tells_which_runs_of_its_scale_are_missing(cli, tmp_path):
    """Cells that the scale leaves out on purpose do not count."""
    place = ("--no-training", "--results", tmp_path / "results", "--output", tmp_path, "--json")
    (tmp_path / "leaderboard" / "results").mkdir(parents=True)
    page = cli("reproduce", "grazzi-table3", *place).data
    (remark,) = [one for one in page["remarks"] if "of this scale lack runs" in one]
    lacking, of, planned = remark.split()[:3]
    assert (lacking, of) == (planned, "of")
    assert 0 < int(planned) < len(page["cells"])
    kept = ROOT / "leaderboard" / "reproductions" / "grazzi-table3.records.jsonl"
    shutil.copy(kept, tmp_path)
    page = cli("reproduce", "grazzi-table3", *place).data
    assert not any("lack runs" in one for one in page["remarks"])


CHILD = """
    import json, os, pathlib
    from formalbench import ReproductionSpec, hookimpl

    def measure(bench):
        lock = os.fstat(int(os.environ["LOCK"])).st_ino
        found = {"session": os.getsid(0), "lock": lock}
        pathlib.Path("child.json").write_text(json.dumps(found))
        raise SystemExit(5)

    @hookimpl
    def formalbench_reproductions():
        yield ReproductionSpec(
            name="made", summary="s", reference="r", factory=measure, figure=False,
        )
"""


@pytest.mark.slow
def test_a_page_is_not_stale_because_its_corpus_is_not_there():
    file = ROOT / "leaderboard" / "reproductions" / "chi-table3.json"
    assert not filling._is_stale(PluginHost.load(), read_document(file), file)


def test_a_reproduction_holds_the_lock_and_gets_ctrl_c_once(clone, write, tmp_path):
    plan = {**PLAN, "entries": [{**PAPER, "reproduce": "made"}]}
    (clone / "leaderboard" / "plan.yaml").write_text(yaml.safe_dump(plan))
    words = [sys.executable, "-m", "formalbench", "leaderboard", "fill", "--plugin"]
    with (tmp_path / "lock").open("w") as lock:
        done = subprocess.run(
            [*words, str(write("made.py", CHILD))],
            env=os.environ | {"LOCK": str(lock.fileno())},
            pass_fds=[lock.fileno()],
            capture_output=True,
            text=True,
        )
    assert done.returncode == 1
    assert "entry 1: reproduce made exited with 3" in done.stderr
    child = json.loads((clone / "child.json").read_text())
    assert child["lock"] == (tmp_path / "lock").stat().st_ino
    assert child["session"] != os.getsid(0)


def test_training_has_a_session_of_its_own(evidence, tmp_path, monkeypatch):
    program = tmp_path / "python"
    program.write_text(
        f"#!{sys.executable}\nimport os, pathlib\n"
        f"pathlib.Path({str(tmp_path / 'session')!r}).write_text(str(os.getsid(0)))\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(evidence, "_publish", lambda folder: 0)
    monkeypatch.setattr(evidence.signal, "signal", lambda number, handler: None)
    with (tmp_path / "lock").open("w") as lock:
        assert evidence._train(tmp_path, program, 1.0, 1, lock) == 0
    assert (tmp_path / "session").read_text() != str(os.getsid(0))


FAILED = dict.fromkeys(("training", "selected", "test", "weights")) | {
    "status": "error",
    "message": "lost",
}


@pytest.mark.slow
@pytest.mark.parametrize(("status", "code"), [("error", 1), ("diverged", 0)])
def test_runs_that_failed_are_reported_and_diverged_ones_are_results(
    clone, fill, tmp_path, monkeypatch, status, code
):
    assert fill("--results", tmp_path / "other").code == 0
    changes = FAILED | {"status": status}
    record = Store(tmp_path / "other").records()[0].model_copy(update=changes)

    def train(host, plan, store, options, done):
        store.write(record)
        raise KeyboardInterrupt

    monkeypatch.setattr(filling, "execute_live", train)
    monkeypatch.setattr(filling, "_interrupted_at", lambda end: nullcontext())
    done = fill("--hours", 1e-9)
    assert done.code == code
    assert ("1 of 1 run failed: their records say why" in done.err) == bool(code)


def test_the_time_limit_ends_the_wait_for_a_child():
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"]) as child:
        with (
            pytest.raises(KeyboardInterrupt),
            filling._interrupted_at(time.monotonic() + 0.1),
        ):
            child.wait()
        still_running = child.poll() is None
        child.kill()
    assert still_running


def test_options_of_an_executor_reach_it(clone, fill, refused, monkeypatch):
    seen = []
    monkeypatch.setattr(filling, "execute_live", lambda *given: seen.append(given[3].config) or [])
    fill("--executor", "slurm", "--set", "executor.poll=0.5", "--set", "executor.cpus=1")
    assert seen == [{"poll": 0.5}]
    words = ("leaderboard", "fill", "--executor", "slurm", "--set")
    assert "unknown option of executor slurm 'pol'" in refused(*words, "executor.pol=1")
    assert "--set poll=1: write executor.poll" in refused(*words, "poll=1")
    assert "--set model.width=8: write executor.key" in refused(*words, "model.width=8")


@pytest.mark.slow
def test_a_published_run_that_failed_gives_way_to_a_new_one(clone, evidence, fill, results):
    assert fill().code == 0
    plan = read_plan(clone / "leaderboard" / "plan.yaml", PluginHost.load())
    store, published = Store(results), Store(clone / "leaderboard" / "results")
    record = store.records()[0]
    published.write(record.model_copy(update=FAILED))
    groups = evidence.complete_groups(clone, store, plan)
    assert sum(map(len, groups)) == 6
    published.write(record)
    assert sum(len(group) for group in evidence.complete_groups(clone, store, plan)) == 5


def test_a_page_is_rendered_when_its_records_changed(evidence, tmp_path, monkeypatch):
    spec = PluginHost.load().reproductions.get("grazzi-table3")[0].spec
    plan = Plan("0" * 40, (PlanEntry(1, "t", (), spec, "quick"),))
    kept = tmp_path / evidence.REPRODUCTIONS / "grazzi-table3.records.jsonl"
    kept.parent.mkdir(parents=True)
    kept.write_text("of a session that was killed")
    rendered, meanwhile, codes = [], ["of a run that ended meanwhile"], [2, 1, 0]

    def run(command, **keys):
        rendered.append(command[-2:])
        code = codes.pop(0)
        if code == 1:
            kept.write_text(meanwhile.pop())
        return evidence.subprocess.CompletedProcess(command, code)

    monkeypatch.setattr(evidence.subprocess, "run", run)
    for count in (1, 2, 3, 3):  # it failed; meanwhile its records changed; rendered; nothing new
        evidence._render_again(tmp_path, tmp_path, plan)
        assert rendered == [["grazzi-table3", "--from-records"]] * count


def test_publishing_imports_no_plugin(clone, tiny, evidence, tmp_path, monkeypatch):
    plugin = tmp_path / "mine.py"
    plugin.write_text(f"import pathlib\npathlib.Path({str(tmp_path / 'imported')!r}).touch()\n")
    monkeypatch.setenv("FORMALBENCH_PLUGINS", f"{tiny}{os.pathsep}{plugin}")
    assert evidence.publish_new(clone, tmp_path / "evidence") == 0
    assert not (tmp_path / "imported").exists()


def test_publishing_waits_for_another_and_a_plan_without_code_is_one_line(
    clone, evidence, tmp_path, monkeypatch, capsys
):
    folder = tmp_path / "evidence"

    def publish(repository, place):
        with (place / "publish.lock").open() as lock, pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return 7

    monkeypatch.setattr(evidence, "ROOT", clone)
    monkeypatch.setattr(evidence, "publish_new", publish)
    assert evidence.main(["--folder", str(folder), "--publish"]) == 7
    (clone / "leaderboard" / "plan.yaml").write_text(yaml.safe_dump({"entries": PLAN["entries"]}))
    assert evidence.main(["--folder", str(folder)]) == RequestError.exit_code
    assert "plan.yaml: code: is missing" in capsys.readouterr().err
