"""Records kept beside a page: they give its numbers again, and `check` holds it to them."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import replace

import pytest
from formalbench.cli.main import run_command_line
from formalbench.contracts.specs import ReproductionSpec
from formalbench.documents.reproduction import read_document
from formalbench.host import PluginHost
from formalbench_papers.framework.checks import Kept, found_again, reproductions_problems
from formalbench_papers.framework.claims import Claim, Findings, TableCell
from formalbench_papers.framework.runs import Wanted

TINY = """
name: tiny
version: {}
seeds: 2
learning_rates: [0.01]
steps: 20
batch: 8
evaluate_every: 10
decay: {{steps: 10}}
validation: {{every: 20, lengths: 2, strings: 8}}
test: {{lengths: 2, strings: 16}}
"""


def carry_out(bench):
    (got,) = bench.train([Wanted("rnn", "parity", "rnn", "parity", "tiny", {"width": 8})])
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
def published(tmp_path, monkeypatch, capsys, announce, carried_out):
    """Carry out the toy into a repository; return its root and the protocol's file."""
    announce(TOY)
    monkeypatch.setenv("FORMALBENCH_CACHE", str(tmp_path / "cache"))
    if not (carried_out / "root").exists():
        protocol = carried_out / "tiny.yaml"
        protocol.write_text(TINY.format(1))
        (carried_out / "root" / "leaderboard" / "results").mkdir(parents=True)
        monkeypatch.chdir(carried_out / "root")
        assert reproduce(protocol, "--results", carried_out / "runs", "--device", "cpu") == 0
    shutil.copytree(carried_out, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path / "root")
    capsys.readouterr()
    return tmp_path / "root", tmp_path / "tiny.yaml"


def reproduce(protocol, *words):
    return run_command_line(["reproduce", "toy", "--plugin", str(protocol), *map(str, words)])


def problems(published):
    root, protocol = published
    return reproductions_problems(root, PluginHost.load([protocol]))


def test_records_give_the_numbers_of_their_page(published):
    root, protocol = published
    folder = root / "leaderboard" / "reproductions"
    assert {file.name for file in folder.iterdir()} == {
        "toy.csv",
        "toy.json",
        "toy.md",
        "toy.records.jsonl",
    }
    records = Kept.beside(folder, "toy").records
    assert [record.seed for record in records] == [0, 1]
    assert "[2 runs](toy.records.jsonl)" in (folder / "toy.md").read_text()
    assert problems(published) == []
    found = found_again(TOY, "quick", Kept.beside(folder, "toy"), PluginHost.load([protocol]))
    assert [row["accuracy"] for row in found.rows] == [record.test.accuracy for record in records]


@pytest.mark.parametrize("part", ["cells", "claims", "data"])
def test_a_number_that_the_records_do_not_give_is_found_and_mended(published, part, capsys):
    root, protocol = published
    folder = root / "leaderboard" / "reproductions"
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    data = json.loads((folder / "toy.json").read_text())
    data[part][0]["accuracy" if part == "data" else "ours"] = 0.99 if part == "data" else "0.99"
    (folder / "toy.json").write_text(json.dumps(data))
    *others, last = problems(published)
    file = "csv" if part == "data" else "md"
    assert [line.endswith(f"toy.{file}: not what toy.json gives") for line in others] == [True]
    assert "toy.json: does not match its records and measurements" in last
    assert reproduce(protocol, "--from-records") == 0
    assert problems(published) == []
    assert (folder / "toy.csv").read_bytes() == before["toy.csv"]


@pytest.mark.parametrize(("by", "found"), [(1e-14, False), (1e-7, True)])
def test_the_last_digits_of_another_processor_are_no_other_number(published, by, found):
    root, _ = published
    table = root / "leaderboard" / "reproductions" / "toy.json"
    data = json.loads(table.read_text())
    first = data["data"][0]
    first["accuracy"] = first["accuracy"] * (1 + by)
    table.write_text(json.dumps(data))
    with table.with_suffix(".csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, first)
        writer.writeheader()
        writer.writerows(data["data"])
    said = "toy.json: does not match its records and measurements"
    assert [said in line for line in problems(published)] == ([True] if found else [])


def test_records_that_are_missing_changed_or_too_many_are_found(published):
    root, _ = published
    kept = root / "leaderboard" / "reproductions" / "toy.records.jsonl"
    head, first, second = kept.read_text().splitlines()
    kept.write_text(f"{head}\n{first}\n")
    assert problems(published) == [f"{kept}: 1 record, and the page says 2"]
    kept.write_text(f"{head}\n{first}\n{second[:-1]},1]\n")
    assert problems(published) == [f"{kept}: damaged"]
    kept.unlink()
    assert problems(published) == [f"{kept}: 0 records, and the page says 2"]


def test_a_page_by_itself_is_found(published):
    root, _ = published
    page = root / "leaderboard" / "reproductions" / "toy.md"
    (page.parent / "other.md").write_text("# A page\n")
    (line,) = problems(published)
    assert line.endswith("other.md: of no reproduction")
    (page.parent / "toy.json").write_text("{}")
    assert "toy.json: not the data of a reproduction" in problems(published)[1]


def test_a_page_of_a_protocol_that_has_changed_says_so(published):
    root, protocol = published
    folder = root / "leaderboard" / "reproductions"
    before = read_document(folder / "toy.json")
    protocol.write_text(TINY.format(2))
    (line,) = problems(published)
    assert "toy.json: it is stale but not marked as stale" in line
    assert reproduce(protocol, "--from-records") == 0
    assert problems(published) == []
    after = read_document(folder / "toy.json")
    (note,) = after.notes
    assert "2 of 2 runs" in note
    assert "tiny (version 1)" in note
    assert "## Stale" in (folder / "toy.md").read_text()
    assert (after.cells, after.data) == (before.cells, before.data)  # as they were measured
    protocol.write_text(TINY.format(1))
    (line,) = problems(published)
    assert "it is not stale any more" in line
    assert reproduce(protocol, "--from-records") == 0
    assert problems(published) == []


def test_a_page_of_which_nothing_was_kept_is_stale(published):
    root, _ = published
    folder = root / "leaderboard" / "reproductions"
    (folder / "toy.records.jsonl").unlink()
    data = json.loads((folder / "toy.json").read_text()) | {"records": None}
    (folder / "toy.json").write_text(json.dumps(data))
    assert any("it is stale but not marked as stale" in line for line in problems(published))


def test_an_experiment_that_has_changed_says_so(published, announce):
    root, protocol = published
    announce(replace(TOY, factory=other))
    (line,) = problems(published)
    assert "it is stale but not marked as stale" in line
    assert reproduce(protocol, "--from-records") == 0
    (note,) = read_document(root / "leaderboard" / "reproductions" / "toy.json").notes
    assert note.startswith("The experiment has changed: none of these 2 runs")


def other(bench):
    (got,) = bench.train([Wanted("rnn", "parity", "rnn", "parity", "tiny", {"width": 4})])
    return Findings([], [Claim("c", "p", "", None)], None, (), (), got.records if got else ())
