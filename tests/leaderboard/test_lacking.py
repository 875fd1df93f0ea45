"""What a row lacks, and what it would cost."""

from __future__ import annotations

import pytest
from formalbench.statistics.build import View, build_page
from formalbench_leaderboard.board.missing_runs import lacking, lacking_table


def trained(steps, seconds):
    return {
        "steps": steps,
        "ended": "mastered",
        "stage": 40,
        "strings": 128 * steps,
        "seconds": seconds,
        "strings_per_second": round(128 * steps / seconds, 1),
    }


@pytest.fixture
def board(make_record):
    records = [
        *(make_record("rnn", seed=seed, training=trained(100, 10.0 + seed)) for seed in range(3)),
        *(
            make_record("rnn", "first:classify", seed=seed, training=trained(400, seconds))
            for seed, seconds in enumerate((50.0, 60.0, 70.0))
        ),
        *(make_record("gru", seed=seed) for seed in range(3)),
        *(make_record("lstm", f"{name}:classify") for name in ("parity", "first", "d2")),
        make_record("exact-parity", kind="exact", rate=None),
    ]
    (made,) = build_page(records, View("test", ("parity", "first", "d2"))).boards
    return made


def test_what_a_row_lacks_costs_between_its_quickest_task_and_the_whole_budget(board):
    found = {one.row.model: one for one in lacking(board)}
    assert set(found) == {"rnn", "gru"}
    rnn, (result, *_) = found["rnn"], found["rnn"].row.results
    assert rnn.tasks == ("d2",)
    assert rnn.least == pytest.approx(33.0)
    assert rnn.most == pytest.approx(3 * result.budget * 180.0 / 1200)


def test_what_was_cut_short_or_not_learned_says_little_of_the_cost(make_record):
    cut = {**trained(20, 1.0), "ended": "stopped"}
    records = [
        *(make_record("rnn", seed=seed, training=trained(400, 60.0)) for seed in range(3)),
        *(
            make_record("rnn", "first:classify", status="diverged", seed=seed, training=cut)
            for seed in range(3)
        ),
        make_record("lstm", validation=0.5, training=trained(2000, 50.0)),
    ]
    (made,) = build_page(records, View("test", ("parity", "first", "d2"))).boards
    found = {one.row.model: one for one in lacking(made)}
    assert found["rnn"].least == pytest.approx(180.0)
    assert found["lstm"].least is None
    assert found["lstm"].most == pytest.approx(50.0 * made.rows[0].results[0].budget / 2000)


def test_models_that_ran_other_tasks_alone_follow_and_cost_what_those_took(make_record):
    own = [make_record("rnn", seed=seed, training=trained(100, 10.0)) for seed in range(3)]
    others = [
        make_record(name, "first:classify", seed=seed, training=trained(400, seconds))
        for name, seconds in (("rnn", 5.0), ("gru", 20.0))
        for seed in range(3)
    ]
    exact = make_record("exact-first", "first:classify", kind="exact", rate=None)
    (suite,) = build_page(own, View("suite", ("parity", "d2"))).boards
    (everywhere,) = build_page([*own, *others, exact], View("all", ("parity", "first"))).boards
    rnn, gru = lacking(suite, everywhere)
    assert (rnn.row.model, rnn.tasks, rnn.least) == ("rnn", ("d2",), pytest.approx(15.0))
    assert (gru.row.model, gru.tasks, gru.least) == ("gru", ("parity", "d2"), pytest.approx(60.0))
    assert gru.most == pytest.approx(3 * gru.row.results[0].budget * 20.0 / 400)
    (alone,) = lacking(suite)
    assert (alone.row.model, alone.least) == ("rnn", pytest.approx(30.0))


def test_what_was_not_timed_has_no_cost(board):
    (line,) = [one for one in lacking_table(board).data() if one["model"] == "gru"]
    assert line["tasks"] == "first, d2"
    assert line["least_seconds"] is line["most_seconds"] is None
