"""What is kept beside a page: it gives the numbers again, and a reproduction goes on from it."""

import csv
import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from formalbench.cli.main import run_command_line
from formalbench.contracts.specs import ReproductionSpec
from formalbench.documents.reproduction import read_document
from formalbench.evaluation.cells import test_set as draw_test_set
from formalbench.host import PluginHost
from formalbench.store.record_file import read_packed, written
from formalbench_papers.framework import runs
from formalbench_papers.framework.bench import draw_strings, retest
from formalbench_papers.framework.checks import PageRecords, found_again, reproductions_problems
from formalbench_papers.framework.claims import Claim, Findings, TableCell
from formalbench_papers.framework.runs import CellPlan

PROTOCOL = """
name: {}
version: {}
seeds: 2
learning_rates: [{}]
steps: 4
batch: 4
evaluate_every: 2
decay: {{steps: 2}}
validation: {{every: 4, lengths: 2, strings: 8}}
test: {{lengths: 2, strings: 8}}
"""
RATES = {"tiny": 0.01, "large": 0.02}


class Toy:
    """A repository in which a toy is carried out.

    Attributes:
        folder: of its page.
    """

    def __init__(self, place, announce, capsys):
        self.folder = place / "root" / "leaderboard" / "reproductions"
        self.place, self.announce, self.capsys = place, announce, capsys
        for name in RATES:
            self.set_version(name, 1)

    def set_version(self, name, version):
        text = PROTOCOL.format(name, version, RATES[name])
        (self.place / f"{name}.yaml").write_text(text)

    @property
    def host(self):
        return PluginHost.load([self.place / f"{name}.yaml" for name in RATES])

    def __call__(self, *words, spec=None, results="runs"):
        """Carry it out; return the exit code, what was printed, and errors."""
        self.announce(spec or GRID)
        words = ["reproduce", "toy", *words, "--output", self.folder, "--device", "cpu"]
        words += ["--results", self.place / results, "--jobs", 1]
        words += [word for name in RATES for word in ("--plugin", self.place / f"{name}.yaml")]
        code = run_command_line([str(word) for word in words])
        captured = self.capsys.readouterr()
        return code, captured.out, captured.err

    def problems(self):
        return reproductions_problems(self.place / "root", self.host)

    def read(self, kind="json"):
        text = (self.folder / f"toy.{kind}").read_text()
        return json.loads(text) if kind == "json" else text


@pytest.fixture
def toy(tmp_path, monkeypatch, capsys, announce):
    monkeypatch.setenv("FORMALBENCH_CACHE", str(tmp_path / "cache"))
    return Toy(tmp_path, announce, capsys)


def carry_out(bench):
    (got,) = bench.train([CellPlan("rnn", "parity", "rnn", "parity", "tiny", {"width": 8})])
    accuracies = got.accuracies
    ours = " ".join(f"{one:.4f}" for one in accuracies)
    rows = [{"run": i, "accuracy": one} for i, one in enumerate(accuracies)]
    cells = [TableCell("rnn", "parity", "100.0", ours, True)]
    return Findings(rows, [Claim("c", "p", ours, True)], None, (), cells, got.records)


TOY = ReproductionSpec("toy", "A toy", "Nobody (2026)", carry_out, "About it.", figure=False)


@pytest.fixture(scope="module")
def carried_out(tmp_path_factory):
    """Return a folder for what the first test trains, and the others copy."""
    return tmp_path_factory.mktemp("toy")


@pytest.fixture
def published(toy, announce, carried_out, tmp_path):
    """A page of `TOY` with its records, trained once."""
    if not any(carried_out.iterdir()):
        assert toy(spec=TOY)[0] == 0
        shutil.copytree(tmp_path, carried_out, dirs_exist_ok=True)
    shutil.copytree(carried_out, tmp_path, dirs_exist_ok=True)
    announce(TOY)
    return toy


def test_records_give_the_numbers_of_their_page(published):
    folder = published.folder
    assert {file.name for file in folder.iterdir()} == {
        "toy.csv",
        "toy.json",
        "toy.md",
        "toy.records.jsonl",
    }
    records = PageRecords.beside(folder, "toy").records
    assert [record.seed for record in records] == [0, 1]
    assert "[2 runs](toy.records.jsonl)" in (folder / "toy.md").read_text()
    assert published.problems() == []
    found = found_again(TOY, "quick", PageRecords.beside(folder, "toy"), published.host)
    assert [row["accuracy"] for row in found.rows] == [record.test.accuracy for record in records]


@pytest.mark.parametrize("part", ["cells", "claims", "data"])
def test_a_number_that_the_records_do_not_give_is_found_and_mended(published, part, capsys):
    folder = published.folder
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    data = json.loads((folder / "toy.json").read_text())
    data[part][0]["accuracy" if part == "data" else "ours"] = 0.99 if part == "data" else "0.99"
    (folder / "toy.json").write_text(json.dumps(data))
    *others, last = published.problems()
    file = "csv" if part == "data" else "md"
    assert [line.endswith(f"toy.{file}: not what toy.json gives") for line in others] == [True]
    assert "toy.json: does not match its records and measurements" in last
    assert published("--from-records", spec=TOY)[0] == 0
    assert published.problems() == []
    assert (folder / "toy.csv").read_bytes() == before["toy.csv"]


