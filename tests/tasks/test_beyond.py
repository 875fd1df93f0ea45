"""Languages beyond the regular ones: what all languages are tested for is in test_languages."""

import hashlib
from collections import Counter
from fractions import Fraction
from itertools import pairwise, product
from math import comb, isqrt

import numpy as np
import pytest
from formalbench import RequestError, theory_of
from formalbench.contracts.stream import Stream
from formalbench_tasks.beyond.boolean import BooleanExpressions
from formalbench_tasks.beyond.interleaved import MOST_PAIRS, Interleaved, _terms
from formalbench_tasks.beyond.shuffle_dyck import ShuffleDyck
from formalbench_tasks.configs import DyckConfig
from formalbench_tasks.dyck import Dyck
from formalbench_tasks.plugin import formalbench_tasks
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

SPECS = {spec.name: spec for spec in formalbench_tasks()}

MEMBERS_OF_FAMILIES = {
    **{f"shuffle-dyck-{k}": ShuffleDyck(k) for k in (1, 2, 4, 6)},
    **{f"boolean-{n}": BooleanExpressions(n) for n in (2, 3, 5)},
}

UNIFORM = {
    **{"majority": 6, "shuffle-dyck-2": 6, "shuffle-dyck-4": 4, "boolean-3": 6, "boolean-5": 5},
    **{"marked-reversal": 9, "unmarked-reversal": 10, "marked-copy": 9, "unmarked-copy": 10},
    **{"odds-first-check": 9, "bucket-sort-check": 5, "missing-duplicate-check": 8},
}
"""Lengths at which every member is looked at."""

GOLDEN = {
    "shuffle-dyck-2": "a428f09532a1e25c",
    "shuffle-dyck-6": "2ae94bb7a92d0c50",
    "boolean-3": "5d61eaf4577b4648",
    "boolean-5": "95e3ddcf6e9c4526",
    "marked-reversal": "db2040de51fbbb9a",
    "marked-copy": "b1f8addd1ca7560b",
    "odds-first-check": "3f827e552eac4169",
    "bucket-sort-check": "7d7257a7f03e176f",
}
"""Of length 60, or 61 where no member has that."""


@pytest.fixture(scope="session")
def build(make):
    """Build a language by its full name."""
    return lambda name: MEMBERS_OF_FAMILIES.get(name) or make(name)


def drawn_outside(language, length, count=800):
    strings_BN = language.sample(Stream("outside", length), length, count)
    return strings_BN[language.classify(strings_BN) == 0]


# What is in, and what may follow.


@pytest.mark.parametrize("name", MEMBERS_OF_FAMILIES)
def test_families_agree_with_their_oracles(name, every_string):
    language = MEMBERS_OF_FAMILIES[name]
    symbols = len(language.alphabet)
    for length in (n for n in range(12) if symbols**n <= 5000):
        strings_BN = every_string(symbols, length)
        expected = [language.oracle(string) for string in strings_BN.tolist()]
        assert language.classify(strings_BN).tolist() == expected
        following = language.next_symbols(strings_BN)
        assert following[:, -1, -1].tolist() == [label == 1 for label in expected]
        tags = language.classify_prefixes(strings_BN)
        assert np.array_equal(tags, following[:, 1:, -1])
        assert language.has_members(length) == (1 in expected)
    for length in (40, 101, 500):
        strings_BN = language.sample(Stream("long", length), length, 30)
        labels = language.classify(strings_BN)
        assert labels.tolist() == [language.oracle(string) for string in strings_BN.tolist()]
        assert labels.sum() == (15 if language.has_members(length) else 0)


FOLLOWED = {
    **{"anbn": (3, 8), "anbncn": (1, 6), "anbncndn": (0, 4), "majority": (3, 9)},
    **{"marked-reversal": (3, 9), "marked-copy": (3, 9), "odds-first-check": (3, 9)},
    **{"unmarked-reversal": (4, 10), "unmarked-copy": (4, 10), "bucket-sort-check": (1, 5)},
    **{"shuffle-dyck-2": (2, 6), "boolean-2": (2, 7), "boolean-3": (1, 7)},
}
"""What goes on behind so many symbols does so in a member of so many at most."""


