"""What a row says: what was learned, its profile, its verdict and what it lacks."""

from dataclasses import replace

import pytest
from built_records import TO_ITS_END, build_runs
from formalbench.statistics.aggregate import aggregate, facts_of
from formalbench.statistics.board import ExactModel, Profile, profile_of
from formalbench.statistics.build import View, build_page
from formalbench.statistics.length_profile import Step
from formalbench_leaderboard.board.missing_runs import missing_runs, missing_runs_table
from formalbench_leaderboard.board.summary import MOST_NAMED, verdict_of, verdict_of_verified
from formalbench_leaderboard.board.tables import ranking
from formalbench_leaderboard.charts.language_map import (
    MapCell,
    brief,
    cell_text,
)

VIEW = View("test", ("parity",), shortcut=lambda task: 0.875)


@pytest.fixture
def unlearned():
    """Make three seeds of a model that learned nothing, and three of one that did."""
    models = {"rnn": {"accuracy": 0.7, "validation": 0.831}, "lstm": {"accuracy": 0.9}}
    return build_runs(models, ["parity"], 3)


def result_of(runs):
    return aggregate(runs, facts_of(runs), ["key"]).result


@pytest.mark.parametrize(("right", "learned"), [(100, 1), (99, 1), (98, 0)])
def test_a_run_learned_from_99_percent_of_validation(make_record, right, learned):
    record = make_record()
    held = record.selected.model_copy(update={"strings": 100, "correct": right})
    found = result_of([record.model_copy(update={"selected": held})])
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
    assert cell_text(cell) == said


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


def test_the_map_says_what_is_weak_evidence():
    weak = MapCell("d2", "learned", "", (Step(41, 500, 1.0),), 3, 3, solved_to=500, weak=True)
    assert brief(weak) == "✓ 500~"
    assert "learned by 3 of 3 seeds (weak evidence), right on 99 %" in cell_text(weak)


TASKS = ("parity", "first", "d2")


@pytest.fixture
def page(make_record):
    """Make a model that solves one of three languages, learns one and fails one, and its better."""
    runs = {
        "parity": [([100] * 4, 1.0)] * 2 + [([100, 100, 98, 100], 1.0)],
        "first": [([100, 99, 90, 100], 1.0)] * 2 + [([50] * 4, 0.8)],
        "d2": [([100] * 4, 1.0), *[([100] * 4, 0.98)] * 2],
    }
    records = [
        make_record("rnn", f"{task}:classify", accuracy=right, validation=held, seed=seed)
        for task, seeds in runs.items()
        for seed, (right, held) in enumerate(seeds)
    ]
    return build_page([*records, *build_runs({"lstm": {}}, TASKS, 3)], View("test", TASKS))


def test_a_profile_counts_languages_by_two_thirds_of_their_seeds(page):
    rows = {row.model: row.profile for row in page.boards[0].rows}
    # Of nine seeds three learned and have 99 % up to 71, three others up to 51.
    assert rows["rnn"] == Profile(1, 1, 1, 3 / 9, 6 / 9, horizon=51)
    assert rows["lstm"] == Profile(3, 0, 0, 1.0, 1.0, 71)


def test_a_row_is_profiled_on_the_languages_that_count(make_record):
    records = [make_record("rnn"), make_record("rnn", "own:classify", validation=0.5)]
    (board,) = build_page([*records, make_record("lstm", "own:classify")], View("t", TASKS)).boards
    profiles = {row.model: row.profile for row in board.rows}
    assert profiles == {"rnn": Profile(1, 0, 0, 1.0, 1.0, 71), "lstm": None}


def test_what_diverged_on_longer_strings_is_learned_and_not_solved(make_record):
    trained = make_record(not_finite=(2, 3))
    (board,) = build_page([trained], View("t", ("parity",))).boards
    assert board.rows[0].profile == Profile(0, 1, 0, 0.0, 1.0, 51)
    assert profile_of([]) is None


def test_half_of_the_seeds_are_less_than_two_thirds(make_record):
    held = (1.0, 1.0, 0.9, 0.9)
    runs = [make_record("rnn", seed=seed, validation=one) for seed, one in enumerate(held)]
    (board,) = build_page(runs, View("t", ("parity",))).boards
    assert board.rows[0].profile == Profile(0, 0, 1, 0.5, 0.5, 71)


def test_a_part_of_a_test_that_fails_at_the_same_length_counts(make_record):
    """Named parts of a test can be of one length: one that is right does not solve the others."""
    record = make_record(accuracy=[100, 100, 100, 50])
    (board,) = build_page([record], View("t", ("parity",))).boards
    (result,) = board.rows[0].results
    (run,) = result.runs
    cells = replace(run.cells, length=(41, 61, 71, 71), group=("a", "a", "a", "b"))
    found = profile_of([replace(result, runs=(replace(run, cells=cells),))])
    assert found == Profile(0, 1, 0, 0.0, 1.0, 61)


def said(records, **view):
    (board,) = build_page(records, View("test", (), **view)).boards
    return {row.model: verdict_of(board, row) for row in board.rows}


