"""Strings with long runs: exactly of their class, and beyond what counts runs up to a bound."""

from collections import Counter
from itertools import groupby

import numpy as np
import pytest
from formalbench.contracts.source import Stream
from formalbench_tasks.automata.paths import Paths
from formalbench_tasks.automata.regex import RegexDefinition
from formalbench_tasks.automata.regular_language import (
    Chain,
    EditedLanguage,
    LongRunsLanguage,
    move_border,
)
from scipy.stats import chisquare

OTHER = RegexDefinition(("a", "b", "c"), "(a|b|c)*b(a|c)*")


@pytest.fixture
def tomita(make):
    return make("tomita-3")


def no_odd_runs_in_turn(string, bound=None, long_is_odd=False):
    """Say whether no odd run of 1s is followed by an odd run of 0s; a run past the bound is taken
    for odd, or for even."""
    odd_ones = False
    for symbol, run in groupby(string):
        length = len(list(run))
        odd = long_is_odd if bound is not None and length > bound else length % 2 == 1
        if symbol == 1:
            odd_ones = odd
        elif odd_ones and odd:
            return False
    return True


@pytest.mark.parametrize("length", [1, 2, 3, 5, 17, 41, 160])
def test_strings_have_the_classes_asked_for_and_the_oracles(tomita, length):
    strings_BN = tomita.sample(Stream("runs", length), length, 60)
    assert strings_BN.shape == (60, length)
    classes_B = tomita.classify(strings_BN)
    expected = (0, 60) if length == 1 else (30, 30)
    assert (int((classes_B == 0).sum()), int((classes_B == 1).sum())) == expected
    assert [tomita.oracle(row) for row in strings_BN.tolist()] == classes_B.tolist()
    members_BN = tomita.sample_members(Stream("members"), length, 20)
    assert all(no_odd_runs_in_turn(row) for row in members_BN.tolist())


@pytest.mark.parametrize(("bound", "most"), [(3, 0.62), (7, 0.7), (15, 0.8), (31, 0.88)])
def test_counting_runs_up_to_a_bound_is_not_enough(tomita, bound, most):
    before = EditedLanguage(tomita.definition)
    found = []
    for language in (before, tomita):
        right = []
        for length in (101, 240, 500):
            strings_BN = language.sample(Stream("bounded", length), length, 200)
            classes_B = language.classify(strings_BN)
            says = [
                [no_odd_runs_in_turn(row, bound, odd) for row in strings_BN.tolist()]
                for odd in (False, True)
            ]
            assert [no_odd_runs_in_turn(row) for row in strings_BN.tolist()] == classes_B.tolist()
            right.append(max((np.array(one) == classes_B).mean() for one in says))
        found.append(np.mean(right))
    assert found[0] > 0.94
    assert found[1] < most


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("language", ["tomita-3", "other"])
def test_a_chain_draws_each_string_of_a_class_as_often_as_it_should(
    make, every_string, language, label
):
    """Brute force: the chance of every string, given its class and the symbol before it."""
    automaton = (make(language) if language == "tomita-3" else LongRunsLanguage(OTHER)).automaton
    size, length, mean = automaton.num_symbols, 6 if automaton.num_symbols == 2 else 4, 4
    every_BN = every_string(size, length)
    every_BN = every_BN[automaton.classify(every_BN) == label]
    shares = np.zeros(len(every_BN))
    for before in range(size):
        padded_BN = np.concatenate((np.full((len(every_BN), 1), before), every_BN), axis=1)
        same_B = (padded_BN[:, 1:] == padded_BN[:, :-1]).sum(axis=1)
        weight_B = (1 - 1 / mean) ** same_B * (1 / mean / (size - 1)) ** (length - same_B)
        shares += weight_B / weight_B.sum() / size
    count = 20_000
    drawn_BN = Chain(automaton, mean).sample(
        Stream("chain", language, label), length, np.full(count, label, dtype=np.int64)
    )
    found = Counter(map(tuple, drawn_BN.tolist()))
    seen = np.array([found[tuple(row)] for row in every_BN.tolist()])
    assert seen.sum() == count
    large = count * shares >= 5
    expected = np.append(shares[large], shares[~large].sum()) * count
    observed = np.append(seen[large], seen[~large].sum())
    kept = expected > 0
    assert chisquare(observed[kept], expected[kept]).pvalue > 1e-3


def test_weights_count_a_symbol_as_if_it_were_several():
    rng = np.random.default_rng(0)
    table_QS, classes_Q = rng.integers(0, 4, (4, 2)), np.array([0, 1, 1, 0])
    weighted = Paths(table_QS, classes_Q, 0, weights_S=np.array([3, 2]))
    repeated = Paths(np.repeat(table_QS, [3, 2], axis=1), classes_Q, 0)
    for length in (1, 9, 300, 2000):
        assert weighted.distribution(length, (0, 1)) == pytest.approx(
            repeated.distribution(length, (0, 1)), rel=1e-9
        )
    found, slow = weighted.thresholds(1, 40)[:, 0], repeated.thresholds(1, 40)[:, 2]
    assert found == pytest.approx(slow, rel=1e-9)


def test_a_border_moves_by_one_symbol():
    strings_BN = np.array([[0, 0, 0, 1, 1, 1], [1, 1, 1, 1, 1, 1]] * 50)
    moved_BN = move_border(Stream("borders"), strings_BN)
    assert {tuple(row) for row in moved_BN[::2].tolist()} == {
        (0, 0, 1, 1, 1, 1),
        (0, 0, 0, 0, 1, 1),
    }
    assert np.array_equal(moved_BN[1::2], strings_BN[1::2])  # of a single run none
    assert strings_BN[0].tolist() == [0, 0, 0, 1, 1, 1]


def test_any_alphabet_and_lengths_of_one_class_only():
    language = LongRunsLanguage(OTHER)
    strings_BN = language.sample(Stream("three"), 40, 50)
    assert set(strings_BN.ravel().tolist()) == {0, 1, 2}
    assert sorted(np.bincount(language.classify(strings_BN)).tolist()) == [25, 25]
    one = LongRunsLanguage(RegexDefinition(("a",), "(aa)*"))
    assert one.sample(Stream("one"), 6, 3).tolist() == [[0] * 6] * 3
    with pytest.raises(ValueError, match="no string of length 5 has class 1"):
        one.sample_members(Stream("none"), 5, 1)
    with pytest.raises(ValueError, match="no string of length 5 has class 1"):
        one.sample_members(Stream("none"), 5, 0)
