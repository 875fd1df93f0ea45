"""Boards from records: rows, ranks, and which records count."""

import itertools
import random
from dataclasses import replace

import pytest
from built_records import forged, renamed, with_sums
from formalbench.statistics.build import View, build_page
from formalbench.statistics.records import counts_of
from formalbench.statistics.selection import CurrentContents, checkable, distinct, select_records
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
        ("rnn", 1),
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


OLD, NEW = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


def kept(records, current=None):
    """Return the records that count and the notes, of all boards."""
    parts = select_records(records, current or CurrentContents())
    return [r for part in parts for r in part.records], [n for part in parts for n in part.notes]


def with_extra_metric(record):
    """Return a record in which a plugin's metric was measured besides."""
    measured = with_sums(record, {"calibration": 1}, calibration=([1, 2, 3, 4], [100] * 4))
    return renamed(forged(measured, {"code": {"metric calibration": "somebodys-metrics"}}))


OTHER_TASK = "1 run of {} not counted, because the task has a new version."


def test_two_contents_of_a_local_language_are_not_pooled(make_record):
    file = {"task_file": "mine.yaml", "task": "mine:classify"}
    old = make_record(accuracy=1.0, task_sha256="b" * 64, date=OLD, **file)
    new = make_record(accuracy=0.6, task_sha256="a" * 64, date=NEW, seed=1, **file)
    other = make_record("rnn", accuracy=0.7, task_sha256="b" * 64, date=OLD, **file)
    for records in itertools.permutations([old, new, other]):
        (board,) = build_page(records, View("test", ("mine",))).boards
        assert [(row.model, row.results[0].mean) for row in board.rows] == [("regulargpt", 0.6)]
        assert "2 runs of mine:classify not counted, " in " ".join(board.notes)


def test_a_language_of_the_same_name_from_elsewhere_is_another(make_record):
    ours = make_record(accuracy=1.0, date=OLD)
    theirs = make_record(accuracy=0.6, date=NEW, seed=1, task_file="theirs")
    assert kept([ours, theirs])[0] == [theirs]


def test_a_task_is_the_same_on_every_board(make_record, protocol):
    file = {"task_file": "mine.yaml", "task": "mine:classify"}
    old = make_record(task_sha256="b" * 64, date=OLD, **file)
    new = make_record(task_sha256="a" * 64, date=NEW, protocol=protocol | {"name": "other"}, **file)
    first, second = select_records([old, new], CurrentContents())
    assert (first.key, first.records) == (("other", 1), [new])
    assert (second.key, second.records) == (("quick", 1), [])
    assert second.notes == [OTHER_TASK.format("mine:classify")]


def test_two_contents_of_a_protocol_are_not_pooled(make_record, protocol):
    old = make_record(accuracy=1.0, date=OLD, protocol=protocol | {"name": "mine"})
    changed = protocol | {"name": "mine", "steps": 900, "decay": {"steps": 300}}
    new = make_record(accuracy=0.6, date=NEW, seed=1, protocol=changed)
    note = "1 run not counted, because this protocol has other contents now."
    for records in ([old, new], [new, old]):
        assert kept(records) == ([new], [note])


def test_what_is_registered_counts_whatever_the_dates_say(make_record, protocol, host):
    file = {"task_file": "parity.yaml", "task_sha256": "a" * 64}
    ours = make_record(date=OLD)
    other_task = make_record(date=NEW, seed=1, **file)
    other_protocol = make_record(date=NEW, seed=2, protocol=protocol | {"batch": 64})
    records = [ours, other_task, other_protocol]
    assert kept(records, suite_view(host, "default").current)[0] == [ours]
    assert kept(records, CurrentContents.of([ours]))[0] == [ours]
    assert kept(records)[0] != [ours]


def test_what_failed_hides_no_chance_level(make_record, host):
    """A session's run that failed leaves the published rows their scores."""
    published = [make_record("rnn", seed=seed, accuracy=0.9) for seed in range(2)]
    failed = make_record("exact", status="error")
    view = replace(suite_view(host, "default"), current=CurrentContents.of([failed]))
    (board,) = build_page([*published, failed], view).boards
    (facts,) = board.facts
    assert facts.chances
    assert checkable([*published, failed], view.current) == published
    assert checkable([failed], view.current) == [failed]


def test_the_number_of_seeds_and_the_summary_are_no_other_protocol(make_record, protocol):
    more = make_record(seed=1, protocol=protocol | {"seeds": 5, "summary": "five"})
    assert len(kept([make_record(), more])[0]) == 2


