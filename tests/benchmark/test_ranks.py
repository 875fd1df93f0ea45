"""Ranks on simulated boards, of which it is known who is better."""

import math
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from formalbench.statistics.intervals import RunAccuracy, Sample
from formalbench.statistics.ranks import p_values, significantly_better
from scipy.stats import t, ttest_ind

sys.path.insert(0, str(Path(__file__).parents[2] / "speed"))
import intervals

STRINGS = 8192


def row(*tasks, strings=STRINGS, trained=True):
    """Return a row of the accuracies of its seeds on each task; chance is 50 %."""
    return [
        Sample.of(
            f"task-{n}", [RunAccuracy(float(one), strings) for one in seeds], 0.5, trained
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


def reference(rows):
    """Return the p-value of each pair of trained rows, written out in scalars (docs/method.md)."""
    tasks = range(len(rows[0]))
    squares = [[np.sum((one.values - one.values.mean()) ** 2) for one in row] for row in rows]
    freedom = [[len(one.values) - 1 for one in row] for row in rows]
    board = np.sum(squares) / np.sum(freedom)
    failing = [
        max(0.02, 1 - math.exp(-math.log(2) / sum(len(row[n].values) for row in rows)))
        for n in tasks
    ]
    pooled = [
        (4 * board + sum(row[n] for row in squares)) / (4 + sum(row[n] for row in freedom))
        for n in tasks
    ]

    def shares(m):
        for n in tasks:
            own = 4 * max(pooled[n], failing[n] * (1 - failing[n])) + squares[m][n]
            variance = max(own / (4 + freedom[m][n]), pooled[n])
            yield variance / (freedom[m][n] + 1) / len(tasks) ** 2, freedom[m][n]

    def p_value(a, b):
        parts = [*shares(a), *shares(b)]
        noise = sum(np.var(one.strings) for m in (a, b) for one in rows[m]) / len(tasks) ** 2
        variance = noise + sum(share for share, _ in parts)
        lost = sum(share**2 / df for share, df in parts)
        both = list(zip(rows[a], rows[b], strict=True))
        lead = abs(np.mean([x.values.mean() - y.values.mean() for x, y in both]))
        least = 2.0 / math.prod(
            math.comb(len(x.values) + len(y.values), len(x.values)) for x, y in both
        )
        return max(2 * t.sf(lead / variance**0.5, variance**2 / lost), least)

    each = {pair: p_value(*pair) for pair in combinations(range(len(rows)), 2)}
    order = sorted(each, key=each.get)
    # Holm: the k-th least times how many are left, and never less than the one before.
    return {
        pair: max(
            min(1.0, each[one] * (len(order) - k)) for k, one in enumerate(order[: place + 1])
        )
        for place, pair in enumerate(order)
    }


def test_p_values_are_those_of_the_formulas_in_scalars():
    noise = np.random.default_rng(7)
    rows = [
        row(*(noise.normal(mean, sd, seeds).clip(0, 1) for seeds in (3, 5, 10)))
        for mean, sd in ((0.9, 0.01), (0.85, 0.03), (0.8, 0.1), (0.7, 0.05), (0.7, 0.02))
    ]
    found = p_values(rows)
    expected = reference(rows)
    assert sum(0.001 < p < 0.999 for p in expected.values()) >= 5
    for (a, b), p in expected.items():
        assert found[a, b] == found[b, a] == pytest.approx(p, rel=1e-9), (a, b)


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
    steady = [[1.0] * 10] * 6
    few, many = [0.55, 0.95, 0.6], [0.55, 0.95, 0.6, 0.7, 0.8, 0.7, 0.6, 0.75, 0.7, 0.65]
    rows = [row(scattered, *steady[1:]) for scattered in (few, many)]
    found = [p_values([row(*steady), scattered])[0, 1] for scattered in rows]
    assert found[1] < found[0] / 3


def test_scatter_of_others_on_a_task_counts_for_all():
    """Three seeds that agree on tasks where the others' do not are taken for lucky."""
    rest, two = [[1.0] * 3] * 4, [[0.5, 1.0, 0.5], [1.0, 1.0, 0.5]]
    one, other = row(*PERFECT), row([0.55] * 3, [0.55] * 3, *rest)
    lottery = [row(*two, *rest), row(*two[::-1], *rest)] * 2
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


@pytest.mark.parametrize("seeds", [3, 5])
def test_few_rows_that_agree_on_a_task_do_not_show_that_its_seeds_never_fail(seeds):
    """Each of the three has a task of its own on which half of its seeds fail."""
    rows = intervals.BOARDS["three rows alone, each succeeds or fails on a task of its own"]
    assert intervals.errors(rows, seeds, 400) <= 4.0


@pytest.mark.parametrize("name", list(intervals.WEAKER))
def test_a_row_at_77_among_nine_at_100_is_told_apart_in_30_of_30_boards(name):
    assert intervals.power(intervals.WEAKER[name], 3, 30) == 100.0
