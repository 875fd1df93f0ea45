from __future__ import annotations

import itertools

import numpy as np
import pytest
from formalbench_leaderboard.statistics import (
    bootstrap,
    percentile_interval,
    scaled,
    separable,
    shared_ranks,
    wilson,
)


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


def test_scaled_accuracy_puts_chance_at_zero_and_below_it_negative():
    assert scaled(0.75, 0.75) == 0.0
    assert scaled(1.0, 0.2) == 1.0
    assert scaled(0.4, 0.5) == pytest.approx(-0.2)
    assert scaled(1.0, 1.0) is None


def test_bootstrap_is_that_of_all_resamples():
    seeds = [0.2, 0.5, 1.0]
    draws = bootstrap([seeds], ["a"])
    every = [sum(triple) / 3 for triple in itertools.product(seeds, repeat=3)]
    assert len(draws) == 2000
    assert set(np.round(draws, 9)) == set(np.round(every, 9))
    assert draws.mean() == pytest.approx(np.mean(every), abs=0.02)
    assert draws.std() == pytest.approx(np.std(every), rel=0.1)


def test_bootstrap_redraws_seeds_within_each_task():
    # Were seeds drawn across the tasks, the mean of the two could leave 0.5.
    assert set(bootstrap([[1.0, 1.0], [0.0, 0.0]], ["a"])) == {0.5}


def test_bootstrap_repeats_itself_and_differs_between_rows():
    values = [[0.1, 0.5, 0.9]] * 2
    assert (bootstrap(values, ["a"]) == bootstrap(values, ["a"])).all()
    assert (bootstrap(values, ["a"]) != bootstrap(values, ["b"])).any()


@pytest.mark.parametrize("seeds", [[0.7], [1.0, 1.0, 1.0]])
def test_one_seed_or_equal_ones_have_an_interval_without_width(seeds):
    low, high = percentile_interval(bootstrap([seeds], ["a"]))
    assert low == high == pytest.approx(seeds[0])


def test_neighbours_share_a_rank_unless_separable():
    wide = [0.2, 0.6, 1.0]
    first, second = bootstrap([wide], ["a"]), bootstrap([[0.1, 0.6, 1.0]], ["b"])
    last = bootstrap([[0.0, 0.01, 0.02]], ["c"])
    assert not separable(first, second)
    assert separable(second, last)
    assert shared_ranks([first, second, last]) == [1, 1, 3]
    assert shared_ranks([]) == []


def test_equal_rows_without_width_share_a_rank():
    rows = [bootstrap([[1.0]], ["a"]), bootstrap([[1.0]], ["b"]), bootstrap([[0.9]], ["c"])]
    assert shared_ranks(rows) == [1, 1, 3]
