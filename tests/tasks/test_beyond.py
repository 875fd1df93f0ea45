"""Languages beyond the regular ones: what all languages are tested for is in test_languages."""

from collections import Counter
from fractions import Fraction
from itertools import product
from math import comb, isqrt

import numpy as np
import pytest
from formalbench.contracts.source import Stream
from formalbench_tasks.configs import DyckConfig
from formalbench_tasks.dyck.language import Dyck
from formalbench_tasks.languages.counters import BooleanExpressions
from formalbench_tasks.languages.shuffle_dyck import PairCounts, ShuffleDyck, _terms
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

UNIFORM = {
    **{"majority": 6, "shuffle-dyck-2": 6, "shuffle-dyck-4": 4, "boolean-3": 6, "boolean-5": 5},
    **{"marked-reversal": 9, "unmarked-reversal": 10, "marked-copy": 9, "unmarked-copy": 10},
    **{"odds-first-check": 9, "bucket-sort-check": 5, "missing-duplicate-check": 8},
}
"""Lengths at which every member is looked at."""


# What is in, and what may follow.


FOLLOWED = {
    **{"anbn": (3, 8), "anbncn": (1, 6), "anbncndn": (0, 4), "majority": (3, 9)},
    **{"marked-reversal": (3, 9), "marked-copy": (3, 9), "odds-first-check": (3, 9)},
    **{"unmarked-reversal": (4, 10), "unmarked-copy": (4, 10), "bucket-sort-check": (1, 5)},
    **{"shuffle-dyck-2": (2, 6), "reset-dyck-1": (4, 7), "boolean-2": (2, 7), "boolean-3": (1, 7)},
}
"""Every prefix that can be continued can be continued to a member of at most this length."""


@pytest.mark.parametrize("name", FOLLOWED)
def test_what_may_follow_is_what_some_member_goes_on_with(make, every_string, name):
    language = make(name)
    symbols, (longest, reach) = len(language.alphabet), FOLLOWED[name]
    going_on = set()
    for length in range(reach + 1):
        for member in filter(language.oracle, every_string(symbols, length).tolist()):
            going_on |= {tuple(member[:end]) for end in range(length + 1)}
            going_on.add((*member, symbols))
    for prefix in product(range(symbols), repeat=longest):
        (allowed,) = language.next_symbols(np.array([prefix], dtype=np.int64))
        for end in range(longest + 1):
            expected = [(*prefix[:end], symbol) in going_on for symbol in range(symbols + 1)]
            assert allowed[end].tolist() == expected, prefix[:end]


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


# What is drawn.


@pytest.mark.parametrize("name", UNIFORM)
def test_members_are_uniform(make, every_string, name):
    language, length = make(name), UNIFORM[name]
    every_BN = every_string(len(language.alphabet), length)
    members = set(map(tuple, every_BN[language.classify(every_BN) == 1].tolist()))
    drawn_BN = language.sample_members(Stream("uniform", name), length, 60 * len(members))
    found = Counter(map(tuple, drawn_BN.tolist()))
    assert set(found) == members
    assert chisquare(list(found.values())).pvalue > 1e-3


def test_the_last_reset_stands_anywhere_and_balanced_brackets_behind_it_are_uniform(make):
    drawn = make("reset-dyck-1").sample_members(Stream("reset"), 9, 10_000)
    texts = ["".join("()#"[symbol] for symbol in string) for string in drawn.tolist()]
    behind = Counter(text.rpartition("#")[2] for text in texts)
    lengths = Counter()
    for text, number in behind.items():
        lengths[len(text)] += number
    assert sorted(lengths) == [0, 2, 4, 6, 8]
    assert chisquare(list(lengths.values())).pvalue > 1e-3
    for length, ways in ((4, 2), (6, 5), (8, 14)):
        found = [number for text, number in behind.items() if len(text) == length]
        assert len(found) == ways
        assert chisquare(found).pvalue > 1e-3
    first = Counter(text[0] for text in texts if text.rindex("#") > 0)
    assert chisquare([first[symbol] for symbol in "()#"]).pvalue > 1e-3


def interleavings(types, pairs):
    if types == 0:
        return int(pairs == 0)
    return sum(
        comb(2 * pairs, 2 * m) * comb(2 * m, m) // (m + 1) * interleavings(types - 1, pairs - m)
        for m in range(pairs + 1)
    )


def test_numbers_of_pairs_have_exact_shares():
    counted = PairCounts(4)
    counted.draw(Stream("count"), 12, 1)
    terms = _terms(counted._rows[0], counted._rows[2], 12)[0]
    for m, share in enumerate(terms / terms.sum()):
        ways = comb(24, 2 * m) * comb(2 * m, m) // (m + 1) * interleavings(3, 12 - m)
        assert share == pytest.approx(float(Fraction(ways, interleavings(4, 12))), rel=1e-12)


def test_long_shuffles_are_as_even_as_they_should_be():
    pairs_BK = PairCounts(3).draw(Stream("long"), 1500, 2000)
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
