"""A reproduction's output in the terminal, as a page and as data, with arbitrary names."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from dataclasses import replace

import numpy as np
import pytest
from formalbench.cli.main import run_command_line
from formalbench.contracts.specs import ReproductionSpec
from formalbench.documents.figures import Figure, Panel, Series
from formalbench_papers.framework.claims import Claim, Findings, TableCell
from formalbench_papers.framework.report import (
    Circumstances,
    as_csv,
    as_markdown,
    document,
    document_text,
)

HOW = Circumstances("quick", 12.3, "2026-11-20", "cpu, a machine; torch 2.13.0")


def draw():
    return Figure([[Panel([Series([1, 2], [1, 2], "#123456")])]])


def toy(*holds) -> ReproductionSpec:
    claims = [Claim("x | y", "<b>1</b>", "2", held) for held in holds]
    findings = Findings([{"n": 1, "bits": 0.1}, {"n": 2, "bits": 1 / 3}], claims, draw, ("a note",))
    reduced = "a toy is small."
    return ReproductionSpec(
        "toy", "A toy", "Nobody (2026)", lambda bench: findings, "About it.", reduced
    )


def run(capsys, *arguments):
    code = run_command_line([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize("inside", [False, True])
def test_all_files_are_written(capsys, tmp_path, monkeypatch, inside, announce):
    announce(toy(True))
    words = []
    folder = tmp_path / "out"
    if inside:
        (tmp_path / "leaderboard" / "results").mkdir(parents=True)
        monkeypatch.chdir(tmp_path)
        folder = tmp_path / "leaderboard" / "reproductions"
    else:
        words = ["--output", folder]
    code, out, err = run(capsys, "reproduce", "toy", *words)
    assert code == 0, err
    assert sorted(file.name for file in folder.iterdir()) == [
        "toy.csv",
        "toy.json",
        "toy.md",
        "toy.png",
        "toy.svg",
    ]
    assert " ".join(out.split()).count("x | y <b>1</b> 2 holds") == 1
    assert (folder / "toy.png").read_bytes().startswith(b"\x89PNG")
    assert list(csv.DictReader(io.StringIO((folder / "toy.csv").read_text()))) == [
        {"n": "1", "bits": "0.1"},
        {"n": "2", "bits": str(1 / 3)},
    ]


def test_the_same_data_draw_the_same_figure(capsys, tmp_path, announce):
    announce(toy(True))
    for part in ("a", "b"):
        assert run(capsys, "reproduce", "toy", "--output", tmp_path / part)[0] == 0
    for kind in ("svg", "png", "csv"):  # the page and the JSON name the time it took
        first, second = (tmp_path / part / f"toy.{kind}" for part in ("a", "b"))
        assert first.read_bytes() == second.read_bytes()


HOSTILE = "=x|</td><script>[a](http://b) **c**\n\x1b[31m\u202e"


def hostile() -> Findings:
    cells = [TableCell(HOSTILE, HOSTILE, HOSTILE, HOSTILE, held) for held in (True, False, None)]
    claims = [Claim(HOSTILE, HOSTILE, HOSTILE, None)]
    return Findings([{"name": HOSTILE, "n": 1.5}], claims, None, (HOSTILE,), cells)


def test_names_break_neither_page_nor_terminal_nor_sheet(capsys, tmp_path, announce):
    page = as_markdown(document(toy(True), hostile(), HOW))
    rows = [line for line in page.splitlines() if line.startswith("| &#") or "| =x" in line]
    assert len(rows) == 4
    assert all(line.count("|") in (5, 6) for line in rows)
    for sign in ("<script", "](http", "**c", "\x1b", "\u202e"):
        assert sign not in page
    announce(replace(toy(True), factory=lambda bench: hostile()))
    _, shown, _ = run(capsys, "reproduce", "toy", "--output", tmp_path)
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "[a](http://b)" in "".join(shown.split())  # no markup of the terminal's
    (row,) = csv.DictReader(io.StringIO(as_csv(hostile().rows)))
    assert row["name"].startswith("'=x")  # a spreadsheet would compute =x
    assert (
        json.loads(document_text(document(toy(True), hostile(), HOW)))["cells"][0]["row"] == HOSTILE
    )


def test_with_json_standard_output_is_json_alone(capsys, tmp_path, announce):
    announce(toy(True, False, None))
    code, out, err = run(capsys, "reproduce", "toy", "--output", tmp_path, "--json")
    data = json.loads(out)
    assert code == 1
    assert [claim["verdict"] for claim in data["claims"]] == [
        "holds",
        "differs",
        "not run at this scale",
    ]
    assert data["holds"] is False
    assert data["data"][0] == {"n": 1, "bits": 0.1}
    assert data["scale"] == "quick"
    assert data["reduced"] == "a toy is small."
    assert out == (tmp_path / "toy.json").read_text()
    assert "wrote" in err


def test_numbers_that_json_lacks_are_null():
    odd = Findings([{"a": math.nan, "b": np.int64(3), "c": np.float64(0.5)}], [], None)
    assert json.loads(document_text(document(toy(True), odd, HOW)))["data"] == [
        {"a": None, "b": 3, "c": 0.5}
    ]


def test_a_table_needs_nothing_that_draws(capsys, tmp_path, monkeypatch, announce):
    table = replace(toy(True), figure=False, factory=lambda bench: hostile())
    announce(table)
    monkeypatch.setitem(sys.modules, "altair", None)
    code, _, err = run(capsys, "reproduce", "toy", "--output", tmp_path)
    assert code == 0, err
    assert sorted(file.suffix for file in tmp_path.iterdir()) == [".csv", ".json", ".md"]


def test_without_what_draws_there_is_all_but_the_figure(capsys, tmp_path, monkeypatch, announce):
    announce(toy(True))
    monkeypatch.setitem(sys.modules, "altair", None)
    code, _, err = run(capsys, "reproduce", "toy", "--output", tmp_path)
    assert code == 0, err
    assert err.splitlines() == [
        "formalbench: no figure is written: the figure needs the package altair: "
        "pip install 'formalbench[figures]'"
    ]
    assert sorted(file.suffix for file in tmp_path.iterdir()) == [".csv", ".json", ".md"]
    assert "![" not in (tmp_path / "toy.md").read_text()


@pytest.mark.parametrize(
    ("claims", "holds", "code"),
    [
        ((True, None, "cannot tell"), True, 0),
        ((True, False), False, 1),
        (("cannot tell", None), False, 0),
        ((None,), False, 0),
        ((), False, 0),
    ],
)
def test_a_page_holds_if_a_claim_does_and_none_differs(
    capsys, tmp_path, announce, claims, holds, code
):
    announce(toy(*claims))
    assert run(capsys, "reproduce", "toy", "--output", tmp_path)[0] == code
    assert json.loads((tmp_path / "toy.json").read_text())["holds"] is holds


def test_a_page_of_nothing_is_written(capsys, tmp_path, announce):
    empty = Findings([], [Claim("c", "p", "", None)], draw)
    announce(replace(toy(), factory=lambda bench: empty))
    code, _, err = run(capsys, "reproduce", "toy", "--output", tmp_path)
    assert code == 0, err
    assert sorted(file.suffix for file in tmp_path.iterdir()) == [".csv", ".json", ".md"]