@pytest.mark.parametrize(("by", "found"), [(1e-14, False), (1e-7, True)])
def test_the_last_digits_of_another_processor_are_no_other_number(published, by, found):
    table = published.folder / "toy.json"
    data = json.loads(table.read_text())
    first = data["data"][0]
    first["accuracy"] = first["accuracy"] * (1 + by)
    table.write_text(json.dumps(data))
    with table.with_suffix(".csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, first)
        writer.writeheader()
        writer.writerows(data["data"])
    said = "toy.json: does not match its records and measurements"
    assert [said in line for line in published.problems()] == ([True] if found else [])


def test_records_that_are_missing_changed_or_too_many_are_found(published):
    kept = published.folder / "toy.records.jsonl"
    head, first, second = kept.read_text().splitlines()
    kept.write_text(f"{head}\n{first}\n")
    assert published.problems() == [f"{kept}: 1 record, and the page says 2"]
    kept.write_text(f"{head}\n{first}\n{second[:-1]},1]\n")
    assert published.problems() == [f"{kept}: damaged"]
    kept.unlink()
    assert published.problems() == [f"{kept}: 0 records, and the page says 2"]


def test_a_page_by_itself_is_found(published):
    page = published.folder / "toy.md"
    (page.parent / "other.md").write_text("# A page\n")
    (line,) = published.problems()
    assert line.endswith("other.md: of no reproduction")
    (page.parent / "toy.json").write_text("{}")
    assert "toy.json: not the data of a reproduction" in published.problems()[1]


def test_a_page_of_a_protocol_that_has_changed_says_so(published):
    folder = published.folder
    before = read_document(folder / "toy.json")
    published.set_version("tiny", 2)
    (line,) = published.problems()
    assert "toy.json: it is stale but not marked as stale" in line
    assert published("--from-records", spec=TOY)[0] == 0
    assert published.problems() == []
    after = read_document(folder / "toy.json")
    (note,) = after.notes
    assert "2 of 2 runs" in note
    assert "tiny (version 1)" in note
    assert "## Stale" in (folder / "toy.md").read_text()
    assert (after.cells, after.data) == (before.cells, before.data)  # as they were measured
    published.set_version("tiny", 1)
    (line,) = published.problems()
    assert "it is not stale any more" in line
    assert published("--from-records", spec=TOY)[0] == 0
    assert published.problems() == []


def test_a_page_of_which_nothing_was_kept_is_stale(published):
    folder = published.folder
    (folder / "toy.records.jsonl").unlink()
    data = json.loads((folder / "toy.json").read_text()) | {"records": None}
    (folder / "toy.json").write_text(json.dumps(data))
    assert any("it is stale but not marked as stale" in line for line in published.problems())


def test_sentences_that_the_experiment_no_longer_has_are_found_and_mended(published, announce):
    changed = replace(TOY, about="What it measures, in other words.")
    announce(changed)
    (line,) = published.problems()
    assert "toy.json: its sentences are not the experiment's" in line
    assert published("--from-records", spec=changed)[0] == 0
    assert published.problems() == []
    assert "What it measures, in other words." in (published.folder / "toy.md").read_text()


def test_an_experiment_that_has_changed_says_so(published, announce):
    changed = replace(TOY, factory=other)
    announce(changed)
    (line,) = published.problems()
    assert "it is stale but not marked as stale" in line
    assert published("--from-records", spec=changed)[0] == 0
    (note,) = published.read()["notes"]
    assert note.startswith("The experiment has changed: none of these 2 runs")


def other(bench):
    (got,) = bench.train([CellPlan("rnn", "parity", "rnn", "parity", "tiny", {"width": 4})])
    return Findings([], [Claim("c", "p", "", None)], None, (), (), got.records if got else ())


TASKS, WIDTHS = ("parity", "even-pairs"), (4, 8)


def carry_out_grid(bench):
    """Train two tasks at two widths; the scale quick has the first task alone."""
    wanted = [
        CellPlan(task, f"d = {w}", "rnn", task, bench.choose("tiny", "large"), {"width": w})
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


GRID = ReproductionSpec("toy", "A toy", "Nobody (2026)", carry_out_grid, figure=False)


def ours(toy):
    return {(cell["row"], cell["column"]): cell["ours"] for cell in toy.read()["cells"]}


def test_the_records_beside_the_page_are_taken_first(toy, monkeypatch):
    assert toy()[0] == 0
    page = toy.read("md")
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
    again = toy.read("md")
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


def test_a_page_of_one_scale_keeps_the_records_of_the_other(toy):
    toy()
    assert toy("--scale", "paper", "--no-training")[0] == 0
    assert toy("--from-records")[0] == 0
    assert toy.read()["records"] == 4
    assert toy.read()["notes"] == []


def test_options_that_do_nothing_are_refused(toy):
    for words, line in (
        (("--from-records", "--scale", "paper"), "--scale does nothing with --from-records"),
        (("--from-records", "--no-training"), "--no-training does nothing with --from-records"),
    ):
        code, _, err = toy(*words)
        assert (code, err) == (2, f"formalbench: {line}\n")
    assert run_command_line(["reproduce", "--scale", "paper"]) == 2


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
    assert "Scale: paper." in toy.read("md")
    assert len(read_packed(toy.folder / "toy.records.jsonl")) == 8
    assert "[8 runs]" in toy.read("md")
    assert "4 runs, trained" in toy.read("md")  # those of this page
    toy("--no-training", results="empty")  # quick again
    assert ours(toy)["parity", "d = 4"] == "2 seeds"


def test_a_page_is_not_stale_by_records_of_the_other_scale(toy):
    toy("--scale", "paper", "--only", "parity")
    toy()
    toy.set_version("large", 2)
    assert toy("--from-records")[0] == 0
    assert toy.read()["notes"] == []
    toy.set_version("tiny", 2)
    assert toy("--from-records")[0] == 0
    (note,) = toy.read()["notes"]
    assert note.startswith("4 of 4 runs belong to an older version of a model, task or protocol")


def carry_out_either(bench, names=("rnn", "lstm")):
    """Train two models, as one experiment did before it was content with one."""
    wanted = [CellPlan(n, "parity", n, "parity", "tiny", {"width": 4}) for n in names]
    records = [record for got in bench.train(wanted) for record in got.records]
    return Findings([{"runs": len(records)}], [], None, records=records)


def test_records_that_no_scale_asks_for_any_more_leave_the_page(toy):
    toy(spec=replace(GRID, factory=carry_out_either))
    assert "[4 runs]" in toy.read("md")
    one = replace(GRID, factory=lambda bench: carry_out_either(bench, ("rnn",)))
    assert toy("--from-records", spec=one)[0] == 0
    assert "[2 runs]" in toy.read("md")
    assert toy.problems() == []
    toy(spec=replace(GRID, factory=carry_out_either))
    toy("--no-training", spec=one)
    assert len(read_packed(toy.folder / "toy.records.jsonl")) == 2


def test_more_planned_seeds_than_records_say_are_missing(toy):
    toy()
    more = PROTOCOL.replace("seeds: 2", "seeds: 3").format("tiny", 1, RATES["tiny"])
    (toy.place / "tiny.yaml").write_text(more)
    missing = []

    def look(bench):
        found = carry_out_grid(bench)
        wanted = [CellPlan("parity", "d = 4", "rnn", "parity", "tiny", {"width": 4})]
        missing.extend(got.missing for got in bench.train(wanted))
        return found

    assert toy("--no-training", spec=replace(GRID, factory=look))[0] == 0
    assert missing == [1]


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
    assert "[4 steps](toy.measured.jsonl)" in toy.read("md")


def test_what_was_measured_gives_the_page_again_and_is_checked(toy):
    toy(spec=measuring(Measuring()))
    assert toy.problems() == []
    kept = toy.folder / "toy.measured.jsonl"
    before = kept.read_text()
    kept.write_text(before.replace("0.5", "7.5", 1))
    (line,) = toy.problems()
    assert "does not match its records and measurements" in line
    kept.write_text(
        before + before.splitlines()[0].replace('"step":{', '"step":{"under":"way",') + "\n"
    )
    assert toy.problems() == []  # measured on, and no page of it yet
    kept.write_text(before[: before.rindex('{"step"')])
    (line,) = toy.problems()
    assert line.endswith("3 steps, and the page says 4")
    kept.write_text(before.replace('"versions":{"task":', '"versions":{"task":9', 4))
    (line,) = toy.problems()
    assert "it is stale but not marked as stale" in line  # of another version of the task
    kept.write_text("{")
    assert "damaged" in toy.problems()[0]


def looking(bench):
    """Train under the protocol of the scale, and test the networks again on other strings."""
    protocol = bench.choose("tiny", "large")
    (got,) = bench.train([CellPlan("rnn", "parity", "rnn", "parity", protocol, {"width": 4})])
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
    before = toy.read()["data"]
    code, _, err = toy("--no-training", spec=LOOKING, results="empty")
    assert code == 0, err
    assert toy.read()["data"] == before
    # What was found at the other scale stays, too.
    toy("--scale", "paper", spec=LOOKING)
    assert "[8 steps](toy.measured.jsonl)" in toy.read("md")
    assert toy("--no-training", spec=LOOKING, results="empty")[0] == 0  # quick again
    assert toy.read()["data"] == before
    # A page states the current number of steps.
    page = toy.folder / "toy.json"
    page.write_text(json.dumps(json.loads(page.read_text()) | {"measurements": 7}))
    assert toy("--from-records", spec=LOOKING)[0] == 0
    assert json.loads(page.read_text())["measurements"] == 8
    # Without what was found, the records are of no use: the networks must be trained again.
    (toy.folder / "toy.measured.jsonl").unlink()
    _, _, err = toy("--no-training", spec=LOOKING, results="another")
    assert "copied from the page's folder" not in err


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