@pytest.mark.parametrize("name", FOLLOWED)
def test_what_may_follow_is_what_some_member_goes_on_with(build, every_string, name):
    language = build(name)
    symbols, (longest, reach) = len(language.alphabet), FOLLOWED[name]
    going_on = set()
    for length in range(reach + 1):
        every_BN = every_string(symbols, length)
        for member in every_BN[language.classify(every_BN) == 1].tolist():
            going_on |= {tuple(member[:end]) for end in range(length + 1)}
            going_on.add((*member, symbols))
    for prefix in product(range(symbols), repeat=longest):
        (allowed,) = language.next_symbols(np.array([prefix], dtype=np.int64))
        for end in range(longest + 1):
            expected = [(*prefix[:end], symbol) in going_on for symbol in range(symbols + 1)]
            assert allowed[end].tolist() == expected, prefix[:end]


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_string_of_a_family_is_as_its_oracle_says(data):
    language = data.draw(st.sampled_from(list(MEMBERS_OF_FAMILIES.values())))
    string = data.draw(st.lists(st.integers(0, len(language.alphabet) - 1), max_size=80))
    (tags,) = language.classify_prefixes(np.array([string], dtype=np.int64).reshape(1, -1))
    assert tags.tolist() == [language.oracle(string[: end + 1]) for end in range(len(string))]


BITS = st.text("01", min_size=1, max_size=150)


@settings(max_examples=50, deadline=None)
@given(left=BITS, right=BITS, off=st.integers(-1, 1), zeros=st.integers(0, 3))
def test_equations_are_right_as_pythons_numbers_are(make, left, right, off, zeros):
    x, y = int(left[::-1], 2), int(right[::-1], 2)
    equations = {
        "binary-addition-check": (f"{left}+{right}", x + y),
        "binary-multiplication-check": (f"{left}*{right}", x * y),
        "square-root-check": (left, isqrt(x)),
    }
    for name, (asked, result) in equations.items():
        language, said = make(name), max(result + off, 0)
        text = f"{asked}={f'{said:b}'[::-1]}{'0' * zeros}"
        string = [language.alphabet.index(symbol) for symbol in text]
        assert language.classify(np.array([string])).tolist() == [int(said == result)]
        assert language.oracle(string) == int(said == result)


@pytest.mark.parametrize(
    ("name", "text", "label"),
    [
        ("anbn", "", 1),
        ("anbncn", "aabbcc", 1),
        ("anbncn", "abcabc", 0),
        ("majority", "10", 0),
        ("majority", "110", 1),
        ("shuffle-dyck-2", "([)]", 1),
        ("shuffle-dyck-2", "(]", 0),
        ("shuffle-dyck-2", ")(", 0),
        ("boolean-3", ">~0+011", 1),
        ("boolean-3", "01", 0),
        ("marked-reversal", "001#100", 1),
        ("marked-reversal", "#", 1),
        ("unmarked-reversal", "010", 0),
        ("unmarked-copy", "011011", 1),
        ("odds-first-check", "01100#01010", 1),
        ("odds-first-check", "01100#10010", 0),
        ("odds-first-check", "00110#01001", 1),
        ("bucket-sort-check", "2014#0124", 1),
        ("missing-duplicate-check", "01_011", 1),
        ("missing-duplicate-check", "0_1001", 0),
        ("binary-addition-check", "10+010=11", 1),
        ("binary-addition-check", "1+1=1", 0),
        ("binary-multiplication-check", "01*11=0110", 1),
        ("square-root-check", "101001=011", 1),
        ("stack-manipulation-check", "0 1 pop push 1 # 1 0", 1),
        ("stack-manipulation-check", "pop #", 0),
        ("hardest-cfl", "", 1),
        ("hardest-cfl", ",$,;", 1),
        ("hardest-cfl", "(,$([,;,,)],[;", 0),
        ("hardest-cfl", "(,$([,;$,(,]),[;", 1),
        ("hardest-cfl", ",$(,),;", 0),
        ("hardest-cfl", ",$(,;,$),;", 0),
        ("hardest-cfl", "$(),;", 0),
    ],
)
def test_known_strings(build, name, text, label):
    language = build(name)
    words = text.split() if " " in text else list(text)
    string = [language.alphabet.index(word) for word in words]
    assert language.oracle(string) == label
    assert language.classify(np.array([string], dtype=np.int64).reshape(1, -1)).tolist() == [label]


