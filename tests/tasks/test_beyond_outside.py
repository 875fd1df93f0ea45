"""Languages beyond the regular ones: what is outside, and hard to tell from members."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from beyond_families import MEMBERS_OF_FAMILIES
from formalbench.contracts.source import Stream
from formalbench_tasks.configs import DyckConfig
from formalbench_tasks.dyck.language import Dyck
from formalbench_tasks.languages.counters import BooleanExpressions, cut_and_exchange
from scipy.stats import chisquare


def drawn_outside(language, length, count=800):
    strings_BN = language.sample(Stream("outside", length), length, count)
    return strings_BN[language.classify(strings_BN) == 0]


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


def test_brackets_behind_the_reset_are_in_a_wrong_order_only(make):
    outside = drawn_outside(make("reset-dyck-1"), 61).tolist()
    texts = ["".join("()#"[symbol] for symbol in string) for string in outside]
    behind = [text.rpartition("#")[2] for text in texts]
    even = [text for text in behind if text.count("(") == text.count(")") > 1]
    framed = [text for text in even if text[0] == "(" and text[-1] == ")"]
    assert len(framed) > 0.65 * len(texts)
    assert sum(len(text) > 20 for text in framed) > 0.5 * len(framed)
    assert sum("#" in text.rpartition("#")[0] for text in texts) > 0.8 * len(texts)


@pytest.mark.parametrize("part", range(3))
def test_parts_change_places_behind_the_reset(make, part):
    language = make("reset-dyck-1")
    members_BN = language.sample_members(Stream("parts", part), 41, 300)
    moved_BN = cut_and_exchange(Stream("cut", part), members_BN)
    changed = (members_BN != moved_BN).any(axis=1)
    assert changed.sum() > 150
    assert not language.classify(moved_BN[changed]).any()
    for member, moved in zip(members_BN.tolist(), moved_BN.tolist(), strict=True):
        assert pairs(member) == pairs(moved)
        assert (member[0], member[-1]) == (moved[0], moved[-1])
        reset = 40 - member[::-1].index(2)
        assert member[: reset + 1] == moved[: reset + 1]


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


@pytest.mark.parametrize(
    "name", [*MEMBERS_OF_FAMILIES, "anbncn", "majority", "unmarked-copy", "reset-dyck-1"]
)
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
