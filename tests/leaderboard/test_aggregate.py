from dataclasses import replace

import pytest
from built_records import TO_ITS_END, with_sums, with_test
from formalbench.statistics.aggregate import aggregate, facts_of, selected_rate
from formalbench.statistics.intervals import wilson
from formalbench.statistics.result import informative_cells


def result_of(runs):
    return aggregate(runs, facts_of(runs), ["key"]).result


def test_rate_is_chosen_by_validation_never_by_test(make_record):
    runs = [
        make_record(rate=0.001, accuracy=0.5, validation=0.9),
        make_record(rate=0.0003, accuracy=1.0, validation=0.8),
    ]
    assert selected_rate(runs) == 0.001
    assert result_of(runs).mean == 0.5


DIVERGED = {"status": "diverged", "validation": 1.0}
STOPPED = {"training": {**TO_ITS_END, "ended": "stopped"}}
RATES = {
    "the mean over seeds": ((1.0, 0.2), (0.7, 0.7), False),
    "a tie goes to lower bits": (({"bits": 0.1},), ({"bits": 0.2},), True),
    "then to the smaller rate": ((1.0,), (1.0,), False),
    "a rate that diverges": ((DIVERGED,), (0.4,), False),
    "a test that diverges": (({**DIVERGED, "training": TO_ITS_END},), (0.4,), True),
    "a training that was stopped": (({**DIVERGED, **STOPPED},), (0.4,), False),
    "the seeds that all have": ((None, 0.9), (0.5, 0.95, 0.5), False),
    "seeds that failed": (
        ({"status": "diverged"}, 0.9, {"status": "diverged"}),
        (0.5, 0.95),
        False,
    ),
    "a failed seed has no validation": ((1.0, {"status": "timeout"}), (0.6, 0.6), False),
    "no common seed: more seeds": ((*(None,) * 7, 1.0), (0.6, 0.6), False),
}


@pytest.mark.parametrize("reason", RATES)
def test_rate_is_chosen_by(make_record, reason):
    """The runs of a seed each at two rates: a validation, or what else is special of them."""
    first, second, chosen = RATES[reason]
    runs = [
        make_record(rate=rate, seed=seed, **(run if isinstance(run, dict) else {"validation": run}))
        for rate, seeds in ((0.001, first), (0.0003, second))
        for seed, run in enumerate(seeds)
        if run is not None
    ]
    assert selected_rate(runs) == (0.001 if chosen else 0.0003)


def test_enormous_cross_entropies_do_no_harm(make_record):
    runs = [make_record(bits=1.7e308, seed=seed) for seed in range(3)]
    assert selected_rate(runs) == 0.001


def test_max_mean_median_and_scaled(make_record):
    runs = [make_record(accuracy=share, seed=i) for i, share in enumerate((1.0, 0.9, 0.5))]
    result = result_of(runs)
    assert result.max == 1.0
    assert result.mean == pytest.approx(0.8)
    assert result.median == pytest.approx(0.9)
    assert result.scaled == pytest.approx(0.6)
    assert (result.seeds, result.finished, result.outcome) == (3, 3, "3")


def test_three_equal_seeds_leave_open_how_many_succeed(make_record):
    result = result_of([make_record(accuracy=1.0, seed=seed) for seed in range(3)])
    assert 0.6 < result.low < 0.7  # two thirds of the way to chance
    assert result.high == 1.0


def test_the_interval_is_over_seeds_not_over_their_strings_together(make_record):
    result = result_of(
        [make_record(accuracy=share, seed=i) for i, share in enumerate((1.0, 1.0, 0.5))]
    )
    assert result.low == pytest.approx(0.5, abs=0.05)  # nearly all seeds like the bad one
    assert result.high == pytest.approx(1.0, abs=0.015)
    assert (result.max_low, result.max_high) == wilson(400, 400)  # the best seed alone


@pytest.mark.parametrize("share", [0.0, 0.7, 1.0])
def test_an_exact_model_has_the_interval_of_its_strings(make_record, share):
    result = result_of([make_record(rate=None, kind="exact", accuracy=share)])
    assert result.low <= share <= result.high
    assert (result.low, result.high) == pytest.approx(wilson(round(400 * share), 400), abs=0.01)
    assert result.low < result.high


def test_where_chance_is_always_right_there_is_an_interval_but_no_scaled_one(make_record):
    runs = [make_record(chance=1.0, accuracy=0.75)]
    found = aggregate(runs, facts_of(runs), ["key"])
    assert found.result.scaled is None
    assert found.result.low < 0.75 < found.result.high
    assert not found.scaled.values.any()


@pytest.mark.parametrize(
    ("seeds", "nines", "nineties"),
    [
        ([[100, 100, 100, 100]], 71, 71),
        ([[100, 99, 98, 100]], 51, 71),  # what comes after a worse length does not count
        ([[98, 100, 100, 100]], None, 71),
        ([[89, 100, 100, 100]], None, None),
        ([[100, 100, 98, 90], [100, 100, 100, 89]], 61, 61),  # the mean over the seeds
    ],
)
def test_the_longest_length_is_that_up_to_which_all_are_good(make_record, seeds, nines, nineties):
    runs = [make_record(accuracy=right, seed=seed) for seed, right in enumerate(seeds)]
    found = result_of(runs)
    assert (found.longest_99, found.longest_90) == (nines, nineties)


