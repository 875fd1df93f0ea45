"""The statistics of an audit: what they see, and how rarely they cry wolf."""

import numpy as np
import pytest
from formalbench.contracts.cells import Cells
from formalbench_leaderboard.publishing.agreement import ALARM, allowed, changed, p_value
from scipy.stats import fisher_exact

CELLS, STRINGS = 16, 256


def cells_of(strings, correct, answers=None, not_finite=None):
    """Return the results of a test, cell by cell."""
    length = tuple(range(len(strings)))
    return Cells(
        length=length, strings=strings, correct=correct, answers=answers, not_finite=not_finite
    )


def counts(correct):
    return cells_of([STRINGS] * len(correct), [int(one) for one in correct])


def test_one_cell_is_fishers_exact_test():
    one, other = cells_of([100], [90]), cells_of([40], [20])
    assert p_value(one, other) == fisher_exact([[90, 10], [20, 20]]).pvalue
    assert p_value(one, one) == 1.0


def test_equal_counts_are_no_surprise_even_at_the_ends():
    for right in (0, STRINGS, 128):
        assert p_value(counts([right] * CELLS), counts([right] * CELLS)) == 1.0


def test_it_is_symmetric_and_takes_tests_of_different_sizes():
    one, other = cells_of([100, 100], [90, 50]), cells_of([1000, 900], [700, 500])
    assert p_value(one, other) == pytest.approx(p_value(other, one))
    assert p_value(one, other) < 1e-3


@pytest.mark.parametrize("level", [0.5, 0.9, "mixed"])
def test_honest_networks_are_rarely_suspected(level):
    """At each level the share of honest pairs below it is at most the level."""
    random = np.random.default_rng(1)
    shares = np.linspace(0.4, 1.0, CELLS) if level == "mixed" else np.full(CELLS, level)
    draws = random.binomial(STRINGS, shares, (2, 100, CELLS))
    values = np.array([p_value(counts(a), counts(b)) for a, b in zip(*draws, strict=True)])
    for alarm in (0.01, 0.1):
        # 100 pairs: three standard deviations above the level
        assert (values <= alarm).mean() <= alarm + 3 * (alarm / 100) ** 0.5
    assert values.min() > ALARM


def test_what_it_says_that_it_sees():
    half, most = counts([128] * CELLS), counts([251] * CELLS)
    assert p_value(counts([144] * CELLS), half) < ALARM  # 6 points more
    assert p_value(counts([256] * CELLS), most) < ALARM  # 2 points more


def test_a_forgery_at_one_length_is_seen_though_the_mean_is_kept():
    honest = [128] * CELLS
    forged = [256, 0, *honest[2:]]
    assert sum(forged) == sum(honest)
    assert p_value(counts(forged), counts(honest)) < ALARM
    assert p_value(counts([140, 116, *honest[2:]]), counts(honest)) > 0.01


def test_answers_of_one_string_are_one_trial():
    """Twenty answers of a string hang together: they are no more evidence than one."""
    one, other = cells_of([50], [900], [1000]), cells_of([50], [800], [1000])
    assert one.accuracy == 0.9
    assert p_value(one, other) == p_value(cells_of([50], [45]), cells_of([50], [40]))
    assert p_value(one, other) > 0.1
    assert p_value(cells_of([1000], [900]), cells_of([1000], [800])) < ALARM
    assert changed(one, other) == 100


def test_the_same_strings_leave_little_room():
    assert changed(counts([128, 100]), counts([120, 110])) == 18
    assert [allowed(48), allowed(4096), allowed(4096, 30)] == [2, 8, 120]


def test_cells_that_were_not_finite_are_not_compared():
    one = cells_of([256] * 4, [256, 250, 128, 128], not_finite=(2, 3))
    other = cells_of([256] * 4, [256, 250, 256, 128], not_finite=(3,))
    assert p_value(one, other) == p_value(other, one) == 1.0
    assert changed(one, other) == 0
    assert changed(cells_of([256] * 4, one.correct), other) == 128
    assert p_value(cells_of([256] * 4, one.correct), other) < ALARM
    nowhere = cells_of([256] * 4, [128] * 4, not_finite=(0, 1, 2, 3))
    assert p_value(nowhere, other) == 1.0
