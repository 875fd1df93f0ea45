"""Chance where a string counts as a whole."""

import numpy as np
import pytest
from formalbench.objectives.answers import ESTIMATE_FROM, whole_string_chance


def from_table(table):
    """Draw rows in turn, each as often as its weight says."""

    def draw(length, count):
        rows = [row for row, weight in table[length] for _ in range(weight)]
        assert count % len(rows) == 0
        return np.array(rows * (count // len(rows)))

    return draw


def test_by_hand():
    table = {
        2: [([0, 0], 4), ([1, 1], 3), ([0, 1], 1)],
        3: [([1, 1, 1], 2), ([0, 1, 0], 5), ([0, 0, 0], 1)],
    }
    chance = whole_string_chance([2, 3], from_table(table))
    assert chance.by_length == pytest.approx((4 / 8, 5 / 8))
    assert chance.length_only == pytest.approx(9 / 16)
    # always 0: (4/8 + 1/8) / 2; always 1: (3/8 + 2/8) / 2
    assert chance.constant == pytest.approx(5 / 16)


def test_rows_of_sets_repeat_as_sets():
    same, other = [[1, 0], [1, 0]], [[1, 0], [0, 1]]
    chance = whole_string_chance([1], from_table({1: [(same, 1), (other, 3)]}))
    assert chance.by_length == pytest.approx((0.75,))
    assert chance.constant == pytest.approx(0.25)


def test_what_is_seen_once_is_never_guessed():
    chance = whole_string_chance([5], lambda length, count: np.arange(count)[:, None])
    assert chance.by_length == (0.0,)
    assert chance.constant == 0.0


def test_a_language_with_one_string_of_a_length_is_guessed_always(host):
    task = host.task("tomita-2:next-symbols")
    chance = task.chance([52, 100])
    assert chance.by_length == (1.0, 1.0)
    assert chance.constant == 0.0  # the sets differ from prefix to prefix
    ones = host.task("tomita-1:next-symbols").chance([51, 100])
    assert ones.by_length == (1.0, 1.0)
    assert ones.constant == 1.0


@pytest.mark.parametrize(
    "name", ["parity:tag", "tomita-3:next-symbols", "first:tag", "d2:tag", "tomita-5:next-symbols"]
)
def test_a_constant_never_beats_seeing_the_length(host, name):
    task = host.task(name)
    chance = task.chance(task.lengths(1, 6))
    assert 0.0 <= chance.constant <= chance.length_only + 1e-12
    assert chance.length_only <= 1.0
    assert all(share * ESTIMATE_FROM == round(share * ESTIMATE_FROM) for share in chance.by_length)
