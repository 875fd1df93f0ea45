"""Drawing bracket strings: uniform, generated, nearly right; each against an enumeration."""

import math
from collections import Counter
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from dyck_definition import (
    LONGEST,
    SMALL,
    dyck_of,
    fits,
    language,
    members,
    name,
    process,
    stack_after,
)
from formalbench.contracts.errors import RequestError
from formalbench.contracts.source import Stream
from formalbench_tasks.dyck.brackets import Shapes, rising_share
from formalbench_tasks.dyck.language import windows
from scipy.stats import chisquare

every_small = pytest.mark.parametrize("case", SMALL, ids=name)


# Shapes.


def ways(depth, steps):
    """Count the ways from a depth down to 0, never below, by the recursion."""
    row = [1]
    for _ in range(steps):
        row = [
            (row[d - 1] if 0 < d <= len(row) else 0) + (row[d + 1] if d + 1 < len(row) else 0)
            for d in range(len(row) + 1)
        ]
    return row[depth] if depth < len(row) else 0


def test_the_share_that_rises_is_exact():
    for steps in range(1, 25):
        for depth in range(steps % 2, steps + 1, 2):
            expected = Fraction(ways(depth + 1, steps - 1), ways(depth, steps))
            assert rising_share(np.array([depth]), steps)[0] == float(expected)
    # long ones, by the ballot numbers
    for depth, steps in ((0, 1000), (10, 1000), (500, 1000), (999, 1001), (1001, 1001)):
        left = (steps - depth) // 2
        all_ways = Fraction((depth + 1) * comb(steps + 1, left), steps + 1)
        rising = Fraction((depth + 2) * comb(steps, left - 1), steps) if left else Fraction(0)
        assert rising_share(np.array([depth]), steps)[0] == float(rising / all_ways)


@pytest.mark.parametrize(
    ("case", "length"),
    [((1, None), 10), ((2, None), 6), ((3, None), 4), ((1, 2), 10), ((1, 4), 10), ((2, 2), 6),
     ((3, 1), 4), ((2, 9), 6)],
)  # fmt: skip
def test_members_are_uniform(case, length):
    law = dict.fromkeys(members(*case, length), 1)
    assert len(law) > 8
    drawn = language(case).sample_members(Stream("uniform", length), length, 300 * len(law))
    assert fits(drawn, law)


@pytest.mark.parametrize(
    ("deepest", "length", "end"),
    [(None, 8, 2), (None, 9, 1), (None, 7, 3), (2, 8, 2), (3, 9, 1), (4, 6, 2), (2, 9, 1)],
)
def test_shapes_that_stay_open_are_uniform(deepest, length, end):
    strings = product(range(2), repeat=length)
    held = {string: stack_after(string, deepest) for string in strings}
    law = {s: 1 for s, stack in held.items() if stack is not None and len(stack) == end}
    opens = Shapes(deepest).uniform(Stream("open"), length, 200 * len(law), end)
    assert fits(1 - opens.astype(np.int64), law)


# What the process generates.


@pytest.mark.parametrize(
    ("case", "length"),
    [((1, None), 10), ((2, None), 4), ((1, 1), 6), ((1, 2), 10), ((1, 3), 10), ((1, 5), 10),
     ((2, 2), 6), ((3, 2), 4), ((2, 3), 6)],
)  # fmt: skip
def test_generated_strings_have_the_law_of_the_process_at_their_length(case, length):
    every = process(*case, length)
    law = {string: share for string, share in every.items() if len(string) == length}
    assert set(law) == set(members(*case, length))
    drawn = language(case).sample_generated(Stream("process"), length, 300 * len(law) + 100)
    assert fits(drawn, law) or len(law) == 1 == len(np.unique(drawn, axis=0))


def test_given_the_length_only_visits_to_the_greatest_depth_weigh():
    law = process(1, 2, 8)
    for string in members(1, 2, 8):
        deep = sum(1 for stop in range(9) if len(stack_after(string[:stop])) == 2)
        assert law[string] == Fraction(2**deep, 2**9)
    assert len({share for string, share in process(1, None, 8).items() if len(string) == 8}) == 1


@pytest.mark.parametrize(
    ("case", "held", "length"),
    [((1, 1), 4, 6), ((1, 2), 5, 10), ((1, 2), 10, 10), ((1, 3), 4, 12), ((1, 6), 6, 10)],
)
def test_shapes_that_must_not_end_yet_have_the_law_of_the_process(case, held, length):
    every = process(*case, length, held)
    law = {string: share for string, share in every.items() if len(string) == length}
    opens = Shapes(case[1]).generated(Stream("held", held), length, 300 * len(law) + 100, held)
    drawn = 1 - opens.astype(np.int64)
    assert fits(drawn, law) or len(law) == 1 == len(np.unique(drawn, axis=0))


def test_at_test_lengths_strings_are_those_of_the_test_window():
    """There the process must not end: it is at depth 0 twice as often as one that might."""
    dyck = dyck_of(2, 3)
    corpus = dyck.sample_corpus(Stream("corpus"), (85, 87), 100_000)  # of length 84 and 86
    for length, expected in ((82, 0.0886), (84, 0.1798), (86, 0.1766)):
        depths = np.cumsum(1 - 2 * (dyck.sample_generated(Stream("g"), length, 4000) % 2), axis=1)
        assert (depths == 0).mean() == pytest.approx(expected, abs=0.003)
        same = np.array([string for string in strings_of(corpus) if len(string) == length])
        if len(same):
            found = (np.cumsum(1 - 2 * (same % 2), axis=1) == 0).mean()
            assert found == pytest.approx(expected, abs=0.008)


