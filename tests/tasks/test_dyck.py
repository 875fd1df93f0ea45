"""Dyck languages: what is in, what may follow, and who is refused."""

import numpy as np
import pytest
from dyck_definition import (
    LONGEST,
    SMALL,
    dyck_of,
    language,
    name,
    next_shares,
    stack_after,
)
from formalbench.contracts.source import Stream

every_small = pytest.mark.parametrize("case", SMALL, ids=name)


@every_small
def test_every_short_string(case, every_string):
    dyck, (types, deepest) = language(case), case
    for length in range(LONGEST[types] + 1):
        strings_BN = every_string(2 * types, length)
        expected = [int(stack_after(s, deepest) == []) for s in strings_BN.tolist()]
        assert dyck.classify(strings_BN).tolist() == expected
        assert [dyck.oracle(string) for string in strings_BN.tolist()] == expected
        assert dyck.has_members(length) == any(expected)


@every_small
def test_every_prefix_of_every_short_string(case, every_string):
    dyck, (types, deepest) = language(case), case
    end = 2 * types
    length = LONGEST[types] - 1
    strings_BN = every_string(2 * types, length)
    tags_BN = dyck.classify_prefixes(strings_BN)
    legal = dyck.next_symbols(strings_BN)
    shares = dyck.next_distribution(strings_BN)
    closed, opened = dyck.open_brackets(strings_BN)
    assert tags_BN.dtype == closed.dtype == opened.dtype == np.int64
    assert legal.shape == shares.shape == (len(strings_BN), length + 1, end + 1)
    for row, string in enumerate(strings_BN.tolist()):
        for stop in range(length + 1):
            held = stack_after(string[:stop], deepest)
            follow = {} if held is None else next_shares(string[:stop], types, deepest)
            assert set(np.flatnonzero(legal[row, stop])) == set(follow)
            assert shares[row, stop].tolist() == pytest.approx(
                [float(follow.get(symbol, 0)) for symbol in range(end + 1)]
            )
            top = held[-1] if held else (-1, -1)
            assert (opened[row, stop], closed[row, stop]) == top
            if stop:
                assert tags_BN[row, stop - 1] == int(held == [])


def test_positions_beyond_16_bits():
    dyck = dyck_of(2)
    members_BN = dyck.sample_members(Stream("long"), 70_000, 1)
    assert dyck.oracle(members_BN[0].tolist()) == 1
    members_BN[0, 35_000] ^= 2
    assert dyck.classify(members_BN).tolist() == [0]


def test_alphabets():
    assert dyck_of(1).alphabet == ("(", ")")
    assert dyck_of(4, 2).alphabet == ("(", ")", "[", "]", "{", "}", "<", ">")
    assert dyck_of(5).alphabet[:4] == ("(1", ")1", "(2", ")2")
    assert dyck_of(128).alphabet[-1] == ")128"
    for types in (1, 4, 5):
        dyck = dyck_of(types)
        assert [dyck.alphabet[symbol][0] for symbol in dyck.closes] == list(
            ")" * types if types > 4 else ")]}>"[:types]
        )


# As an automaton.


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 12])
def test_one_type_is_the_language_of_a_and_b(make, depth):
    ours, theirs = dyck_of(1, depth).automaton, make(f"d{depth}").automaton
    assert np.array_equal(ours.transitions, theirs.transitions)
    assert np.array_equal(ours.classes, theirs.classes)


@pytest.mark.parametrize(
    ("case", "states"), [((1, 5), 7), ((2, 2), 8), ((2, 3), 16), ((3, 2), 14), ((500, 1), 502)]
)
def test_the_automaton_has_a_state_for_each_stack(case, states, every_string):
    dyck = language(case)
    assert dyck.automaton.num_states == states
    if case[0] < 4:
        strings_BN = every_string(2 * case[0], LONGEST[case[0]])
        assert np.array_equal(dyck.automaton.classify(strings_BN), dyck.classify(strings_BN))
        assert np.array_equal(
            dyck.automaton.next_symbols(strings_BN[:500]), dyck.next_symbols(strings_BN[:500])
        )


@pytest.mark.parametrize("case", [(1, None), (2, None), (2, 12), (8, 10), (500, 1000)], ids=name)
def test_where_there_is_no_small_automaton(case):
    assert getattr(language(case), "automaton", None) is None


# Lengths.


def test_only_even_lengths_have_members():
    for dyck in (dyck_of(2), dyck_of(1, 1), dyck_of(2, 3)):
        assert [length for length in range(-3, 8) if dyck.has_members(length)] == [0, 2, 4, 6]
        assert [dyck.class_distribution(n) for n in range(4)] == [
            (0, 1),
            (1, 0),
            (0.5, 0.5),
            (1, 0),
        ]
        assert all(dyck.has_length(length) for length in range(8))  # odd strings have a class
        for draw in (dyck.sample_members, dyck.sample_generated):
            with pytest.raises(ValueError, match="no bracket string of length 7"):
                draw(Stream("none"), 7, 1)


def test_lengths_to_generate_are_those_of_the_papers():
    expected = {3: (83, 84, 167), 5: (179, 180, 359), 10: (699, 700, 1399), 15: (1619, 1620, 3239)}
    for depth, (train, first, last) in expected.items():
        splits = dyck_of(2, depth).splits("generate")
        assert (splits.train, splits.test, splits.step) == ((2, train), (first, last), 2)
    longest = [dyck_of(1, depth).splits("generate").train[1] for depth in range(1, 40)]
    assert longest == sorted(longest)
    assert (longest[0], longest[-1]) == (39, 1619)
    for depth in range(1, 40):
        splits = dyck_of(1, depth).splits("generate")
        assert splits.train[1] < splits.test[0]
        assert splits.test[0] % 2 == 0
    assert dyck_of(2, 3).splits("classify") is None
    assert dyck_of(2).splits("generate") is None
