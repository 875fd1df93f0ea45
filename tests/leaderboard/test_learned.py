"""Learned and extrapolates are two things: every face says which of them a number is of."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from formalbench.statistics.aggregate import aggregate, facts_of
from formalbench.statistics.build import View, build_page
from formalbench.statistics.length_profile import Step
from formalbench_leaderboard.board.tables import ranking
from formalbench_leaderboard.charts.language_map import (
    FamilyRows,
    LanguageMap,
    MapCell,
    MapColumn,
    MapRow,
    brief,
    told,
)
from formalbench_leaderboard.charts.map_chart import render as draw_map

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


def test_the_map_says_what_was_capped():
    cell = MapCell("parity", "unlearned", "", seeds=5, validation=0.58, budget=5800, capped=3)
    assert brief(cell) == "[58]‡"
    said = "not learned within 5,800 steps, 3 of 5 runs capped: validation accuracy 58.0 %"
    assert told(cell) == said


def test_the_score_counts_the_test_all_the_same(unlearned):
    (board,) = build_page(unlearned, VIEW).boards
    rows = {row.model: row for row in board.rows}
    assert rows["rnn"].score == pytest.approx(0.4)  # 0.7 at chance 0.5
    shown = {row.model: ranking(board).texts[place][-1] for place, row in enumerate(board.rows)}
    assert shown == {"lstm": "90.0", "rnn": "[83.1]"}


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


def test_the_map_draws_what_is_weak_evidence_otherwise():
    weak = MapCell("d2", "learned", "", (Step(41, 500, 1.0),), 3, 3, solved_to=500, weak=True)
    assert brief(weak) == "✓ 500~"
    assert "learned by 3 of 3 seeds (weak evidence), right on 99 %" in told(weak)
    shapes = {}
    for one in (weak, replace(weak, weak=False)):
        family = FamilyRows("rnn", (None,), (None,), (MapRow("rnn", (one,)),))
        shown = LanguageMap("quick", (MapColumn("d2", "C-RASP", 40, 41, 500, 500),), (family,))
        shapes[one.weak] = draw_map(shown)
    assert "weak evidence: a predictor" in shapes[True]
    assert 'class="tick"' not in shapes[True]
    assert 'class="tick"' in shapes[False]
    assert "weak evidence" not in shapes[False]


def test_no_bar_of_the_map_covers_a_sign():
    """A row's shapes of one kind are one path: that of the signs is drawn after all bars."""
    cells = [
        MapCell(task, "learned", "", (Step(41, 500, share),), 3, 3, weak=True)
        for task, share in (("d2", 1.0), ("d3", 0.7))
    ]
    columns = tuple(MapColumn(one.task, "C-RASP", 40, 41, 500, 500) for one in cells)
    family = FamilyRows("rnn", (None,) * 2, (None,) * 2, (MapRow("rnn", tuple(cells)),))
    drawn = draw_map(LanguageMap("quick", columns, (family,)))
    assert re.findall(r'<path class="(s\d|part)"', drawn)[:3] == ["s4", "s2", "part"]