@every_small
def test_the_distributions_multiply_to_the_process(case):
    length = 4
    dyck = language(case)
    for string, probability in process(*case, length).items():
        shares = dyck.next_distribution(np.array([string], dtype=np.int64).reshape(1, -1))[0]
        symbols = [*string, len(dyck.alphabet)]
        product_of = np.prod([shares[i, symbol] for i, symbol in enumerate(symbols)])
        assert product_of == pytest.approx(float(probability))
        assert shares.sum(-1) == pytest.approx(np.ones(len(string) + 1))


@pytest.mark.parametrize(
    ("case", "window"),
    [((1, 2), (1, 7)), ((2, None), (1, 5)), ((1, 3), (5, 9)), ((1, None), (4, 7)), ((2, 1), (2, 5)),
     ((1, 1), (5, 5))],
)  # fmt: skip
def test_a_corpus_has_the_law_of_the_process_in_its_window(case, window):
    shortest, longest = window
    law = process(*case, longest - 1, shortest - 1)
    assert {len(string) + 1 for string in law} <= set(range(shortest, longest + 1))
    corpus = language(case).sample_corpus(Stream("corpus", window), window, 40_000)
    found = Counter(strings_of(corpus))
    assert set(found) <= set(law)
    total = sum(law.values())
    expected = [float(share / total) * corpus.lengths.size for share in law.values()]
    if len(law) > 1:
        assert chisquare([found[string] for string in law], expected).pvalue > 1e-3


def strings_of(corpus):
    ends = np.cumsum(corpus.lengths)
    assert ends[-1] == len(corpus.symbols)
    return [tuple(part.tolist()) for part in np.split(corpus.symbols, ends[:-1])]


@pytest.mark.parametrize("depth", [3, 10, None])
@pytest.mark.parametrize("tokens", [1, 700, 100_000])
def test_a_corpus_has_as_many_tokens_as_asked_for(depth, tokens):
    dyck = dyck_of(8, depth)
    for window in windows(depth or 3):
        corpus = dyck.sample_corpus(Stream("budget"), window, tokens)
        with_end = corpus.lengths + 1
        assert with_end.sum() >= tokens > with_end[:-1].sum()  # the last string completes it
        assert window[0] <= with_end.min() <= with_end.max() <= window[1]
        for string in strings_of(corpus)[:50]:
            assert dyck.oracle(string) == 1


@pytest.mark.parametrize("window", [(2, 2), (0, 5), (9, 5)])
def test_a_window_that_nothing_fits_into_is_refused(window):
    with pytest.raises(RequestError, match="no bracket string has"):
        dyck_of(1).sample_corpus(Stream("window"), window, 10)
    with pytest.raises(RequestError, match="ask for at least 1"):
        dyck_of(1).sample_corpus(Stream("window"), (1, 9), 0)


@every_small
def test_lengths_have_the_shares_that_their_strings_have(case):
    longest = LONGEST[case[0]]
    law = process(*case, longest, 0)
    shares = language(case).length_distribution(longest)
    assert shares.shape == (longest + 1,)
    for length, share in enumerate(shares.tolist()):
        exact = sum((p for string, p in law.items() if len(string) == length), Fraction(0))
        assert share == float(exact)


@pytest.mark.parametrize("depth", [1, 2, 10, 1000, None])
def test_long_lengths_have_what_is_left(depth):
    shares = dyck_of(3, depth).length_distribution(2000)
    assert not shares[1::2].any()
    assert (shares[::2] > 0).all()
    # END is one more step down: a walk without a bound has not gone below 0 after n steps
    # with probability about √(2/πn), one with a bound as good as never.
    left = math.sqrt(2 / (math.pi * 2001)) if depth in (1000, None) else 0.0
    assert 1 - shares.sum() == pytest.approx(left, rel=0.01, abs=1e-6)


# What is drawn to classify.


@every_small
def test_classes_are_balanced_where_a_length_has_both(case):
    dyck = language(case)
    for length in range(9):
        for count in (0, 1, 10, 11):
            strings = dyck.sample(Stream("balance", length, count), length, count)
            assert (strings.shape, strings.dtype) == ((count, length), np.int64)
            ones = int(dyck.classify(strings).sum())
            if length == 0 or length % 2:
                assert ones == (count if length == 0 else 0)
            else:
                assert ones in {count // 2, (count + 1) // 2}


def test_three_quarters_of_the_non_members_are_balanced():
    dyck = dyck_of(2, 6)
    strings = dyck.sample(Stream("mix"), 40, 1600)
    outside = strings[dyck.classify(strings) == 0]
    assert len(outside) == 800
    off = np.abs(
        np.stack([(outside == 2 * t).sum(1) - (outside == 2 * t + 1).sum(1) for t in (0, 1)])
    )
    assert 0.75 <= (off == 0).all(axis=0).mean() < 0.82  # and a few that were edited
    assert (off.sum(axis=0) > 2).any()  # uniform strings
    legal = dyck.next_symbols(outside)[:, 20].any(axis=-1)
    assert 0.2 < legal.mean() < 0.7  # half a string tells about half of them
    assert len(np.unique(outside, axis=0)) > 780


def test_odd_lengths_have_strings_that_are_merely_unclosed():
    dyck = dyck_of(2, 3)
    strings = dyck.sample(Stream("odd"), 21, 200)
    assert not dyck.classify(strings).any()
    legal = dyck.next_symbols(strings)[:, -1].any(axis=-1)
    assert legal.sum() == 100