def test_one_run_under_two_numbers_of_seeds_is_no_second_seed(make_record, protocol):
    once = make_record(date=OLD)
    again = make_record(date=NEW, protocol=protocol | {"seeds": 5})
    assert once.test_id == again.test_id
    assert distinct([again, once]) == [once]


def test_what_else_was_measured_is_no_second_seed(make_record):
    once = make_record(date=OLD)
    again = with_extra_metric(make_record(date=NEW))
    assert once.test_id != again.test_id
    assert distinct([again, once]) == [once]
    assert counts_of(again) == counts_of(once)


def test_a_run_that_two_protocols_make_counts_on_both_boards(make_record, protocol):
    changed = {"changed": {"seeds": 5}, "draws": ["quick", 1], "seeds": 5}
    once, again = make_record(), make_record(protocol=protocol | changed)
    assert once.test_id == again.test_id
    assert {board.protocol for board in build_page([once, again], VIEW).boards} == {
        "quick",
        "quick[seeds=5]",
    }


def test_a_forged_identity_is_no_second_seed(make_record):
    once = make_record(date=OLD)
    assert distinct([once, make_record(date=NEW, test_id="f" * 16)]) == [once]


@pytest.mark.parametrize("name", ["parity:classify", "mystery:classify", "parity:", ""])
def test_current_contents_are_those_of_the_host(host, name):
    found = suite_view(host, "default").current.task(name)
    assert found == ((1, "formalbench") if name == "parity:classify" else None)


def test_one_name_from_two_sources_is_two_rows(make_record):
    records = [make_record("mine"), make_record("mine", distribution="mine.py", sha256="a" * 64)]
    (board,) = build_page(records, VIEW).boards
    assert {row.model for row in board.rows} == {"mine (formalbench)", "mine (mine.py)"}


def test_a_changed_local_plugin_replaces_its_older_self(make_record):
    source = {"distribution": "mine.py"}
    old = make_record("mine", accuracy=1.0, sha256="b" * 64, date="2026-01-01T00:00:00Z", **source)
    new = make_record("mine", accuracy=0.6, sha256="a" * 64, date="2026-01-02T00:00:00Z", **source)
    (board,) = build_page([old, new], VIEW).boards
    assert [result.mean for result in board.rows[0].results] == [0.6]
    assert "1 run of mine not counted, because the model has a new version." in board.notes


def test_records_of_an_older_task_version_do_not_count(make_record):
    old, new = make_record(accuracy=1.0), make_record(accuracy=0.7, task_version=2)
    for records in ([old, new], [new, old]):
        assert kept(records) == ([new], [OTHER_TASK.format("parity:classify")])
    assert kept([old, new], CurrentContents(task=lambda task: (3, "formalbench")))[0] == []


def test_a_run_counts_once_and_publishing_is_not_improved_by_repeating(make_record):
    first = make_record(accuracy=0.6, date="2026-01-01T00:00:00Z")
    again = make_record(accuracy=0.9, date="2026-01-02T00:00:00Z")
    failed = make_record(status="error", date="2025-01-01T00:00:00Z")
    assert first.test_id == again.test_id == failed.test_id
    assert distinct([again, failed, first]) == [first]


def test_runs_with_an_older_penalty_do_not_count(make_runs):
    """A plugin's code may change while its version and the protocol stay the same."""
    code = {"penalty small": "a" * 64}
    old = [run.model_copy(update={"code": code}) for run in make_runs("rnn", accuracy=0.6)]
    newer = {"code": {"penalty small": "b" * 64}, "date": "2026-11-21T12:00:00Z"}
    new = [run.model_copy(update=newer) for run in make_runs("rnn", accuracy=0.9)]
    (board,) = build_page([*old, *new], View("test", ("parity",))).boards
    (row,) = board.rows
    assert row.results[0].seeds == 3
    assert row.results[0].mean == 0.9
    assert any("6 runs of parity:classify not counted" in note for note in board.notes)


def test_a_board_says_when_its_seeds_are_too_few_for_any_difference(make_runs):
    """Three seeds on a task give p-values of at least 1 in 10."""
    runs = [*make_runs("rnn"), *make_runs("lstm", accuracy=0.5)]
    more = [
        run
        for model, accuracy in (("rnn", 1.0), ("lstm", 0.5))
        for run in make_runs(model, task="first:classify", accuracy=accuracy)
    ]
    for records, tasks, said in (
        (runs, ("parity",), True),
        (runs + more, ("parity", "first"), False),
    ):
        (board,) = build_page(records, View("test", tasks)).boards
        assert any("No two of these 2 rows" in note for note in board.notes) is said
        assert ({row.rank for row in board.rows} == {1}) is said
