from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from formalbench.statistics.intervals import (
    Measured,
    Sample,
    interquartile_draws,
    mean_draws,
    percentile_interval,
    spread,
)
from scipy.stats import beta, t

sys.path.insert(0, str(Path(__file__).parents[2] / "speed"))
import intervals

KEY = ("a model",)


def sample(*accuracies, task="parity", chance=0.5, strings=0, trained=True):
    """Without string noise, in units in which chance is 0."""
    runs = [Measured(accuracy, strings) for accuracy in accuracies]
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
