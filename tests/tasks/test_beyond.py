"""Languages beyond the regular ones: what all languages are tested for is in test_languages."""

from collections import Counter
from fractions import Fraction
from itertools import product
from math import comb, isqrt

import numpy as np
import pytest
from beyond_families import MEMBERS_OF_FAMILIES
from formalbench import RequestError, theory_of
from formalbench.contracts.source import Stream
from formalbench_tasks.configs import DyckConfig
from formalbench_tasks.dyck.language import Dyck
from formalbench_tasks.languages.counters import BooleanExpressions
from formalbench_tasks.languages.shuffle_dyck import MOST_PAIRS, Interleaved, ShuffleDyck, _terms
from formalbench_tasks.plugin import formalbench_tasks
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

SPECS = {spec.name: spec for spec in formalbench_tasks()}

UNIFORM = {
    **{"majority": 6, "shuffle-dyck-2": 6, "shuffle-dyck-4": 4, "boolean-3": 6, "boolean-5": 5},
    **{"marked-reversal": 9, "unmarked-reversal": 10, "marked-copy": 9, "unmarked-copy": 10},
    **{"odds-first-check": 9, "bucket-sort-check": 5, "missing-duplicate-check": 8},
}
"""Lengths at which every member is looked at."""

"""Of length 60, or 61 where no member has that."""


# What is in, and what may follow.


FOLLOWED = {
    **{"anbn": (3, 8), "anbncn": (1, 6), "anbncndn": (0, 4), "majority": (3, 9)},
    **{"marked-reversal": (3, 9), "marked-copy": (3, 9), "odds-first-check": (3, 9)},
    **{"unmarked-reversal": (4, 10), "unmarked-copy": (4, 10), "bucket-sort-check": (1, 5)},
    **{"shuffle-dyck-2": (2, 6), "reset-dyck-1": (4, 7), "boolean-2": (2, 7), "boolean-3": (1, 7)},
}
"""Every prefix that can be continued can be continued to a member of at most this length."""


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
        ("reset-dyck-1", "", 0),
        ("reset-dyck-1", "()", 0),
        ("reset-dyck-1", "#", 1),
        ("reset-dyck-1", "))#(", 0),
        ("reset-dyck-1", ")#(#()(())", 1),
        ("reset-dyck-1", "#(#)", 0),
        ("reset-dyck-1", "#)(()", 0),
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
