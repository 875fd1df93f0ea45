"""Statistics against formulas, libraries and published values; intervals that cover."""

import sys
from pathlib import Path

import numpy as np
import pytest
from formalbench.statistics.intervals import (
    RunAccuracy,
    Sample,
    interquartile_draws,
    interquartile_mean,
    mean_draws,
    measured,
    percentile_interval,
    scaled,
    spread,
    string_noise,
    wilson,
    wilson_each,
)
from scipy.stats import beta, binomtest, t, trim_mean

sys.path.insert(0, str(Path(__file__).parents[2] / "speed"))
import intervals


@pytest.mark.parametrize(
    ("correct", "strings", "low", "high"),
    [  # worked out by hand from the formula with z = 1.959964
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (5, 10, 0.2366, 0.7634),
        (81, 263, 0.2553, 0.3662),  # the example of Newcombe (1998)
    ],
)
def test_wilson_agrees_with_known_values(correct, strings, low, high):
    assert wilson(correct, strings) == pytest.approx((low, high), abs=5e-5)


def test_wilson_agrees_with_the_library():
    pairs = [(c, n) for n in (1, 2, 7, 256, 10**6) for c in {0, 1, n // 3, n - 1, n}]
    ends = zip(*wilson_each(*zip(*pairs, strict=True)), strict=True)
    for (correct, strings), found in zip(pairs, ends, strict=True):
        known = binomtest(correct, strings).proportion_ci(method="wilson")
        assert found == pytest.approx((known.low, known.high), abs=1e-12)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 18, 36])
def test_the_interquartile_mean_is_the_librarys_trimmed_mean(count):
    values = np.random.default_rng(count).normal(size=(3, count))
    assert interquartile_mean(values) == pytest.approx(trim_mean(values, 0.25, axis=1))


def test_scaled_accuracy_puts_chance_at_zero_and_below_it_negative():
    assert scaled(0.75, 0.75) == 0.0
    assert scaled(1.0, 0.2) == 1.0
    assert scaled(0.4, 0.5) == pytest.approx(-0.2)
    assert scaled(1.0, 1.0) is None


def test_string_noise_of_one_run_is_the_jeffreys_interval():
    # Brown, Cai & DasGupta (2001), appendix A.1: the 95 % Jeffreys limits for n = 10.
    for correct, low, high in ((1, 0.011, 0.381), (2, 0.044, 0.503), (5, 0.224, 0.776)):
        values = correct / 10 + string_noise([RunAccuracy(correct / 10, 10)])
        assert (values[1], values[-2]) == pytest.approx((low, high), abs=1e-3)
        assert values.mean() == pytest.approx((correct + 0.5) / 11, abs=0.01)


def test_string_noise_is_not_divided_by_the_seeds_for_they_share_their_strings():
    one = string_noise([RunAccuracy(0.7, 100)])
    assert string_noise([RunAccuracy(0.7, 100)] * 5) == pytest.approx(one)
    assert not string_noise([RunAccuracy(0.5, 0)] * 2).any()  # known exactly


def test_unequal_cells_count_the_same():
    assert measured([100] * 4, 0.5).strings == pytest.approx(400)
    # Two cells of n and infinitely many strings have the variance of 4 n strings in one.
    assert measured([10, 2**53], 0.5).strings == pytest.approx(40)
    assert string_noise([measured([2**53], 0.5)]) == pytest.approx(0.0, abs=1e-6)
    assert wilson(2**62, 2**62) == pytest.approx((1.0, 1.0))


def test_a_percentile_interval_holds_95_percent_of_the_draws_and_a_value():
    draws = np.arange(1001.0)
    for around, ends in ((None, (25.0, 975.0)), (500.0, (25.0, 975.0)), (1000.0, (25.0, 1000.0))):
        assert percentile_interval(draws, around) == pytest.approx(ends)


# Intervals over seeds and tasks.


KEY = ("a model",)


def sample(*accuracies, task="parity", chance=0.5, strings=0, trained=True):
    """Without string noise, in units in which chance is 0."""
    runs = [RunAccuracy(accuracy, strings) for accuracy in accuracies]
    return Sample.of(task, runs, chance, trained).in_units_of(chance)


def interval(*samples, key=KEY):
    return percentile_interval(mean_draws(samples, key))


TABLES = 400
"""Of 400 tables at 95 %, fewer than 93 % are covered with a probability of 4 %; the tables are
the same each time."""