# What is drawn.


@pytest.mark.parametrize("name", UNIFORM)
def test_members_are_uniform(build, every_string, name):
    language, length = build(name), UNIFORM[name]
    every_BN = every_string(len(language.alphabet), length)
    members = set(map(tuple, every_BN[language.classify(every_BN) == 1].tolist()))
    drawn_BN = language.sample_members(Stream("uniform", name), length, 60 * len(members))
    found = Counter(map(tuple, drawn_BN.tolist()))
    assert set(found) == members
    assert chisquare(list(found.values())).pvalue > 1e-3


def interleavings(types, pairs):
    if types == 0:
        return int(pairs == 0)
    return sum(
        comb(2 * pairs, 2 * m) * comb(2 * m, m) // (m + 1) * interleavings(types - 1, pairs - m)
        for m in range(pairs + 1)
    )


def test_numbers_of_pairs_have_exact_shares():
    counted = Interleaved(4)
    counted.draw(Stream("count"), 12, 1)
    terms = _terms(counted._rows[0], counted._rows[2], 12)[0]
    for m, share in enumerate(terms / terms.sum()):
        ways = comb(24, 2 * m) * comb(2 * m, m) // (m + 1) * interleavings(3, 12 - m)
        assert share == pytest.approx(float(Fraction(ways, interleavings(4, 12))), rel=1e-12)


def test_long_shuffles_are_as_even_as_they_should_be():
    pairs_BK = Interleaved(3).draw(Stream("long"), 1500, 2000)
    assert (pairs_BK.sum(axis=1) == 1500).all()
    assert pairs_BK.mean(axis=0) == pytest.approx([500] * 3, abs=3)


def test_brackets_of_shuffles_cross():
    strings_BN = ShuffleDyck(2).sample_members(Stream("cross"), 40, 400)
    assert Dyck(DyckConfig(), 2).classify(strings_BN).mean() < 0.01


def test_operands_left_open_are_as_in_the_definition():
    language = BooleanExpressions(5)
    strings_BN = language.sample_members(Stream("operands"), 300, 50)
    for string in strings_BN.tolist():
        assert sum(max(symbol - 1, 0) for symbol in string) == len(string) - 1


@pytest.mark.parametrize("name", GOLDEN)
def test_pinned_samples(build, name):
    language = build(name)
    length = 60 if language.has_members(60) else 61
    strings_BN = language.sample(Stream("golden", name), length, 64)
    found = hashlib.sha256(strings_BN.astype("<i8").tobytes()).hexdigest()[:16]
    assert found == GOLDEN[name]


# What is outside, and hard to tell from members.


