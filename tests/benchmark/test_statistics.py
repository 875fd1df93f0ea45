from __future__ import annotations

import numpy as np
import pytest
from formalbench.statistics.intervals import (
    Measured,
    interquartile_mean,
    measured,
    percentile_interval,
    scaled,
    string_noise,
    wilson,
    wilson_each,
)
from scipy.stats import binomtest, trim_mean


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
        values = correct / 10 + string_noise([Measured(correct / 10, 10)])
        assert (values[1], values[-2]) == pytest.approx((low, high), abs=1e-3)
        assert values.mean() == pytest.approx((correct + 0.5) / 11, abs=0.01)


def test_string_noise_is_not_divided_by_the_seeds_for_they_share_their_strings():
    one = string_noise([Measured(0.7, 100)])
    assert string_noise([Measured(0.7, 100)] * 5) == pytest.approx(one)
    assert not string_noise([Measured(0.5, 0)] * 2).any()  # known exactly


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