@pytest.mark.parametrize("seeds", [3, 5])
@pytest.mark.parametrize("tasks", [1, 6])
@pytest.mark.parametrize(
    "kind",
    [
        *(intervals.normal(mean, sd) for mean in (0.52, 0.75, 0.98) for sd in (0.02, 0.15)),
        *(intervals.lottery(share) for share in (0.1, 0.5, 0.7, 0.9)),
    ],
)
def test_the_interval_covers(kind, tasks, seeds):
    assert intervals.covered([kind] * tasks, seeds, TABLES)[0] >= 93.0


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("steady", [0.5, 0.75, 1.0])
def test_one_task_that_is_a_lottery_among_steady_ones_is_covered(share, steady):
    suite = [intervals.lottery(share), *([intervals.normal(steady, 0.0)] * 5)]
    assert intervals.covered(suite, 3, TABLES)[0] >= 93.0


@pytest.mark.parametrize("seeds", [3, 5, 18])
def test_equal_seeds_leave_open_what_an_exact_binomial_interval_does(seeds):
    low, high = interval(sample(*[1.0] * seeds))
    assert high == 1.0
    assert low == pytest.approx(beta.ppf(0.025, seeds, 1), abs=0.05)  # Clopper & Pearson
    failed = interval(sample(*[0.5] * seeds))
    assert failed == (0.0, pytest.approx(beta.ppf(0.975, 1, seeds), abs=0.05))


def test_half_of_all_seeds_may_succeed_where_five_of_five_did():
    assert interval(sample(*[1.0] * 5))[0] < 0.5


def test_a_single_seed_leaves_nearly_everything_open():
    low, high = interval(sample(0.75))
    assert low < 0.05
    assert high > 0.95


def test_normal_seeds_have_at_least_students_interval():
    low, high = interval(sample(0.70, 0.74, 0.78, 0.75, 0.73, chance=0.0))
    values = [0.70, 0.74, 0.78, 0.75, 0.73]
    half = t.ppf(0.95, 4) * np.std(values, ddof=1) / 5**0.5
    assert low < 0.74 - half
    assert high > 0.74 + half
    assert spread(2.0) > spread(3.0) > spread(5.0) > spread(1000.0) > 1.0
    assert spread(1.0) == 1.0


def test_nothing_is_below_chance_unless_a_seed_is():
    assert interval(sample(1.0, 1.0, 0.5))[0] >= 0.0
    low, _ = interval(sample(0.3, 0.6, 0.6))
    assert -1.0 <= low < -0.2


def test_more_tasks_narrow_the_score():
    widths = [
        np.diff(interval(*(sample(1.0, 1.0, 1.0, task=f"t{i}") for i in range(tasks))))
        for tasks in (1, 6, 50)
    ]
    assert widths[0] > 2 * widths[1] > 4 * widths[2]


def test_the_middle_half_has_an_interval_too():
    parts = [sample(0.9, 0.8, 0.95, task=f"t{i}") for i in range(6)]
    low, high = percentile_interval(interquartile_draws(parts, KEY))
    assert 0.6 < low < 0.8 < high <= 1.0
    exact = [sample(1.0, task=f"t{i}", trained=False) for i in range(6)]
    assert interquartile_draws(exact, KEY) == pytest.approx(np.ones(2000))


def test_an_exact_model_has_no_unseen_seed():
    assert interval(sample(1.0, trained=False)) == (1.0, 1.0)
    low, high = interval(sample(0.9, strings=400, trained=False))
    assert 0.7 < low < 0.8 < high < 0.9  # of accuracies 0.87 to 0.93


def test_draws_repeat_themselves_and_differ_between_rows():
    parts = [sample(0.6, 0.8, 0.9, strings=100)]
    assert (mean_draws(parts, KEY) == mean_draws(parts, KEY)).all()
    assert (mean_draws(parts, KEY) != mean_draws(parts, ("another",))).any()


def test_differences_are_drawn_seed_by_seed():
    """How tasks differ is common to two rows: it does not widen the interval of the difference."""
    levels = (0.55, 0.6, 0.7, 0.8, 0.9)
    better, worse = (
        mean_draws([sample(*[lv + by] * 5, task=str(lv)) for lv in levels], (str(by),))
        for by in (0.0, -0.2)
    )
    low, high = percentile_interval(better - worse)
    assert low > 0.15
    assert high - low < np.diff(percentile_interval(better))[0]
