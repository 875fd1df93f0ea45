"""`formalbench reproduce` goes on from what is there: records, measurements, single points."""

from __future__ import annotations

import json

import numpy as np
import pytest
from formalbench.cli.main import run_command_line
from formalbench.contracts.specs import ReproductionSpec
from formalbench.evaluation.cells import test_set as draw_test_set
from formalbench.store.record_file import read_packed, written
from formalbench_papers.framework import runs
from formalbench_papers.framework.bench import draw_strings, retest
from formalbench_papers.framework.claims import Claim, Findings, TableCell
from formalbench_papers.framework.runs import Wanted

TINY = """
name: {}
version: 1
seeds: 2
learning_rates: [{}]
steps: 4
batch: 4
evaluate_every: 2
decay: {{steps: 2}}
validation: {{every: 4, lengths: 2, strings: 8}}
test: {{lengths: 2, strings: 8}}
"""

TASKS, WIDTHS = ("parity", "even-pairs"), (4, 8)


def carry_out(bench):
    """Train two tasks at two widths; the scale quick has the first task alone."""
    wanted = [
        Wanted(task, f"d = {w}", "rnn", task, bench.choose("tiny", "large"), {"width": w})
        for task in TASKS
        for w in WIDTHS
    ]
    found = bench.train(wanted, lambda one: one.row in bench.choose(TASKS[:1], TASKS))
    cells = [
        TableCell(one.row, one.column, "1", f"{len(got.records)} seeds" if got else "",
                  True if got else None)
        for one, got in zip(wanted, found, strict=True)
    ]  # fmt: skip
    records = [record for got in found if got for record in got.records]
    return Findings([{"cell": one.ours} for one in cells], [], None, (), cells, records)


TOY = ReproductionSpec("toy", "A toy", "Nobody (2026)", carry_out, figure=False)


