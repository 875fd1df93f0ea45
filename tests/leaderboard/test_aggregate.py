from __future__ import annotations

import pytest
from formalbench_leaderboard.aggregate import aggregate, facts_of, selected_rate


def result_of(runs):
    return aggregate(runs, facts_of(runs)).result


def test_rate_is_chosen_by_validation_never_by_test(make_record):
    runs = [
        make_record(rate=0.001, accuracy=0.5, validation=0.9),
        make_record(rate=0.0003, accuracy=1.0, validation=0.8),
    ]
    assert selected_rate(runs) == 0.001
    assert result_of(runs).mean == 0.5


def test_rate_is_chosen_by_the_mean_over_seeds(make_record):
    runs = [
        make_record(rate=0.001, validation=1.0, seed=0),
        make_record(rate=0.001, validation=0.2, seed=1),
        make_record(rate=0.0003, validation=0.7, seed=0),
        make_record(rate=0.0003, validation=0.7, seed=1),
    ]
    assert selected_rate(runs) == 0.0003


def test_ties_go_to_lower_bits_then_to_the_smaller_rate(make_record):
    worse, better = make_record(rate=0.0003, bits=0.2), make_record(rate=0.001, bits=0.1)
    assert selected_rate([worse, better]) == 0.001
    assert selected_rate([make_record(rate=0.001), make_record(rate=0.0003)]) == 0.0003


def test_a_rate_that_diverges_is_not_chosen_for_its_validation(make_record):
    runs = [
        make_record(rate=0.001, status="diverged", validation=1.0),
        make_record(rate=0.0003, validation=0.4),
    ]
    assert selected_rate(runs) == 0.0003


def test_max_mean_median_scaled_and_pooled_interval(make_record):
    runs = [make_record(accuracy=share, seed=i) for i, share in enumerate((1.0, 0.9, 0.5))]
    result = result_of(runs)
    assert result.max == 1.0
    assert result.mean == pytest.approx(0.8)
    assert result.median == pytest.approx(0.9)
    assert result.scaled == pytest.approx(0.6)
    assert result.low == pytest.approx(0.7765, abs=1e-4)  # Wilson of 960 in 1200
    assert result.high == pytest.approx(0.8217, abs=1e-4)
    assert (result.seeds, result.finished, result.outcome) == (3, 3, "3")


def test_each_cell_counts_the_same(make_record):
    assert result_of([make_record(accuracy=[100, 0, 0, 0])]).mean == 0.25


def test_a_failed_run_is_told_and_counts_as_chance(make_record):
    runs = [
        make_record(accuracy=1.0, seed=0),
        make_record(accuracy=1.0, seed=1),
        make_record(status="diverged", seed=2),
    ]
    found = aggregate(runs, facts_of(runs))
    assert found.result.outcome == "2 of 3 finished (1 diverged)"
    assert found.result.mean == pytest.approx((1.0 + 1.0 + 0.5) / 3)
    assert found.result.scaled == pytest.approx(2 / 3)
    assert found.scaled_seeds == (1.0, 1.0, 0.0)
    assert found.result.low == pytest.approx(0.9952, abs=1e-4)  # 800 in 800


def test_without_any_finished_run_the_score_is_zero_and_the_rest_unknown(make_record):
    result = result_of([make_record(status="timeout"), make_record(status="error", seed=1)])
    assert (result.mean, result.max, result.low, result.scaled) == (None, None, None, 0.0)
    assert result.outcome == "0 of 2 finished (1 error, 1 timeout)"


def test_an_exact_model_has_no_rate(make_record):
    assert result_of([make_record(rate=None, kind="exact")]).learning_rate is None


def test_the_command_repeats_all_seeds(make_record):
    runs = [make_record(seed=seed, command=f"run --seeds {seed + 1}") for seed in (1, 2, 0)]
    assert result_of(runs).command == "run --seeds 3"
