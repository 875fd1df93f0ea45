"""Learned and extrapolates are two things: every face says which of them a number is of."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest
from built_records import TO_ITS_END
from formalbench.statistics.aggregate import aggregate, facts_of
from formalbench.statistics.build import View, build_page
from formalbench.statistics.length_profile import Step
from formalbench_leaderboard.board.tables import cell, of_task, ranking, validation
from formalbench_leaderboard.charts.language_map import (
    MapCell,
    brief,
    told,
)
from formalbench_leaderboard.page.descriptions import Definitions
from formalbench_leaderboard.page.page import render_page as render_html
from formalbench_leaderboard.renderers import renderer

VIEW = View("test", ("parity",), shortcut=lambda task: 0.875)


@pytest.fixture
def unlearned(make_record):
    """Make three seeds of a model that learned nothing, and three of one that did."""
    bad = [make_record("rnn", accuracy=0.7, validation=0.831, seed=seed) for seed in range(3)]
    return [*bad, *(make_record("lstm", accuracy=0.9, seed=seed) for seed in range(3))]


def result_of(runs):
    return aggregate(runs, facts_of(runs), ["key"]).result


@pytest.mark.parametrize(("share", "learned"), [(1.0, 1), (0.99, 1), (0.98, 0)])
def test_a_run_learned_from_99_percent_of_validation(make_record, share, learned):
    found = result_of([make_record(validation=share)])
    assert (found.learned, found.unlearned) == (learned, not learned)
    assert found.budget == 2000


def test_solved_to_a_length_is_said_of_what_was_learned_alone(make_record):
    assert result_of([make_record(validation=0.98)]).longest_99 is None
    assert result_of([make_record(validation=1.0)]).longest_99 == 71
    half = [make_record(validation=share, seed=seed) for seed, share in enumerate((1.0, 0.9))]
    found = result_of(half)
    assert (found.learned, found.unlearned, found.longest_99) == (1, False, None)
    assert found.validation == pytest.approx(0.95, abs=1e-3)


def test_what_was_not_trained_has_nothing_to_learn(make_record):
    found = result_of([make_record(rate=None, kind="exact")])
    assert (found.unlearned, found.longest_99) == (False, 71)


def test_a_run_that_did_not_finish_learned_nothing_but_is_told_otherwise(make_record):
    found = result_of([make_record(status="diverged")])
    assert (found.learned, found.unlearned) == (0, False)


def test_every_face_says_what_was_capped(make_record):
    capped = {**TO_ITS_END, "ended": "capped", "steps": 400}
    bad = [
        make_record("rnn", validation=0.8, training={**capped, "ended": ended}, seed=seed)
        for seed, ended in enumerate(("capped", "budget"))
    ]
    learned = make_record("lstm", training=capped)  # it learned all the same
    page = build_page([*bad, learned, make_record("gru", training=capped, validation=0.9)], VIEW)
    (board,) = page.boards
    rows = {row.model: row.on("parity") for row in board.rows}
    assert [(name, found.capped) for name, found in sorted(rows.items())] == [
        *(("gru", 1), ("lstm", 0), ("rnn", 1))
    ]
    assert validation(rows["rnn"]) == "80.0 (not learned in 400 steps, 1 capped)"
    assert cell(rows["rnn"]) == "[80.0]‡"
    assert "‡" not in cell(rows["lstm"])
    for name, sign in {
        "table": "‡: training stopped before", "markdown": "‡", "latex": "ddagger", "csv": "capped",
    }.items():  # fmt: skip
        assert sign in " ".join(renderer(name)(page).split()), name


def test_the_map_says_what_was_capped():
    cell = MapCell("parity", "unlearned", "", seeds=5, validation=0.58, budget=5800, capped=3)
    assert brief(cell) == "[58]‡"
    said = "not learned within 5,800 steps, 3 of 5 runs capped: validation accuracy 58.0 %"
    assert told(cell) == said


def test_some_seeds_that_were_capped_are_marked(make_record):
    capped = {**TO_ITS_END, "ended": "capped"}
    runs = [make_record(), make_record(validation=0.8, seed=1, training=capped)]
    assert cell(result_of(runs)).endswith("°‡")


def test_the_score_counts_the_test_all_the_same(unlearned):
    (board,) = build_page(unlearned, VIEW).boards
    rows = {row.model: row for row in board.rows}
    assert rows["rnn"].score == pytest.approx(0.4)  # 0.7 at chance 0.5
    shown = {row.model: ranking(board).texts[place][-1] for place, row in enumerate(board.rows)}
    assert shown == {"lstm": "90.0", "rnn": "[83.1]"}


def test_the_tasks_table_has_validation_and_budget(unlearned, make_record):
    (board,) = build_page(unlearned, VIEW).boards
    told = {one.row.model: validation(one.result) for one in of_task(board, "parity").items}
    assert told == {"lstm": "100.0", "rnn": "83.1 (not learned in 2,000 steps)"}
    some = [make_record(validation=share, seed=seed) for seed, share in enumerate((1.0, 0.5, 1.0))]
    (board,) = build_page(some, VIEW).boards
    (one,) = of_task(board, "parity").items
    assert validation(one.result) == "83.3 (2 of 3 seeds learned, the others not in 2,000 steps)"
    assert ranking(board).texts[0][-1] == "100.0°"


def test_every_face_says_so(unlearned):
    page = build_page(unlearned, VIEW)
    for name in ("table", "markdown", "latex"):
        text = " ".join(renderer(name)(page).split())
        assert "[83.1]" in text, name
        assert "the training lengths were not learned" in text, name
        assert re.search("score (still )?uses", text), name
    assert "83.1 (not learned in 2,000 steps)" in renderer("markdown")(page)
    rows = {row["model"]: row for row in csv.DictReader(io.StringIO(renderer("csv")(page)))}
    assert (rows["rnn"]["validation"], rows["rnn"]["learned"], rows["rnn"]["budget"]) == (
        *(f"{round(0.831 * 1024) / 1024:.6f}".rstrip("0"), "0", "2000"),
    )
    told = json.loads(renderer("json")(page))["measured"][0]["rows"]
    assert [row["results"][0]["learned"] for row in told] == [3, 0]
    html = render_html(page, Definitions({}, {}))["index.html"]
    assert 'class="cell unlearned"' in html
    assert '<abbr title="validation 83.1 (not learned in 2,000 steps)">[83.1]</abbr>' in html


def weak_of(records, shortcut):
    (board,) = build_page(records, View("test", ("parity",), shortcut=lambda task: shortcut)).boards
    return {row.model: row.on("parity").weak for row in board.rows}


def test_where_a_wrong_shortcut_is_nearly_right_a_cell_is_weak_evidence(unlearned, make_record):
    assert weak_of(unlearned, 0.951) == {"lstm": True, "rnn": False}  # rnn says nothing anyway
    for other in (None, 0.5, 0.95, 1.0):  # what is always right is the language itself
        assert weak_of(unlearned, other) == {"lstm": False, "rnn": False}, other
    assert weak_of([make_record(chance=0.96)], None) == {"regulargpt": True}
    assert weak_of([make_record(chance=1.0)], None) == {"regulargpt": False}


def test_a_shortcut_is_known_at_the_lengths_of_the_task_alone(unlearned):
    protocol = unlearned[0].protocol
    for splits, weak in (({"train": (1, 10)}, True), ({"test": (30, 30)}, False)):
        own = protocol.model_validate({**protocol.model_dump(), "splits": splits})
        runs = [run.model_copy(update={"protocol": own}) for run in unlearned]
        assert weak_of(runs, 0.951) == {"lstm": weak, "rnn": False}


def test_every_face_says_what_is_weak_evidence(unlearned):
    page = build_page(unlearned, View("test", ("parity",), shortcut=lambda task: 0.99))
    for name, sign in {
        "table": "90.0~",
        "markdown": "90.0 (90.0)~",
        "latex": r"90.0}$^{\sim}$",
        "json": '"weak": true',
    }.items():  # fmt: skip
        assert sign in renderer(name)(page), name
    for name in ("table", "markdown", "latex"):
        said = " ".join(renderer(name)(page).split())
        assert "a predictor that is wrong on some test strings" in said
    html = render_html(page, Definitions({}, {}))["index.html"]
    assert "90.0~" in html
    assert "<span>~ weak evidence:" in html
    assert "weak evidence" not in renderer("table")(build_page(unlearned, VIEW))


def test_the_map_says_what_is_weak_evidence():
    weak = MapCell("d2", "learned", "", (Step(41, 500, 1.0),), 3, 3, solved_to=500, weak=True)
    assert brief(weak) == "✓ 500~"
    assert "learned by 3 of 3 seeds (weak evidence), right on 99 %" in told(weak)


def test_chance_and_shortcut_stand_below_every_board(unlearned):
    page = build_page(unlearned, VIEW)
    table = renderer("table")(page)
    assert [line.split() for line in table.splitlines() if line.strip().startswith("chance")] == [
        ["chance", "50.0"]
    ]
    assert "shortcut" in table
    assert "*chance*" in renderer("markdown")(page)
    assert "Shortcut: 87.5." in renderer("markdown")(page)
    assert "% shortcut: parity 87.5." in renderer("latex")(page)
    assert json.loads(renderer("json")(page))["measured"][0]["facts"][0]["shortcut"] == 0.875
    html = render_html(page, Definitions({}, {}))["index.html"]
    assert '<th scope="row">shortcut</th>' in html


def test_a_cell_of_the_tasks_table_has_its_seeds_and_interval(make_record):
    runs = [make_record(accuracy=share, seed=seed) for seed, share in enumerate((0.9, 0.7))]
    page = build_page([*runs, make_record(status="diverged", seed=2)], VIEW)
    for name in ("markdown", "latex"):
        assert "2 of 3 finished (1 diverged): 90.0, 70.0" in renderer(name)(page), name
    (row,) = csv.DictReader(io.StringIO(renderer("csv")(page)))
    assert row["seed_accuracies"] == "0.9 0.7"
    (told,) = json.loads(renderer("json")(page))["measured"][0]["rows"]
    assert [run["accuracy"] for run in told["results"][0]["runs"]] == [0.9, 0.7, None]
    (one,) = of_task(page.boards[0], "parity").items
    low, high = (f"{100 * end:.1f}" for end in (one.result.low, one.result.high))
    for name in ("table", "markdown", "latex"):
        assert f"{low} " in renderer(name)(page), name
        assert f" {high}" in renderer(name)(page), name
