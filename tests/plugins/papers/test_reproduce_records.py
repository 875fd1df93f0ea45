"""Records kept beside a page: they give its numbers again, and `check` holds it to them."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import pytest
from formalbench.analysis.reproduced import read_document
from formalbench.cli.main import run_command_line
from formalbench.contracts.errors import RequestError
from formalbench.contracts.specs import ReproductionSpec
from formalbench.host import PluginHost
from formalbench_papers.framework.checking import reproductions_problems
from formalbench_papers.framework.findings import Claim, Findings, TableCell
from formalbench_papers.framework.kept import found_again, kept_records
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


@pytest.fixture
def published(tmp_path, monkeypatch, capsys, announce):
    """Carry out the toy into a repository; return its root and the protocol's file."""
    announce(TOY)
    monkeypatch.setenv("FORMALBENCH_CACHE", str(tmp_path / "cache"))
    protocol = tmp_path / "tiny.yaml"
    protocol.write_text(TINY.format(1))
    root = tmp_path / "root"
    (root / "leaderboard" / "results").mkdir(parents=True)
    monkeypatch.chdir(root)
    assert reproduce(protocol, "--results", tmp_path / "runs", "--device", "cpu") == 0
    capsys.readouterr()
    return root, protocol


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
    records = kept_records(folder, "toy")
    assert [record.seed for record in records] == [0, 1]
    assert "[2 runs](toy.records.jsonl)" in (folder / "toy.md").read_text()
    assert problems(published) == []
    found = found_again(TOY, "quick", records, PluginHost.load([protocol]))
    assert [row["accuracy"] for row in found.rows] == [record.test.accuracy for record in records]


@pytest.mark.parametrize("part", ["cells", "claims", "data"])
def test_a_number_that_the_records_do_not_give_is_found_and_mended(published, part, capsys):
    root, protocol = published
    folder = root / "leaderboard" / "reproductions"
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    data = json.loads((folder / "toy.json").read_text())
    data[part][0]["accuracy" if part == "data" else "ours"] = 0.99 if part == "data" else "0.99"
    data["notes"] = ["a word since"]
    (folder / "toy.json").write_text(json.dumps(data))
    first, *others, last = problems(published)
    assert first.endswith("toy.md: not what toy.json gives")
    assert [line.endswith("toy.csv: not what toy.json gives") for line in others] == (
        [True] if part == "data" else []
    )
    assert "toy.json: not what its records give" in last
    assert reproduce(protocol, "--from-records") == 0
    assert problems(published) == []
    assert read_document(folder / "toy.json").notes == ("a word since",)
    assert "a word since" in (folder / "toy.md").read_text()
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
    said = "toy.json: not what its records give"
    assert [said in line for line in problems(published)] == ([True] if found else [])


def test_records_that_are_missing_changed_or_too_many_are_found(published):
    root, _ = published
    kept = root / "leaderboard" / "reproductions" / "toy.records.jsonl"
    head, first, second = kept.read_text().splitlines()
    kept.write_text(f"{head}\n{first}\n")
    assert problems(published) == [f"{kept}: 1 records, and the page says 2"]
    kept.write_text(f"{head}\n{first}\n{second[:-1]},1]\n")
    assert problems(published) == [f"{kept}: damaged"]
    kept.unlink()
    (line,) = problems(published)
    assert "toy.records.jsonl" in line


def test_a_page_by_itself_is_found(published):
    root, _ = published
    page = root / "leaderboard" / "reproductions" / "toy.md"
    (page.parent / "other.md").write_text("# A page\n")
    (line,) = problems(published)
    assert line.endswith("other.md: of no reproduction")
    (page.parent / "toy.json").write_text("{}")
    assert "toy.json: not the data of a reproduction" in problems(published)[1]


def test_records_of_a_protocol_that_has_changed_stay_and_are_not_compared(published):
    _, protocol = published
    protocol.write_text(TINY.format(2))
    assert problems(published) == []
    assert reproduce(protocol, "--from-records") == 2


def test_what_looks_into_networks_needs_their_weights(published):
    root, protocol = published
    records = kept_records(root / "leaderboard" / "reproductions", "toy")
    with pytest.raises(RequestError, match="needs the weights"):
        found_again(replace(TOY, inside=True), "quick", records, PluginHost.load([protocol]))
