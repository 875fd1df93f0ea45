"""Ranks on simulated boards, of which it is known who is better."""

from __future__ import annotations

import math

import numpy as np
import pytest
from formalbench.analysis.ranks import separably_better, shared_ranks
from formalbench.analysis.seeds import Sample, mean_draws
from formalbench.analysis.statistics import Measured


def scores(accuracies_MTS):
    """Return the draws of each row's score, from the accuracy of its seeds on each task."""
    return [
        mean_draws(
            [
                Sample.of(str(task), [Measured(float(a), 4096) for a in values_S], 0.5)
                for task, values_S in enumerate(values_TS)
            ],
            (row,),
        )
        for row, values_TS in enumerate(accuracies_MTS)
    ]


def test_neighbours_share_a_rank_unless_separable():
    noise = np.random.default_rng(0)
    first, second, last = (noise.normal(mean, 1.0, 2000) for mean in (9.0, 8.9, 0.0))
    better = separably_better([first, second, last])
    assert not better[0, 1]
    assert better[1, 2]
    assert better.tolist() == [[False, False, True], [False, False, True], [False] * 3]
    assert shared_ranks([first, second, last]) == [1, 1, 3]
    assert shared_ranks([]) == []
    assert shared_ranks([first]) == [1]


def test_there_are_no_chains():
    """None can be told from the next, but the first from the last: they do not share a rank."""
    noise = np.random.default_rng(1)
    draws = [noise.normal(mean, 1.0, 2000) for mean in (9.0, 6.0, 3.0, 0.0)]
    better = separably_better(draws)
    assert not any(better[row, row + 1] for row in range(3))
    assert better[0, 3]
    assert shared_ranks(draws) == [1, 1, 1 + better[0, 2], 1 + better[:, 3].sum()]
    assert shared_ranks(draws)[3] > 1


def test_rows_are_compared_draw_by_draw():
    """What moves both alike does not hide that one is better in every draw."""
    common = np.random.default_rng(2).normal(0.0, 1.0, 2000)
    wobble = np.random.default_rng(3).normal(0.0, 0.01, 2000)
    assert shared_ranks([common + 0.1, common + wobble]) == [1, 2]


def test_more_rows_ask_for_more():
    noise = np.random.default_rng(4)
    pair = [noise.normal(mean, 1.0, 2000) for mean in (3.2, 0.0)]
    assert shared_ranks(pair) == [1, 2]
    crowd = [noise.normal(1.6, 1.0, 2000) for _ in range(30)]
    assert not separably_better([*pair, *crowd])[0, 1]


def test_equal_rows_and_rounding_part_nobody():
    same = np.random.default_rng(5).normal(0.0, 1.0, 2000)
    assert shared_ranks([same, same, same + 1e-13]) == [1, 1, 1]
    assert shared_ranks([np.ones(2000), np.zeros(2000)]) == [1, 2]


def test_few_seeds_ask_for_more():
    noise = np.random.default_rng(6)
    draws = [noise.normal(mean, 1.0, 2000) for mean in (4.0, 0.0)]
    assert shared_ranks(draws, [math.inf, math.inf]) == [1, 2]
    assert shared_ranks(draws, [18, 18]) == [1, 2]
    crowd = [noise.normal(mean, 1.0, 2000) for mean in (6.0, 0.0, *[3.0] * 20)]
    assert separably_better(crowd)[0, 1]
    assert not separably_better(crowd, [3.0] * 22)[0, 1]
    assert shared_ranks(draws, [1, 18]) == [1, 1]


@pytest.mark.parametrize(
    ("rows", "tasks", "seeds"), [(4, 1, 5), (6, 6, 3), (10, 3, 3)], ids=lambda n: str(n)
)
def test_rows_that_do_not_differ_are_rarely_parted(rows, tasks, seeds):
    """On a board of equals anybody is parted from anybody on at most 5 % of the boards.

    Each seed succeeds or fails as a whole: of all laws the one with the widest spread.
    """
    noise, boards = np.random.default_rng(rows), 60
    parted = sum(
        separably_better(
            scores(np.where(noise.random((rows, tasks, seeds)) < 0.5, 1.0, 0.5)),
            [float(tasks * seeds)] * rows,
        ).any()
        for _ in range(boards)
    )
    assert parted / boards <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / boards)


def test_rows_far_apart_are_parted():
    """Six tasks and three seeds are enough to part who learns from who does not."""
    good, middle, bad = np.full((6, 3), 0.999), np.full((6, 3), 0.75), np.full((6, 3), 0.5)
    noise = np.random.default_rng(7)
    accuracies = np.array([good, middle, bad, bad]) + noise.normal(0.0, 0.0003, (4, 6, 3))
    ranks = shared_ranks(scores(accuracies), [18.0] * 4)
    assert ranks == [1, 2, 3, 3]
