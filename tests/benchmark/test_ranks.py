"""Ranks on simulated boards, of which it is known who is better."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from formalbench.analysis.ranks import p_values, significantly_better
from formalbench.analysis.seeds import Sample
from formalbench.analysis.statistics import Measured
from scipy.stats import ttest_ind

sys.path.insert(0, str(Path(__file__).parents[2] / "speed"))
import intervals

RNG = np.random.default_rng(0)
STRINGS = 8192


def row(*tasks, strings=STRINGS, trained=True):
    """Return a row of the accuracies of its seeds on each task; chance is 50 %."""
    return [
        Sample.of(
            f"task-{n}", [Measured(float(one), strings) for one in seeds], 0.5, trained
        ).in_units_of(0.5)
        for n, seeds in enumerate(tasks)
    ]


PERFECT = [[1.0] * 3] * 6


def test_who_fails_two_of_six_tasks_with_every_seed_is_worse():
    """All seeds of all tasks as one sample would take that for the luck of seeds."""
    failing = [*PERFECT[:4], [0.65, 0.66, 0.64], [0.66, 0.65, 0.65]]
    better = significantly_better([*[row(*PERFECT)] * 9, row(*failing)])
    assert better[:9, 9].all()
    assert better.sum() == 9


def test_equal_rows_rounding_and_a_single_wrong_string_tell_nobody_apart():
    almost = [[1.0 - 1 / STRINGS] * 3, *PERFECT[1:]]
    rounded = [[1.0 - 1e-14] * 3, *PERFECT[1:]]
    assert not significantly_better([row(*PERFECT), row(*PERFECT), row(*almost)]).any()
    exact = [row(*PERFECT, strings=0, trained=False), row(*rounded, strings=0, trained=False)]
    assert p_values(exact).tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_without_strings_and_with_many_seeds_it_is_nearly_welchs_test():
    """What is shrunk towards weighs as much as four seeds: nothing beside hundreds."""
    noise = np.random.default_rng(5)
    one, other = noise.normal(0.75, 0.05, 400), noise.normal(0.757, 0.05, 400)
    found = p_values([row(one, strings=0), row(other, strings=0)])[0, 1]
    assert found == pytest.approx(ttest_ind(one, other, equal_var=False).pvalue, rel=0.2)


def test_three_seeds_on_one_task_part_nobody_and_on_several_they_do():
    lucky, failed = [1.0] * 3, [0.5] * 3
    assert p_values([row(lucky), row(failed)])[0, 1] == pytest.approx(2 / 20)
    assert significantly_better([row(lucky, lucky), row(failed, failed)])[0, 1]


def test_a_single_seed_does_not_tell_how_seeds_differ():
    alone = [[0.5]] * 6
    assert not significantly_better([row(*PERFECT), row(*alone)]).any()
    assert significantly_better([row(*PERFECT), row([0.5] * 3, *alone[1:])])[0, 1]


def test_a_task_that_no_run_finished_is_no_evidence():
    """It takes away neither the least p-value that seeds allow nor the rule of a single seed."""
    unknown = Sample.unknown("task-0", 3)
    one, other = row([1.0] * 3), row([0.5] * 3)
    assert p_values([[unknown, *one], [unknown, *other]])[0, 1] == pytest.approx(2 / 20)
    alone = [Sample.unknown("task-0", 1), *row([0.5], [0.5])]
    assert p_values([[unknown, *row([1.0] * 3, [1.0] * 3)], alone])[0, 1] == 1.0


def test_more_seeds_where_they_scatter_make_the_difference():
    """Seven more seeds on the one task that scatters: each task's variance has its own number."""
    rest = [[1.0] * 3] * 5
    few, many = [0.55, 0.95, 0.6], [0.55, 0.95, 0.6, 0.7, 0.8, 0.7, 0.6, 0.75, 0.7, 0.65]
    found = [p_values([row(*PERFECT), row(scattered, *rest)])[0, 1] for scattered in (few, many)]
    assert found[1] < found[0] / 3


def test_scatter_of_others_on_a_task_counts_for_all():
    """Three seeds that agree on a task where the others' do not are taken for lucky."""
    rest = [[1.0] * 3] * 5
    one, other = row([1.0] * 3, *rest), row([0.55] * 3, *rest)
    lottery = [row([0.5, 1.0, 0.5], *rest), row([1.0, 1.0, 0.5], *rest)] * 2
    assert significantly_better([one, other])[0, 1]
    assert not significantly_better([one, other, *lottery])[0, 1]


def test_more_rows_ask_for_more():
    levels = [[0.91, 0.93, 0.92]] * 6, [[0.88, 0.81, 0.88]] * 6
    pair = [row(*level) for level in levels]
    crowd = [row(*[[0.89, 0.9, 0.88]] * 6) for _ in range(30)]
    assert p_values([*pair, *crowd])[0, 1] > 3 * p_values(pair)[0, 1]


def test_exact_models_have_no_seeds_and_are_judged_by_their_strings():
    exact = [row(*[[level]] * 2, strings=4096, trained=False) for level in (0.9, 0.8, 0.895)]
    assert significantly_better(exact).tolist() == [
        [False, True, False],
        [False, False, False],
        [False, True, False],
    ]


def test_a_board_of_one_or_none():
    assert p_values([]).shape == (0, 0)
    assert not significantly_better([row(*PERFECT)]).any()


BOARDS = 100


@pytest.mark.parametrize("name", list(intervals.BOARDS))
def test_rows_that_do_not_differ_are_rarely_told_apart(name):
    """In at most 5 % of all boards; of 100 more than nine have it with a probability of 3 %."""
    assert intervals.errors(intervals.BOARDS[name], 3, BOARDS) <= 9.0


@pytest.mark.parametrize("name", list(intervals.WEAKER))
def test_a_row_at_77_among_nine_at_100_is_told_apart_in_30_of_30_boards(name):
    assert intervals.power(intervals.WEAKER[name], 3, 30) == 100.0
