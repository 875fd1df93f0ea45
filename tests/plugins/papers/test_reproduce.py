"""`formalbench reproduce`: what a paper claims is measured, and shown everywhere."""

import csv
import io
import json
import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from announced import SPECS, carry_out
from formalbench.cli.main import run_command_line
from formalbench.contracts.specs import ReproductionSpec
from formalbench.documents.figures import Figure, Panel, Series, picture
from formalbench_papers.chiang_cholak import figure2 as chiang_cholak_fig2
from formalbench_papers.chiang_cholak import figure3 as chiang_cholak_fig3
from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.claims import Claim, Findings, TableCell
from formalbench_papers.framework.curves import MeasuredAt, measure, random_strings
from formalbench_papers.framework.report import (
    Circumstances,
    as_csv,
    as_markdown,
    document,
    document_text,
)
from formalbench_papers.steffen import layer_norm as steffen_layernorm

PUBLISHED = Path(__file__).parents[3] / "leaderboard" / "reproductions"


@pytest.fixture(scope="module")
def bench(host):
    return Bench(host, "quick", lambda line: None)


def run(capsys, *arguments):
    code = run_command_line([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_list_is_data_too(capsys):
    code, out, _ = run(capsys, "reproduce", "--json")
    listed = json.loads(out)
    assert code == 0
    assert [one["reproduction"] for one in listed] == list(SPECS)
    assert all(one["reduced"] and one["core_hours"]["quick"] for one in listed)


def test_an_unknown_name_is_refused(capsys, tmp_path):
    code, out, err = run(capsys, "reproduce", "chiang-cholak-fig1", "--output", tmp_path)
    assert (code, out) == (2, "")
    assert "chiang-cholak-fig2" in err


def test_outside_the_repository_a_folder_must_be_named(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = run(capsys, "reproduce", "chiang-cholak-fig2")
    assert code == 2
    assert "--output" in err
    assert not list(tmp_path.iterdir())


class Small(Bench):
    """A bench on which everything is done with a few short strings."""

    def choose(self, quick, paper):
        if isinstance(quick, tuple):
            return (quick[0], 150, 4) if quick[-1] < 30 else (10, 60)
        return min(quick, 12)


OPEN = {
    "chiang-cholak-fig2": [
        f"{language}: with ε > 0, too, it approaches one bit: 0.9 at length 150, for every ε"
        for language in ("PARITY", "FIRST")
    ],
    "steffen-layernorm": [],
}
"""Claims that strings as short as these leave open."""


@pytest.mark.slow
@pytest.mark.parametrize("name", OPEN)
def test_a_small_one_is_carried_out_and_drawn(name, host, tmp_path):
    findings = carry_out(name, Small(host, "quick", lambda line: None))
    left = {claim.claim: claim.holds for claim in findings.claims if claim.holds is not True}
    assert left == dict.fromkeys(OPEN[name], "cannot tell")
    assert len(as_csv(findings.rows).splitlines()) > 12
    assert b"</svg>" in picture(findings.draw(), "svg")


def one(length=100, accuracy=1.0, mean=0.5, worst=None):
    return MeasuredAt(length, 10, accuracy, mean, mean if worst is None else worst)


def test_the_claims_of_figure_2_can_fail():
    floor = chiang_cholak_fig2.FLOOR
    names = [variant.name for variant in chiang_cholak_fig2.VARIANTS]
    good = {"no layer norm": (0.5, 0.995), "ε = 0": (floor, floor)}

    def curves(**changed):
        levels = {name: good.get(name, (0.1, 0.9)) for name in names} | changed
        return {
            (language, name): [one(10, 1.0, low), one(1000, 1.0, high)]
            for language in ("PARITY", "FIRST")
            for name, (low, high) in levels.items()
        }

    def verdicts(curves):
        return [claim.holds for claim in chiang_cholak_fig2._claims(curves)[:6]]

    assert verdicts(curves()) == [True] * 6
    assert verdicts(curves(**{"ε = 10⁻⁷": (0.1, 0.2)}))[4] == "cannot tell"
    assert verdicts(curves(**{"ε = 10⁻⁷": (0.1, 0.1)}))[4] is False
    assert verdicts(curves(**{"no layer norm": (0.5, 0.98)}))[1] is False
    assert verdicts(curves(**{"no layer norm": (0.05, 0.995)}))[2] is False
    assert verdicts(curves(**{"ε = 10⁻³": (0.2, 0.1)}))[3] is False
    assert verdicts(curves(**{"ε = 0": (floor, 1.01 * floor)}))[5] is False
    wrong = curves()
    wrong["PARITY", "ε = 0"][0] = one(10, 0.9, floor)
    assert verdicts(wrong)[0] is False


def test_the_claims_of_the_slides_can_fail():
    floor = steffen_layernorm.FLOOR
    levels = dict(
        zip([v.name for v in steffen_layernorm.VARIANTS], (0.99, 0.95, 0.5, floor), strict=True)
    )

    def verdicts(**changed):
        curves = {
            (language, name): [one(500, 1.0, level, 1.0 if level == 0.99 else None)]
            for language in ("Dyck-1", "Dyck-(1, 3)")
            for name, level in (levels | changed).items()
        }
        return [claim.holds for claim in steffen_layernorm._claims(curves)[:5]]

    assert verdicts() == [True] * 5
    assert verdicts(**{"no layer norm": 0.5})[1] is False
    assert verdicts(**{"ε = 10⁻⁵": 0.995})[2] is False
    assert verdicts(**{"ε = 10⁻⁵, with output layer": 0.96})[3] is False
    assert verdicts(**{"ε = 0, with output layer": 0.1})[4] is False


def course(training, seed=0, accuracy=0.5, mean=1.0):
    tests = (one(10, 0.5, 3.0), one(10, accuracy, mean))
    return chiang_cholak_fig3.Course(training, seed, (0, 100), tests)


def test_the_claims_of_figure_3_can_fail():
    floor = chiang_cholak_fig3.FLOOR

    def sweep(peak=1.0, far=0.5, tolerance=0.03):
        short = [(1 + d, one(10, float(abs(d) <= 0.1), 0.2)) for d in (-0.1, 0.1)]
        long = [(1 + d, one(100, float(abs(d) <= tolerance), 0.2)) for d in (-0.04, 0.04)]
        middle = (1.0, one(10, peak, floor))
        return {
            10: sorted([middle, *short], key=lambda pair: pair[0]),
            100: [*long, (1.0, one(100, peak, floor)), (1.2, one(100, far, 6.0))],
        }

    fig3 = chiang_cholak_fig3

    def verdicts(sweep, recovered=(1.0,) * 3, varied=(0.5,) * 3, fixed=(0.5,) * 3):
        reached = zip((fig3.RECOVERY, *fig3.FROM_SCRATCH), (recovered, varied, fixed), strict=True)
        courses = [
            course(training, seed, accuracy, 1 - accuracy)
            for training, accuracies in reached
            for seed, accuracy in enumerate(accuracies)
        ]
        return [claim.holds for claim in fig3._claims(sweep, courses)]

    assert verdicts(sweep(tolerance=0.0)) == [True] * 6
    assert verdicts(sweep(peak=0.9))[0] is False
    assert verdicts(sweep(far=0.9))[1] is False
    assert verdicts(sweep(tolerance=0.5))[2] is False
    assert verdicts(sweep(), recovered=(0.5,) * 3)[3] is False
    assert verdicts(sweep(), recovered=(0.5, 1.0, 1.0))[3] == "cannot tell"
    assert verdicts(sweep(), varied=(0.95,) * 3)[4:] == [False, True]
    assert verdicts(sweep(), fixed=(0.95,) * 3)[4:] == [True, False]
    assert verdicts(sweep(), fixed=(0.5, 1.0, 0.9))[5] == "cannot tell"


def test_figure_3_has_a_line_and_a_band_for_each_setting():
    fig3 = chiang_cholak_fig3
    courses = [
        course(training, seed, accuracy=seed / 10)
        for training in (fig3.RECOVERY, *fig3.FROM_SCRATCH)
        for seed in range(11)
    ]
    panels = fig3._draw({10: [(1.0, one(10, 1.0, 0.0))]}, courses).panels
    assert [len(panel.lines) for panel in panels] == [1, 3, 1, 3]
    for line in panels[3].lines:
        assert list(line.y) == pytest.approx([0.5, 0.5])
        assert line.band == ([0.5, 0.0], [0.5, 1.0])


@pytest.mark.slow
def test_figure_3_is_carried_out_and_goes_on(host, monkeypatch, tmp_path):
    class Tiny(Bench):
        def choose(self, quick, paper):
            return {3: 2, 20: 2, 200: 20}.get(quick, (10, 30)) if isinstance(quick, int) else (
                (4, 2, 20) if quick[0] == 1000 else (10, 30))  # fmt: skip

    monkeypatch.setattr(chiang_cholak_fig3, "_entries", lambda steps: [0.9, 1.0, 1.1])
    bench = Tiny(host, "quick", lambda line: None)
    findings = chiang_cholak_fig3.carry_out(bench)
    assert "2 are shown" in findings.remarks[0]
    assert len(findings.rows) == 2 * 3 + 2 * 3 * 3
    assert b"</svg>" in picture(findings.draw(), "svg")
    monkeypatch.setattr(chiang_cholak_fig3, "_train", None)  # nothing is trained twice
    assert chiang_cholak_fig3.carry_out(bench).rows == findings.rows


def test_a_published_figure_is_measured_again_alike(bench):
    """Its shortest strings, on this machine."""
    rows = list(csv.DictReader(io.StringIO((PUBLISHED / "chiang-cholak-fig2.csv").read_text())))
    task = bench.task("parity")
    compared = 0
    for variant in chiang_cholak_fig2.VARIANTS:
        network = bench.network("exact-parity", task, **variant.options)
        for row in rows:
            mine = (row["language"], row["variant"]) == ("PARITY", variant.name)
            if mine and int(row["length"]) <= 30:
                strings = random_strings(task, int(row["length"]), int(row["strings"]))
                again = measure(network, task, strings)
                assert again.mean_bits == pytest.approx(float(row["mean_bits"]), rel=1e-9)
                compared += 1
    assert compared > 30


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


def test_all_files_are_written(capsys, tmp_path, announce):
    announce(toy(True))
    folder = tmp_path / "out"
    code, out, err = run(capsys, "reproduce", "toy", "--output", folder)
    assert code == 0, err
    assert sorted(file.name for file in folder.iterdir()) == [
        "toy.csv",
        "toy.json",
        "toy.md",
        "toy.png",
        "toy.svg",
    ]
    assert " ".join(out.split()).count("x | y <b>1</b> 2 holds") == 1
    page = [line for line in out.splitlines() if not line.startswith("wrote ")]
    assert max(map(len, page)) <= 160  # in a pipe, too
    assert "🌆" not in out  # what rich prints for a picture
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