@pytest.mark.parametrize("length", [40, 150])
def test_half_of_the_blocks_outside_have_the_numbers_and_ends_of_a_member(make, length):
    for letters, name in ((2, "anbn"), (4, "anbncndn")):
        size = length // letters * letters
        language = make(name)
        outside_BN = drawn_outside(language, size)
        counts_BS = np.stack([(outside_BN == s).sum(axis=1) for s in range(letters)], axis=1)
        even_B = (counts_BS == size // letters).all(axis=1)
        ends_B = (outside_BN[:, 0] == 0) & (outside_BN[:, -1] == letters - 1)
        assert (even_B & ends_B).mean() > 0.45
        in_order_B = (np.diff(outside_BN, axis=1) >= 0).all(axis=1)
        assert (in_order_B & ~even_B).mean() > 0.2
        near_B = np.abs(counts_BS - size // letters).max(axis=1) <= 2
        assert (in_order_B & ~even_B & near_B).mean() > 0.08


def test_most_of_the_strings_outside_majority_are_just_outside(make):
    for length in (41, 100):
        ones_B = drawn_outside(make("majority"), length).sum(axis=1)
        assert (ones_B == length // 2).mean() > 0.7


def pairs(string):
    return Counter(pairwise(string))


@pytest.mark.parametrize(
    "name", ["marked-reversal", "unmarked-reversal", "marked-copy", "unmarked-copy"]
)
def test_half_of_the_second_halves_have_the_right_neighbours(make, name):
    language = make(name)
    length = 60 + language.marked
    outside = drawn_outside(language, length, 400).tolist()
    rights = [language._obvious(string[:30]) for string in outside]
    alike = [
        pairs(string[-30:]) == pairs(right) and sorted(string[-30:]) == sorted(right)
        for string, right in zip(outside, rights, strict=True)
    ]
    assert sum(alike) / len(alike) > 0.4
    same = [
        sorted(string[-30:]) == sorted(right) for string, right in zip(outside, rights, strict=True)
    ]
    assert sum(same) / len(same) > 0.7


@pytest.mark.parametrize("name", ["shuffle-dyck-2", "shuffle-dyck-6"])
def test_most_brackets_outside_are_as_many_of_each(build, name):
    outside_BN = drawn_outside(build(name), 60)
    symbols = len(build(name).alphabet)
    counts_BS = np.stack([(outside_BN == s).sum(axis=1) for s in range(symbols)], axis=1)
    even_B = (counts_BS[:, 0::2] == counts_BS[:, 1::2]).all(axis=1)
    assert even_B.mean() > 0.7
    assert (even_B & (outside_BN[:, 0] % 2 == 0) & (outside_BN[:, -1] % 2 == 1)).mean() > 0.7


def test_most_expressions_outside_have_enough_operands():
    outside_BN = drawn_outside(BooleanExpressions(3), 60)
    operands_BN = np.array([0, 0, 1, 2, 3])[outside_BN]
    assert ((operands_BN.sum(axis=1) == 59) & (outside_BN[:, -1] < 2)).mean() > 0.7


def test_what_is_in_order_may_still_be_wrong(make):
    outside_BN = drawn_outside(make("bucket-sort-check"), 61)
    in_order_B = (np.diff(outside_BN[:, 31:], axis=1) >= 0).all(axis=1)
    assert in_order_B.mean() > 0.45


@pytest.mark.parametrize("name", ["binary-addition-check", "binary-multiplication-check"])
def test_most_wrong_equations_are_well_formed(make, name):
    language = make(name)
    outside = drawn_outside(language, 61, 400).tolist()
    assert sum(language._read(string) is not None for string in outside) / len(outside) > 0.6


def test_half_of_what_is_said_twice_lacks_a_zero(make):
    language = make("missing-duplicate-check")
    outside_BN = drawn_outside(language, 60)
    zeros_BN = np.where(outside_BN == 2, 0, outside_BN)
    said_twice_B = (zeros_BN[:, :30] == zeros_BN[:, 30:]).all(axis=1)
    assert (said_twice_B & ((outside_BN == 2).sum(axis=1) == 1)).mean() > 0.45


@pytest.mark.parametrize("name", [*MEMBERS_OF_FAMILIES, "anbncn", "majority", "unmarked-copy"])
def test_near_misses_are_outside(build, name):
    language = build(name)
    for length in range(40):
        misses_BN = language.near_misses(Stream("near", length), length, 21)
        assert misses_BN.shape == (21 if length and language.has_members(length) else 0, length)
        assert not language.classify(misses_BN).any()


def test_equations_drawn_are_of_many_shapes(make):
    strings_BN = make("binary-addition-check").sample_members(Stream("shapes"), 61, 3000)
    signs_B, equals_B = ((strings_BN == mark).argmax(axis=1) for mark in (2, 3))
    first_B, second_B = signs_B, equals_B - signs_B - 1
    assert (first_B < second_B).mean() == pytest.approx(0.5, abs=0.05)
    assert (60 - equals_B).mean() == pytest.approx((61 - 2) / 3, abs=1)
    assert min(first_B.min(), second_B.min(), (60 - equals_B).min()) == 1


def test_stacks_drawn_are_of_many_shapes(make):
    strings_BN = make("stack-manipulation-check").sample_members(Stream("shapes"), 61, 3000)
    pushes = np.bincount((strings_BN == 2).sum(axis=1), minlength=21)
    assert (pushes[1::2] == 0).all()
    assert pushes[0::2] / 3000 == pytest.approx([1 / 11] * 11, abs=0.02)
    acts_BN = strings_BN[:, :60]
    assert (acts_BN == 3).sum() > 0.4 * (acts_BN == 2).sum()


def test_the_hardest_strings_are_blocks_with_decoys(make):
    language = make("hardest-cfl")
    strings = [
        "".join(language.alphabet[symbol] for symbol in string)
        for string in language.sample_members(Stream("blocks"), 100, 2000).tolist()
    ]
    blocks = Counter(string.count(";") for string in strings)
    assert sorted(blocks) == list(range(1, 11))
    assert chisquare([blocks[number] for number in range(1, 11)]).pvalue > 1e-3
    several = [string for string in strings if string.count(";") > 1]
    assert sum(Dyck(DyckConfig(), 2).classify(brackets_of(string))[0] for string in several) < 20
    assert all(block.count(",") >= 2 for string in strings for block in string[:-1].split(";"))


def brackets_of(text):
    return np.array([["()[]".index(symbol) for symbol in text if symbol in "()[]"]])


def test_most_of_what_is_not_hardest_has_a_members_symbols(make):
    language = make("hardest-cfl")
    outside_BN = drawn_outside(language, 100, 400)
    framed_B = ((outside_BN == 5).sum(axis=1) > 0) & (outside_BN[:, -1] == 5)
    assert framed_B.mean() > 0.7


# Bounds, and what theory says.


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: BooleanExpressions(1), "boolean-1: operators of 2 to 8 operands: try boolean-2"),
        (lambda: BooleanExpressions(9), "try boolean-8"),
        (lambda: ShuffleDyck(0), "shuffle-dyck-0: 1 to 32 types of brackets: try shuffle-dyck-1"),
        (lambda: ShuffleDyck(40), "try shuffle-dyck-32"),
        (
            lambda: ShuffleDyck(2).sample(Stream("x"), 2 * MOST_PAIRS + 2, 1),
            "strings of length 10002 are too long: at most 10000",
        ),
        (
            lambda: BooleanExpressions(2).sample(Stream("x"), 5001, 1),
            "strings of length 5001 are too long: at most 5000",
        ),
    ],
)
def test_bounds(call, problem):
    with pytest.raises(RequestError, match=problem):
        call()


def test_what_has_no_member_of_a_length_says_so(build):
    for name, length in (("anbn", 3), ("majority", 0), ("shuffle-dyck-2", 3), ("boolean-2", 0)):
        with pytest.raises(ValueError, match="member"):
            build(name).sample_members(Stream("none"), length, 1)


def test_counter_languages_are_in_c_rasp_and_halves_are_not():
    for name in ("anbn", "anbncn", "majority", "shuffle-dyck-{k}", "boolean-{n}"):
        theory = SPECS[name].theory
        assert (theory.level, theory.finest, theory.within("c-rasp")) == (
            "counter",
            "counter",
            True,
        )
    for name in ("marked-reversal", "unmarked-copy", "binary-addition-check", "dyck-{k}"):
        assert SPECS[name].theory.within("c-rasp") is False
    assert theory_of(Dyck(DyckConfig(), 1)).c_rasp
    assert not theory_of(Dyck(DyckConfig(), 2)).c_rasp
    assert "not context-free" in theory_of(ShuffleDyck(2)).note
    assert "not context-free" not in theory_of(ShuffleDyck(1)).note