@pytest.fixture
def toy(tmp_path, monkeypatch, capsys, announce):
    """Return a function that carries out a toy in a folder and says what came of it."""
    monkeypatch.setenv("FORMALBENCH_CACHE", str(tmp_path / "cache"))
    files = []
    for name, rate in (("tiny", 0.01), ("large", 0.02)):
        files.append(tmp_path / f"{name}.yaml")
        files[-1].write_text(TINY.format(name, rate))

    def run(*words, spec=TOY, results="runs"):
        announce(spec)
        words = ["reproduce", "toy", *words, "--output", tmp_path / "out", "--device", "cpu"]
        words += ["--results", tmp_path / results, "--jobs", 1]
        words += [word for file in files for word in ("--plugin", file)]
        code = run_command_line([str(word) for word in words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    run.folder = tmp_path / "out"
    return run


def ours(toy):
    cells = json.loads((toy.folder / "toy.json").read_text())["cells"]
    return {(cell["row"], cell["column"]): cell["ours"] for cell in cells}


def test_the_records_beside_the_page_are_taken_first(toy, monkeypatch):
    assert toy()[0] == 0
    page = (toy.folder / "toy.md").read_text()
    assert ours(toy)["parity", "d = 4"] == "2 seeds"
    done = []
    execute = runs.execute_live

    def counted(host, plan, store, *rest):
        done.append((len(plan.runs), len(store.records())))
        return execute(host, plan, store, *rest)

    monkeypatch.setattr(runs, "execute_live", counted)
    code, _, err = toy(results="empty")
    assert code == 0
    assert "4 records were copied from the page's folder to" in err
    assert done == [(4, 4)]  # all four runs have their records
    again = (toy.folder / "toy.md").read_text()
    assert [line for line in again.splitlines() if "in this call" not in line] == [
        line for line in page.splitlines() if "in this call" not in line
    ]


def test_a_page_is_made_of_what_there_is(toy):
    toy()
    kept = toy.folder / "toy.records.jsonl"
    records = read_packed(kept)
    kept.write_text(written(records[1:]))
    code, out, _ = toy("--no-training", results="empty")
    assert code == 0
    assert ours(toy)["parity", "d = 4"] == "1 seeds"
    assert ours(toy)["parity", "d = 8"] == "2 seeds"
    assert "2 hold, 2 not run at this scale" in " ".join(out.split())


@pytest.mark.parametrize(
    ("only", "trained"),
    [
        (("EVEN-pairs",), {("even-pairs", "d = 4"), ("even-pairs", "d = 8")}),
        (("d=8",), {("parity", "d = 8"), ("even-pairs", "d = 8")}),
        (("even-pairs", "d = 8"), {("even-pairs", "d = 8")}),
        (("d = 4", "d = 8", "parity"), {("parity", "d = 4"), ("parity", "d = 8")}),
    ],
)
def test_only_the_points_asked_for_are_trained(toy, only, trained):
    words = [word for point in only for word in ("--only", point)]
    code, _, err = toy(*words)
    assert code == 0, err
    assert {cell for cell, found in ours(toy).items() if found} == trained


def test_an_unknown_point_is_refused_with_all_that_there_are(toy):
    code, _, err = toy("--only", "parity", "--only", "d = 5")
    assert code == 2
    assert "d = 5" in err
    assert all(point in err for point in (*TASKS, "d = 4", "d = 8"))
    assert len(err.strip().splitlines()) == 1
    assert not toy.folder.exists()


def test_what_is_there_is_shown_whatever_is_asked_for(toy):
    toy("--only", "d = 4")
    toy("--only", "d = 8")
    assert set(ours(toy).values()) == {"2 seeds"}


def test_the_records_of_the_other_scale_stay(toy):
    toy()
    toy("--scale", "paper", "--only", "parity")
    assert "Scale: paper." in (toy.folder / "toy.md").read_text()
    assert len(read_packed(toy.folder / "toy.records.jsonl")) == 8
    assert "[8 runs]" in (toy.folder / "toy.md").read_text()
    assert "4 runs, trained" in (toy.folder / "toy.md").read_text()  # those of this page
    toy("--no-training", results="empty")  # quick again
    assert ours(toy)["parity", "d = 4"] == "2 seeds"


def test_a_page_is_not_stale_by_records_of_the_other_scale(toy):
    toy("--scale", "paper", "--only", "parity")
    toy()
    large = toy.folder.parent / "large.yaml"
    large.write_text(large.read_text().replace("version: 1", "version: 2"))
    assert toy("--from-records")[0] == 0
    assert json.loads((toy.folder / "toy.json").read_text())["notes"] == []
    tiny = toy.folder.parent / "tiny.yaml"
    tiny.write_text(tiny.read_text().replace("version: 1", "version: 2"))
    assert toy("--from-records")[0] == 0
    (note,) = json.loads((toy.folder / "toy.json").read_text())["notes"]
    assert note.startswith("4 of 4 runs belong to an older version of a model, task or protocol")


class Measuring:
    """Measures four steps, and is interrupted at one of them."""

    def __init__(self, interrupted_at=None, scale=1):
        self.interrupted_at, self.scale = interrupted_at, scale
        self.done = []

    def __call__(self, bench):
        found = []
        for number in range(4):
            step = {"task": "parity", "seed": number}
            found.append(bench.measured(step, lambda n=number: self.do(n)))
        claims = [Claim("c", "p", f"{sum(found):.1f}", sum(found) > 0)]
        return Findings([{"found": one} for one in found], claims, None)

    def do(self, step):
        if step == self.interrupted_at:
            raise KeyboardInterrupt
        self.done.append(step)
        return self.scale * (step + 0.5)


def measuring(factory):
    return ReproductionSpec("toy", "A toy", "Nobody (2026)", factory, figure=False)


def test_an_interruption_loses_one_step(toy):
    first, second = Measuring(interrupted_at=2), Measuring()
    assert toy(spec=measuring(first))[0] == 130
    assert toy(spec=measuring(second))[0] == 0
    assert (first.done, second.done) == ([0, 1], [2, 3])
    assert "[4 steps](toy.measured.jsonl)" in (toy.folder / "toy.md").read_text()


def test_what_was_measured_gives_the_page_again_and_is_checked(toy, monkeypatch):
    from formalbench.host import PluginHost
    from formalbench_papers.framework.checks import reproductions_problems

    root = toy.folder.parent / "root"
    there = root / "leaderboard" / "reproductions"
    toy(spec=measuring(Measuring()))
    there.parent.mkdir(parents=True)
    toy.folder.rename(there)
    host = PluginHost.load()
    assert reproductions_problems(root, host) == []
    kept = there / "toy.measured.jsonl"
    before = kept.read_text()
    kept.write_text(before.replace("0.5", "7.5", 1))
    (line,) = reproductions_problems(root, host)
    assert "does not match its records and measurements" in line
    kept.write_text(
        before + before.splitlines()[0].replace('"step":{', '"step":{"under":"way",') + "\n"
    )
    assert reproductions_problems(root, host) == []  # measured on, and no page of it yet
    kept.write_text(before[: before.rindex('{"step"')])
    (line,) = reproductions_problems(root, host)
    assert line.endswith("3 steps, and the page says 4")
    kept.write_text(before.replace('"versions":{"task":', '"versions":{"task":9', 4))
    (line,) = reproductions_problems(root, host)
    assert "it is stale but not marked as stale" in line  # of another version of the task
    kept.write_text("{")
    assert "damaged" in reproductions_problems(root, host)[0]


def looking(bench):
    """Train under the protocol of the scale, and test the networks again on other strings."""
    protocol = bench.choose("tiny", "large")
    (got,) = bench.train([Wanted("rnn", "parity", "rnn", "parity", protocol, {"width": 4})])
    if not got:
        return Findings([{"mean": ""}], [], None)
    task = bench.task("parity")
    own = draw_test_set(task, bench.host.protocol(protocol))
    assert retest(bench, got, task, own).mean == pytest.approx(np.mean(got.accuracies))
    mean = retest(bench, got, task, draw_strings(task, [9], 4)).mean
    return Findings([{"mean": mean}], [], None, records=got.records)


LOOKING = ReproductionSpec("toy", "A toy", "N", looking, figure=False, inside=True)


def test_what_was_found_in_networks_outlives_their_weights(toy):
    toy(spec=LOOKING)
    before = json.loads((toy.folder / "toy.json").read_text())["data"]
    code, _, err = toy("--no-training", spec=LOOKING, results="empty")
    assert code == 0, err
    assert json.loads((toy.folder / "toy.json").read_text())["data"] == before
    # What was found at the other scale stays, too.
    toy("--scale", "paper", spec=LOOKING)
    assert "[8 steps](toy.measured.jsonl)" in (toy.folder / "toy.md").read_text()
    assert toy("--no-training", spec=LOOKING, results="empty")[0] == 0  # quick again
    assert json.loads((toy.folder / "toy.json").read_text())["data"] == before
    # A page states the current number of steps.
    page = toy.folder / "toy.json"
    page.write_text(json.dumps(json.loads(page.read_text()) | {"measurements": 7}))
    assert toy("--from-records", spec=LOOKING)[0] == 0
    assert json.loads(page.read_text())["measurements"] == 8
    # Without what was found, the records are of no use: the networks must be trained again.
    (toy.folder / "toy.measured.jsonl").unlink()
    _, _, err = toy("--no-training", spec=LOOKING, results="another")
    assert "beside the page" not in err


def test_what_a_killed_command_left_in_the_folder_goes(toy, spawn):
    script = """if True:
        import os, signal, sys
        from pathlib import Path
        from formalbench.files import replacing

        with replacing(Path(sys.argv[1])) as file:
            file.write(b"half")
            file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
    """
    toy()
    spawn("-c", script, toy.folder / "toy.md").wait()
    assert len([*toy.folder.glob(".writing-*")]) == 1
    assert toy()[0] == 0
    assert [*toy.folder.glob(".writing-*")] == []
