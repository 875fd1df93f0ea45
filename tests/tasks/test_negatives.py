"""Hard negatives: edits of members that lead outside."""

import numpy as np
import pytest
from formalbench.contracts.source import Stream
from formalbench_tasks.automata.regex import RegexDefinition
from formalbench_tasks.automata.regular_language import CustomLanguage
from formalbench_tasks.near_misses import edit_once, edit_until_outside, geometric
from scipy.stats import chisquare


def test_the_number_of_edits_is_geometric():
    counts = np.bincount(geometric(Stream("edits"), 40_000), minlength=8)
    assert counts[0] == 0
    found = [*counts[1:7], counts[7:].sum()]
    assert chisquare(found, [40_000 / 2**k for k in range(1, 7)] + [40_000 / 64]).pvalue > 1e-3


def test_one_edit_is_what_a_list_does():
    kinds = set()
    for length, symbols in ((1, 3), (2, 2), (5, 4), (9, 1)):
        strings = Stream("strings", length).integers(symbols, (200, length))
        edited, chosen = strings.copy(), np.arange(0, 200, 2)
        edit_once(Stream("edits", length), edited, chosen, symbols)
        drawn = Stream("edits", length)
        kind, here = drawn.integers(3, 100), drawn.integers(length, 100)
        away = drawn.integers(length - 1, 100) + 1 if length > 1 else 0 * here
        shift = drawn.integers(symbols - 1, 100) + 1 if symbols > 1 else 0 * here
        new, there = drawn.integers(symbols, 100), (here + away) % length
        for index, row in enumerate(chosen):
            expected, place = strings[row].tolist(), here[index]
            if kind[index] == 0:
                expected[place] = (expected[place] + shift[index]) % symbols
            elif kind[index] == 1:
                other = there[index]
                expected[place], expected[other] = expected[other], expected[place]
            else:
                del expected[place]
                expected.insert(there[index], new[index])
            kinds.add((int(kind[index]), bool(place < there[index])))
            assert edited[row].tolist() == expected
        assert np.array_equal(edited[1::2], strings[1::2])
    assert len(kinds) == 6


def test_one_edit_substitutes_transposes_or_moves():
    strings = np.tile(np.arange(6), (3000, 1))  # distinct symbols show what was done
    edited = strings.copy()
    edit_once(Stream("kinds"), edited, np.arange(3000), 50)
    changed = (edited != strings).sum(axis=1)
    permuted = (np.sort(edited, axis=1) == np.arange(6)).all(axis=1)
    swapped = (changed == 2) & permuted
    replaced = (changed == 1) & ~permuted
    assert 900 < swapped.sum() < 1150
    # moves to the place they came from look like substitutions, but are never made here
    assert 900 < replaced.sum() < 1150
    assert (changed > 0).all()


def test_corrupted_members_are_outside_and_near(make):
    language = make("d4")
    members = language.sample_members(Stream("members"), 60, 400)
    edited, stuck = edit_until_outside(
        Stream("edits"), members, lambda s: language.classify(s) == 1, 2
    )
    assert not stuck.any()
    assert not any(language.oracle(string) for string in edited.tolist())
    # an edit changes the counts by two at most, so the balance is nearly kept
    assert np.abs((edited == 0).sum(axis=1) - 30).mean() < 2


def test_half_of_the_negatives_are_hard(make):
    """Uniform non-members of D_4 hardly ever have as many a as b at length 100."""
    language = make("d4")
    strings = language.sample(Stream("half"), 100, 1000)
    outside = strings[language.classify(strings) == 0]
    off_balance = np.abs((outside == 0).sum(axis=1) - 50)
    assert 0.45 < (off_balance <= 1).mean() < 0.65
    assert len(outside) == 500


@pytest.mark.parametrize("name", ["parity", "first", "even-pairs"])
def test_bit_functions_have_uniform_negatives(make, every_string, name):
    language = make(name)
    strings = language.sample(Stream("plain", name), 6, 12_800)
    index = strings @ (2 ** np.arange(6))
    assert chisquare(np.bincount(index, minlength=64)).pvalue > 1e-3


def test_members_that_no_edit_expels_are_replaced():
    """Only 0…0 is outside, which few edits reach from a long member."""
    language = CustomLanguage(RegexDefinition(("0", "1"), "(0|1)*1(0|1)*"))
    strings = language.sample(Stream("rare"), 80, 60)
    labels = language.classify(strings)
    assert labels.sum() == 30
    assert not strings[labels == 0].any()