def test_a_failed_run_counts_as_chance_at_every_length(make_record):
    runs = [make_record(accuracy=[100] * 4, seed=seed) for seed in range(4)]
    found = result_of([*runs, make_record(status="diverged", seed=4)])
    assert (found.longest_99, found.longest_90) == (None, 71)  # 9 of 10 right on average
    assert result_of([make_record(status="diverged")]).longest_90 is None


def test_a_failed_run_is_told_and_counts_as_chance(make_record):
    runs = [
        make_record(accuracy=1.0, seed=0),
        make_record(accuracy=1.0, seed=1),
        make_record(status="diverged", seed=2),
    ]
    found = aggregate(runs, facts_of(runs), ["key"])
    assert found.result.outcome == "2 of 3 finished (1 diverged)"
    assert found.result.mean == pytest.approx((1.0 + 1.0 + 0.5) / 3)
    assert found.result.scaled == pytest.approx(2 / 3)
    assert found.scaled.values == pytest.approx([1.0, 1.0, 0.0])
    assert found.result.low == pytest.approx(0.5, abs=0.03)
    assert found.result.high == pytest.approx(1.0, abs=0.02)


def test_a_run_that_diverged_at_some_lengths_keeps_the_others_and_is_marked(make_record):
    runs = [make_record(seed=0), make_record(seed=1, not_finite=[2, 3])]
    result = result_of(runs)
    assert result.outcome == "2 of 2 finished (1 diverged at some lengths)"
    assert result.marked
    assert result.mean == pytest.approx((1.0 + 0.75) / 2)
    assert result.longest_99 == 51
    assert result_of(runs[:1]).marked is False
    assert result_of([make_record(seed=0), make_record(seed=1, status="diverged")]).marked


def test_a_run_that_failed_is_at_chance_at_every_length_of_a_curve(make_record):
    runs = [make_record(accuracy=[100, 90, 80, 70]), make_record(seed=1, status="error")]
    facts = facts_of(runs)
    first, other = informative_cells(aggregate(runs, facts, ["key"]).result, facts)
    assert (first.correct, other.correct) == ((100, 90, 80, 70), (50, 50, 50, 50))
    assert first.length == other.length


def informed(record, total, **changed):
    count = record.test.cells.metrics["cross-entropy"].count[: len(total)]
    return with_test(with_sums(record, mutual_information=(total, count)), **changed)


def test_mutual_information_is_not_averaged_over_lengths_that_fix_the_answer(make_record):
    runs = [informed(make_record(), (100.0, 0.0, 90.0, 80.0))]
    facts = replace(facts_of(runs), chances=(0.5, 1.0, 0.5, 0.5))
    assert facts.lengths == runs[0].test.cells.length
    result = aggregate(runs, facts, ["key"]).result
    assert result.runs[0].information == (1.0, None, 0.9, 0.8)
    assert result.information == pytest.approx(2.7 / 3)
    assert aggregate(runs, replace(facts, chances=(1.0,) * 4), ["key"]).result.information is None
    # Of windows of cells the parts are not known.
    wide = [informed(make_record(), (100.0, 90.0), window=2)]
    assert aggregate(wide, facts, ["key"]).result.information == pytest.approx(0.95)


def test_mutual_information_is_the_mean_over_seeds_and_finite_cells(make_record):
    runs = [
        informed(make_record(accuracy=[0] * 4), (100.0, 100.0, 90.0, 80.0)),
        informed(make_record(accuracy=[0] * 4, seed=1, not_finite=[3]), (50.0, 50.0, 50.0, 0.0)),
        make_record(seed=2),
    ]
    result = result_of(runs)
    assert [run.information for run in result.runs] == [
        (1.0, 1.0, 0.9, 0.8),
        (0.5, 0.5, 0.5, None),
        None,
    ]
    assert result.information == pytest.approx(5.2 / 7)
    assert result_of(runs[2:]).information is None


def test_without_any_finished_run_the_score_is_zero_and_the_rest_unknown(make_record):
    runs = [make_record(status="timeout"), make_record(status="error", seed=1)]
    assert not aggregate(runs, None, ["key"]).scaled.values.any()
    result = result_of(runs)
    assert (result.mean, result.max, result.low, result.scaled) == (None, None, None, 0.0)
    assert result.outcome == "0 of 2 finished (1 error, 1 timeout)"


def test_where_every_answer_counts_a_string_is_one_trial(make_record):
    """Of 100 strings with ten answers each, a record with 450 right is like 45 strings right."""
    record = make_record(accuracy=[45, 90, 45, 90])
    changed = with_test(record, answers=(1000,) * 4, correct=(450, 900, 450, 900))
    whole, shares = (aggregate([one], facts_of([one]), ("it",)).result for one in (record, changed))
    assert shares.mean == whole.mean == 0.675
    assert (shares.low, shares.high) == (whole.low, whole.high)
    assert (shares.max_low, shares.max_high) == (whole.max_low, whole.max_high)