def test_what_was_learned_and_how_far_it_goes(make_record):
    tasks = {"far": [100] * 4, "near": [100, 99, 60, 50], "lost": [90, 80, 70, 60]}
    records = [
        make_record(task=f"{task}:classify", accuracy=right, seed=seed, fingerprint="0" * 64)
        for task, right in tasks.items()
        for seed in range(2)
    ]
    records += [
        make_record(task="half:classify", validation=held, seed=seed, fingerprint="0" * 64)
        for seed, held in enumerate((1.0, 0.6))
    ]
    never = {"accuracy": 1.0, "validation": 0.6, "fingerprint": "0" * 64}
    records.append(make_record(task="never:classify", **never))
    assert said(records)["regulargpt"] == (
        "Learned 3 of 5 tasks with every seed, within 2,000 steps. "
        "With some seeds: half (1 of 2). "
        "Not learned: never. "
        "Accuracy stays at 99 % or more up to the longest tested length on far; up to 51 on near. "
        "It is below 99 % at the shortest test length on lost."
    )


def test_what_failed_in_its_test_was_learned_and_takes_no_part_in_the_reach(make_record):
    failed = {"status": "diverged", "training": TO_ITS_END}
    records = [make_record(), make_record(seed=1, **failed)]
    records += [make_record(task="first:classify", seed=seed, **failed) for seed in range(2)]
    assert said(records)["regulargpt"] == (
        "Learned 1 of 1 task with every seed, within 2,000 steps. "
        "No run finished on first. Not all runs finished: parity (1 of 2)."
    )
    records += [make_record("rnn", "first:classify")]
    assert said(records)["regulargpt"] == (
        "Learned 2 of 2 tasks with every seed, within 2,000 steps. "
        "No run finished on first. Not all runs finished: parity (1 of 2)."
    )


def test_many_tasks_are_counted_and_what_is_not_scored_is_left_out(make_record):
    records = [
        make_record(task=f"task-{n}:classify", validation=0.6, fingerprint="0" * 64)
        for n in range(MOST_NAMED + 3)
    ]
    told = said(records)["regulargpt"]
    assert f"Learned 0 of {MOST_NAMED + 3} tasks" in told
    assert told.endswith("and 3 more.")
    assert "not tested on any task that counts" in said([make_record(chance=1.0)])["regulargpt"]


def verified(task, *, exhaustive=12, to=10_000, errors=0):
    sizes = {"depth": 1, "width": 1, "parameters": 1, "break_length": None, "bits": ()}
    told = {"exhaustive": exhaustive, "tested_to": to, "strings": 8590, "errors": errors}
    return ExactModel("m", ("m", ""), task, margin=1.0, commands=(), records=(), **told, **sizes)


def test_what_was_verified_is_told_with_how_far():
    rows = [verified("parity"), verified("first", errors=2105, exhaustive=None, to=None)]
    assert verdict_of_verified(rows) == (
        "Verified, not trained: right on every tested string of parity (exhaustive to length 12, "
        "sampled to 10,000); wrong on first (2,105 of 8,590 strings are wrong)."
    )
    rows = [verified("d2", exhaustive=None, to=50), verified("parity"), verified("first")]
    assert verdict_of_verified(rows) == (
        "Verified, not trained: right on every tested string of d2 (sampled to 50) "
        "and of parity and first (exhaustive to length 12, sampled to 10,000)."
    )


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
        *build_runs({"gru": {}}, ["parity"], 3),
        *build_runs({"lstm": {}}, ("parity", "first", "d2")),
        make_record("exact-parity", kind="exact", rate=None),
    ]
    (made,) = build_page(records, View("test", ("parity", "first", "d2"))).boards
    return made


def test_what_a_row_lacks_costs_between_its_quickest_task_and_the_whole_budget(board):
    found = {one.row.model: one for one in missing_runs(board)}
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
    found = {one.row.model: one for one in missing_runs(made)}
    assert found["rnn"].least == pytest.approx(180.0)
    assert found["lstm"].least is None
    assert found["lstm"].most == pytest.approx(50.0 * made.rows[0].results[0].budget / 2000)


def test_models_that_ran_other_tasks_alone_follow_and_cost_what_those_took(make_record):
    own = build_runs({"rnn": {"training": trained(100, 10.0)}}, ["parity"], 3)
    models = {"rnn": {"training": trained(400, 5.0)}, "gru": {"training": trained(400, 20.0)}}
    others = build_runs(models, ["first"], 3)
    exact = make_record("exact-first", "first:classify", kind="exact", rate=None)
    (suite,) = build_page(own, View("suite", ("parity", "d2"))).boards
    (everywhere,) = build_page([*own, *others, exact], View("all", ("parity", "first"))).boards
    rnn, gru = missing_runs(suite, everywhere)
    assert (rnn.row.model, rnn.tasks, rnn.least) == ("rnn", ("d2",), pytest.approx(15.0))
    assert (gru.row.model, gru.tasks, gru.least) == ("gru", ("parity", "d2"), pytest.approx(60.0))
    assert gru.most == pytest.approx(3 * gru.row.results[0].budget * 20.0 / 400)
    (alone,) = missing_runs(suite)
    assert (alone.row.model, alone.least) == ("rnn", pytest.approx(30.0))


def test_what_was_not_timed_has_no_cost(board):
    (line,) = [one for one in missing_runs_table(board).data() if one["model"] == "gru"]
    assert line["tasks"] == "first, d2"
    assert line["least_seconds"] is line["most_seconds"] is None
