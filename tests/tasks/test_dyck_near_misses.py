"""Bracket strings that are nearly right, by kind; each against an enumeration."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from dyck_definition import SMALL, dyck_of, fits, language, members, name, stack_after
from formalbench.contracts.source import Stream
from scipy.stats import chisquare


def depths_of(string):
    steps = [1 if symbol % 2 == 0 else -1 for symbol in string]
    return [sum(steps[:stop]) for stop in range(len(steps) + 1)]


def types_match(string):
    """Return whether a balanced string closes what it opens, at any depth."""
    return stack_after(string) == []


def one_change(dyck, string, turn):
    """Say whether changing one bracket makes a member."""
    return any(
        dyck.oracle([*string[:i], other, *string[i + 1 :]])
        for i, symbol in enumerate(string)
        for other in turn(symbol)
    )


def is_kind(dyck, kind, string):
    """Say whether a non-member is of a kind, from the definition of the kind."""
    depths = depths_of(string)
    if kind == "flip":
        return one_change(dyck, string, lambda s: [s ^ 1])
    if kind == "type":
        others = range(2 * dyck.types)
        return one_change(dyck, string, lambda s: [o for o in others if o % 2 == s % 2])
    if kind == "exchange":
        for i, j in product(range(len(string)), repeat=2):
            other = list(string)
            other[i], other[j] = other[j], other[i]
            if dyck.oracle(other):
                return True
        return False
    if kind in ("rearranged", "shuffled", "crossed"):
        types = [s // 2 for s in string]
        opens = [s // 2 for s in string if s % 2 == 0]
        counts = all(2 * opens.count(t) == types.count(t) for t in types)
        ends = (string[0] % 2, string[-1] % 2) == (0, 1)
        return counts and ends and (kind != "crossed" or crosses(dyck, string))
    if kind == "unclosed":
        held = stack_after(string, dyck.deepest)
        return held is not None and len(held) == (1 if len(string) % 2 else 2)
    return types_match(string) and max(depths) == dyck.deepest + 1


def crosses(dyck, string):
    """Say whether exchanging two closes, or two opens, of different types makes a member."""
    for i, j in product(range(1, len(string) - 1), repeat=2):
        other = list(string)
        other[i], other[j] = other[j], other[i]
        if string[i] % 2 == string[j] % 2 and string[i] != string[j] and dyck.oracle(other):
            return True
    return False


ORDER = ["rearranged", "crossed", "shuffled"]
KINDS = ["flip", "type", "exchange", *ORDER, "unclosed", "too-deep"]


@pytest.mark.parametrize("case", [*SMALL, (2, 6), (5, 2)], ids=name)
@pytest.mark.parametrize("length", [2, 8, 9, 14])
def test_near_misses_are_outside_and_of_their_kind(case, length):
    dyck = language(case)
    for kind in dyck.misses.kinds(length):
        strings = dyck.misses.of_kind(kind, Stream("kind", kind), length, 12).tolist()
        assert len(strings) == 12
        for string in strings:
            assert dyck.oracle(string) == 0
            assert is_kind(dyck, kind, string)


@pytest.mark.parametrize(
    ("case", "length", "kinds"),
    [
        ((2, 6), 20, KINDS),
        ((2, 6), 12, KINDS[:7]),  # no room for a seventh level
        ((2, 6), 14, KINDS),
        ((1, 3), 20, ["flip", "exchange", "rearranged", "shuffled", "unclosed", "too-deep"]),
        ((2, None), 20, KINDS[:7]),
        ((2, None), 4, ["flip", "type", "exchange", "unclosed"]),
        ((1, 1), 8, ["flip", "exchange", "rearranged", "shuffled", "too-deep"]),
        ((2, 1), 2, ["flip", "type", "exchange"]),
        ((1, None), 2, ["flip", "exchange", "unclosed"]),
        ((2, 6), 21, ["unclosed"]),
        ((1, 1), 1, ["unclosed"]),
        ((2, 6), 0, []),
    ],
)
def test_the_kinds_there_are(case, length, kinds):
    assert language(case).misses.kinds(length) == kinds


@pytest.mark.parametrize(("case", "length"), [((2, 6), 20), ((1, 3), 9), ((3, None), 6)])
def test_near_misses_take_kinds_in_turn(case, length):
    dyck = language(case)
    kinds = dyck.misses.kinds(length)
    for count in (0, 1, len(kinds), 3 * len(kinds) + 1):
        strings = dyck.near_misses(Stream("turn", count), length, count)
        assert strings.shape == (count, length)
        assert strings.dtype == np.int64
        assert not dyck.classify(strings).any()
    turns = dyck.near_misses(Stream("all"), length, len(kinds)).tolist()
    for kind in kinds:
        assert any(is_kind(dyck, kind, string) for string in turns)
    assert dyck.near_misses(Stream("none"), 0, 5).shape == (0, 0)


@pytest.mark.parametrize(("deepest", "length"), [(1, 8), (2, 10), (3, 12)])
def test_strings_too_deep_are_uniform(deepest, length):
    law = {s: 1 for s in members(1, deepest + 1, length) if max(depths_of(s)) > deepest}
    dyck = dyck_of(1, deepest)
    assert fits(dyck.misses.of_kind("too-deep", Stream("deep"), length, 300 * len(law)), law)


@pytest.mark.parametrize("case", [(1, None), (2, None), (1, 5)], ids=name)
def test_exchanges_leave_long_members_too(case):
    """One type, a thousand symbols: hardly any random exchange is a mistake."""
    dyck = language(case)
    strings = dyck.misses.of_kind("exchange", Stream("long"), 1000, 40)
    assert not dyck.classify(strings).any()
    members_BN = dyck.sample_members(Stream("long"), 1000, 40)  # what was exchanged
    assert ((strings != members_BN).sum(axis=1) == 2).all()
    assert (np.sort(strings) == np.sort(members_BN)).all()


# Members with one symbol changed: `outside=changed`.


def changed(case, outside="changed"):
    return dyck_of(*case, outside=outside)


def one_away(string, symbols):
    """Return every string that differs from this one in one place."""
    return [
        (*string[:place], other, *string[place + 1 :])
        for place, symbol in enumerate(string)
        for other in range(symbols)
        if other != symbol
    ]


@pytest.mark.parametrize("case", SMALL, ids=name)
def test_changed_members_have_the_law_they_should(case):
    dyck = changed(case)
    law = Counter(
        changed for member in members(*case, 4) for changed in one_away(member, len(dyck.alphabet))
    )
    drawn_BN = dyck.misses.changed(Stream("changed"), 4, 20_000)
    found = Counter(map(tuple, drawn_BN.tolist()))
    assert set(found) == set(law)
    expected = np.array(list(law.values())) / sum(law.values()) * len(drawn_BN)
    assert chisquare([found[string] for string in law], expected).pvalue > 1e-3


@pytest.mark.parametrize("case", SMALL, ids=name)
def test_half_are_members_and_no_changed_one_is(case):
    dyck = changed(case)
    for length in (2, 6, 40):
        strings_BN = dyck.sample(Stream("sample", length), length, 200)
        labels = dyck.classify(strings_BN)
        assert labels.sum() == 100
        opens_BN, types_BN = strings_BN % 2 == 0, strings_BN // 2
        adds_up = np.array(
            [
                all(opens[types == t].sum() * 2 == (types == t).sum() for t in range(dyck.types))
                for opens, types in zip(opens_BN, types_BN, strict=True)
            ]
        )
        assert np.array_equal(adds_up, labels == 1)  # counting tells them


def test_odd_lengths_and_the_default_stay_as_they_were():
    case = (2, 3)
    for length, outside in ((7, "changed"), (8, "mixed")):
        plain = dyck_of(*case).sample(Stream("x"), length, 64)
        assert np.array_equal(changed(case, outside).sample(Stream("x"), length, 64), plain)
    assert not np.array_equal(
        changed(case).sample(Stream("x"), 8, 64), dyck_of(*case).sample(Stream("x"), 8, 64)
    )
