from __future__ import annotations

import random

import pytest
from formalbench.statistics.build import View, build_page
from formalbench_leaderboard.board.views import suite_view
from formalbench_leaderboard.renderers import FORMATS, renderer

VIEW = View("test", ("parity", "first"))


def test_any_order_of_the_records_gives_the_same_bytes(many_records, host):
    view = suite_view(host, "default")
    expected = {name: renderer(name)(build_page(many_records, view)) for name in FORMATS}
    for seed in range(3):
        shuffled = [*many_records, *many_records[:7]]  # twice in two folders: counted once
        random.Random(seed).shuffle(shuffled)
        page = build_page(shuffled, view)
        assert {name: renderer(name)(page) for name in FORMATS} == expected


def test_score_is_the_mean_over_tasks_and_missing_ones_leave_none(many_records, host):
    (board,) = build_page(many_records, suite_view(host, "default")).boards
    assert [(row.model, row.rank) for row in board.rows] == [
        ("regulargpt", 1),
        ("rnn", 2),
        ("transformer", None),
    ]
    assert board.rows[0].score == pytest.approx(0.96)  # 0.98 at chance 0.5
    assert board.rows[0].low < 0.96 < board.rows[0].high
    assert board.rows[2].score is None
    assert "transformer has no score: not tested on first." in board.notes


@pytest.mark.parametrize(("count", "told"), [(4, "t1, t2, t3, t4."), (5, "t1, t2, t3 and 2 more.")])
def test_of_many_missing_tasks_the_first_are_named(make_record, count, told):
    tasks = [f"t{number}" for number in range(count + 1)]
    (board,) = build_page([make_record("m", "t0:classify")], View("v", tasks)).boards
    assert f"m has no score: not tested on {told}" in board.notes


def test_rows_that_cannot_be_told_apart_share_a_rank(make_record):
    levels = {"a": (1.0, 0.6, 0.8), "b": (0.9, 0.6, 0.8), "c": (0.51, 0.5, 0.52)}
    records = [
        make_record(model, "parity:classify", accuracy=share, seed=seed)
        for model, shares in levels.items()
        for seed, share in enumerate(shares * 4)
    ]
    (board,) = build_page(records, View("test", ("parity",))).boards
    assert [(row.model, row.rank, row.rank_low, row.rank_high) for row in board.rows] == [
        ("a", 1, 1, 2),
        ("b", 1, 1, 2),
        ("c", 3, 3, 3),
    ]
    assert [row.better_than for row in board.rows] == [("c",), ("c",), ()]


def test_one_wrong_string_does_not_part_two_rows(make_record):
    records = [
        make_record("perfect", accuracy=[100] * 4, kind="exact", rate=None),
        make_record("nearly", accuracy=[100, 99, 100, 100], kind="exact", rate=None),
        make_record("hardly", accuracy=[60] * 4, kind="exact", rate=None),
    ]
    (board,) = build_page(records, View("test", ("parity",))).boards
    assert [(row.model, row.rank) for row in board.rows] == [
        ("perfect", 1),
        ("nearly", 1),
        ("hardly", 3),
    ]
    assert [row.low < row.score <= row.high for row in board.rows] == [True] * 3


def test_single_seeds_part_no_rows(make_record):
    records = [make_record("perfect"), make_record("hardly", accuracy=[60] * 4)]
    (board,) = build_page(records, View("test", ("parity",))).boards
    assert [row.rank for row in board.rows] == [1, 1]
    assert any("hardly has a single seed on parity" in note for note in board.notes)


@pytest.mark.parametrize("tasks", [("parity",), ("parity", "first")])
def test_a_row_is_ranked_among_others_or_not_at_all(make_record, tasks):
    """Another row that lacks a task does not make one a rank of 1, and has none itself."""
    records = [make_record("best", f"{task}:classify") for task in tasks]
    lacking = [make_record("lacks", "first:classify")]
    (board,) = build_page([*records, *lacking], View("test", tasks[:1])).boards
    assert [(row.model, row.rank, row.rank_low, row.score is None) for row in board.rows] == [
        ("best", None, None, False),
        ("lacks", None, None, True),
    ]
    told = "\n".join(board.notes)
    assert "best has no rank, because no other row has a score." in told
    assert "lacks has no score: not tested on parity." in told
    (board,) = build_page([*records, make_record("worse", accuracy=0.6)], View("t", tasks)).boards
    assert [row.rank for row in board.rows] == ([1, 1] if len(tasks) == 1 else [None, None])


def test_equal_scores_are_in_order_of_name(make_record):
    records = [make_record(model) for model in ("zeta", "alpha", "mid")]
    (board,) = build_page(records, View("test", ("parity",))).boards
    assert [row.model for row in board.rows] == ["alpha", "mid", "zeta"]


def test_protocols_are_boards_of_their_own(make_record):
    other = {"name": "quick", "version": 2, "test": {"lengths": 4, "strings": 100}}
    page = build_page([make_record(), make_record(protocol=other)], VIEW)
    assert [(board.version, len(board.rows)) for board in page.boards] == [(2, 1), (1, 1)]


def test_options_are_rows_of_their_own(make_record):
    records = [make_record(), make_record(options={"chunk": 3})]
    (board,) = build_page(records, VIEW).boards
    assert {row.model for row in board.rows} == {"regulargpt", "regulargpt[chunk=3]"}


def test_a_task_where_chance_is_always_right_is_not_scored(make_record):
    records = [make_record(accuracy=0.75), make_record(task="first:classify", chance=1.0)]
    (board,) = build_page(records, VIEW).boards
    assert board.rows[0].score == pytest.approx(0.5)
    assert "first is not in the score, because chance is always right." in board.notes


def test_failed_runs_are_visible_in_every_face(make_record):
    records = [make_record(accuracy=0.9), make_record(status="diverged", seed=1)]
    page = build_page(records, View("test", ("parity",)))
    for name, sign in {
        "table": "70.0!",
        "markdown": "70.0 (90.0) ⚠",
        "latex": r"70.0}$^{\dagger}$",
        "csv": ",2,1,",
        "json": '"diverged",',
    }.items():
        assert sign in renderer(name)(page), name
    for name in ("table", "markdown", "latex", "json"):
        assert "1 of 2 finished (1 diverged)" in " ".join(renderer(name)(page).split()), name


def test_runs_tested_on_other_strings_are_told(make_record):
    records = [make_record("a"), make_record("b", fingerprint="0" * 64)]
    (board,) = build_page(records, VIEW).boards
    assert any("not all tested on the same strings" in note for note in board.notes)


def test_no_records_give_a_page_too(host):
    page = build_page([], suite_view(host, "default"))
    assert "No results yet" in renderer("markdown")(page)
    assert "No results yet" in renderer("table")(page)
    for name in FORMATS:
        assert renderer(name)(page).endswith("\n")
