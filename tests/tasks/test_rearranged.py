"""Non-members in another order, which counting cannot tell from members."""

from collections import Counter
from itertools import pairwise, permutations

import numpy as np
import pytest
from dyck_definition import dyck_of
from formalbench.contracts.source import Stream
from formalbench_tasks.automata.regex import RegexDefinition
from formalbench_tasks.automata.regular_language import CustomLanguage
from formalbench_tasks.near_misses import (
    exchange_parts,
    one_of,
    rearrange_until_outside,
    shuffle_inside,
)
from scipy.stats import chisquare


def pairs(string):
    return Counter(pairwise(string))


@pytest.mark.parametrize("length", [1, 2, 3, 4, 9, 30])
@pytest.mark.parametrize("symbols", [1, 2, 5])
def test_symbols_and_ends_stay_and_of_parts_the_neighbours(length, symbols):
    strings = Stream("any", length).integers(symbols, (200, length))
    for how in (exchange_parts, shuffle_inside):
        moved = how(Stream("move"), strings)
        assert (moved.shape, moved.dtype) == (strings.shape, np.int64)
        assert np.array_equal(np.sort(moved), np.sort(strings))
        assert np.array_equal(moved[:, [0, -1]], strings[:, [0, -1]])
        for before, after in zip(strings.tolist(), moved.tolist(), strict=True):
            assert how is shuffle_inside or pairs(before) == pairs(after)


def test_exchanging_parts_reaches_every_string_with_the_same_neighbours():
    string = (0, 1, 0, 0, 1, 1, 0, 1)
    same = {
        order for order in permutations(string)
        if pairs(order) == pairs(string) and (order[0], order[-1]) == (string[0], string[-1])
    }  # fmt: skip
    strings, seen = np.tile(np.array(string), (400, 1)), {string}
    stream = Stream("reach")
    for _ in range(20):
        strings = exchange_parts(stream, strings)
        seen |= set(map(tuple, strings.tolist()))
    assert seen == same
    assert len(same) > 4


def test_what_is_inside_is_shuffled_uniformly():
    moved = shuffle_inside(Stream("shuffle"), np.tile(np.arange(6), (7200, 1)))
    found = Counter(map(tuple, moved.tolist()))
    assert len(found) == 24
    assert chisquare(list(found.values())).pvalue > 1e-3


def test_one_of_the_marked_places():
    marked = np.tile(np.array([[1, 0, 1, 1], [0, 0, 0, 0]], dtype=bool), (900, 1))
    places = one_of(Stream("one"), marked)
    assert set(places[1::2].tolist()) == {-1}
    assert chisquare(np.bincount(places[::2])[[0, 2, 3]]).pvalue > 1e-3


def test_what_no_order_brings_outside_is_reported():
    strings = np.tile(np.array([0, 1, 0, 1, 1, 0]), (5, 1))
    for length, inside in ((6, True), (3, False)):  # three symbols have no other order
        _, stuck = rearrange_until_outside(
            Stream("x"), strings[:, :length], lambda s, i=inside: np.full(len(s), i), exchange_parts
        )
        assert stuck.all()


def balance_accuracy(dyck, strings):
    """Return how often `as many opens as closes, type by type` is the right answer."""
    counts = np.stack([(strings == symbol).sum(axis=1) for symbol in range(2 * dyck.types)])
    return ((counts[::2] == counts[1::2]).all(axis=0) == (dyck.classify(strings) == 1)).mean()


@pytest.mark.parametrize("case", [(1, None), (2, None), (8, None), (1, 3), (2, 3), (2, 1)])
@pytest.mark.parametrize("length", [2, 4, 6, 20, 52, 100])
def test_counting_brackets_does_not_tell_members(case, length):
    dyck = dyck_of(*case)
    strings = dyck.sample(Stream("balance"), length, 2000)
    assert balance_accuracy(dyck, strings) < 0.65


@pytest.mark.parametrize("case", [(1, None), (2, None), (2, 3)])
def test_half_of_the_non_members_have_the_neighbours_of_a_member(case):
    """No pair of neighbours that a member cannot have, and as many of each at both ends."""
    dyck = dyck_of(*case)
    strings = dyck.sample(Stream("neighbours"), 60, 1000)
    outside = strings[dyck.classify(strings) == 0]
    left, right = outside[:, :-1], outside[:, 1:]
    wrong = ((left % 2 == 0) & (right % 2 == 1) & (left // 2 != right // 2)).any(axis=1)
    ends = (outside[:, 0] % 2 == 0) & (outside[:, -1] % 2 == 1)
    assert (~wrong & ends).mean() > 0.5


def custom(regex, alphabet="ab"):
    return CustomLanguage(RegexDefinition(tuple(alphabet), regex))


def test_non_members_of_a_file_have_the_counts_and_ends_of_members():
    language = custom("(a(ab)*b)*")  # D_2
    for length in (20, 60, 200):
        strings = language.sample(Stream("file"), length, 1000)
        inside = language.classify(strings) == 1
        assert inside.sum() == 500
        alike = ((strings == 0).sum(axis=1) * 2 == length) & (strings[:, 0] == 0)
        alike &= strings[:, -1] == 1
        assert 0.72 < alike[~inside].mean() < 0.85
        assert (alike == inside).mean() < 0.65


def test_where_order_does_not_count_non_members_are_edited_and_uniform():
    language = custom("(b*ab*a)*b*")  # an even number of a
    strings = language.sample(Stream("even"), 40, 400)
    assert language.classify(strings).sum() == 200
    assert len(np.unique(strings, axis=0)) == 400
    for regex in ("(ab)*", "a*", "(a|b)*", "ab"):
        for length in range(5):
            drawn = custom(regex).sample(Stream(regex), length, 33)
            share = custom(regex).classify(drawn).mean()
            assert share == pytest.approx(custom(regex).class_distribution(length)[1], abs=0.02)
