"""Languages beyond the regular ones: what is outside, and hard to tell from members."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from formalbench.contracts.source import Stream
from formalbench_tasks.configs import DyckConfig
from formalbench_tasks.dyck.language import Dyck
from formalbench_tasks.languages.counters import cut_and_exchange
from scipy.stats import chisquare


def pairs(string):
    return Counter(pairwise(string))


def counts_of(strings_BN, symbols):
    return np.stack([(strings_BN == symbol).sum(axis=1) for symbol in range(symbols)], axis=1)


def in_order(strings_BN):
    return (np.diff(strings_BN, axis=1) >= 0).all(axis=1)


def even_blocks(letters):
    """Say of blocks whether they have the numbers and ends of a member."""

    def are_even(language, outside_BN):
        length = outside_BN.shape[1]
        even_B = (counts_of(outside_BN, letters) == length // letters).all(axis=1)
        return even_B & (outside_BN[:, 0] == 0) & (outside_BN[:, -1] == letters - 1)

    return are_even


def uneven_in_order(letters, off):
    """Say of blocks whether they are in order, and their numbers off by so many at most."""

    def are_uneven(language, outside_BN):
        off_B = np.abs(counts_of(outside_BN, letters) - outside_BN.shape[1] // letters).max(axis=1)
        return in_order(outside_BN) & (off_B > 0) & (off_B <= off)

    return are_uneven


def second_half(same):
    """Say of two halves whether the second has the right symbols, or the right neighbours, too."""

    def are_alike(language, outside_BN):
        halves = [(language._obvious(row[:30]), row[-30:]) for row in outside_BN.tolist()]
        return np.array([same(right) == same(half) for right, half in halves])

    return are_alike


def balanced_brackets(language, outside_BN):
    counts_BS = counts_of(outside_BN, len(language.alphabet))
    even_B = (counts_BS[:, 0::2] == counts_BS[:, 1::2]).all(axis=1)
    return even_B & (outside_BN[:, 0] % 2 == 0) & (outside_BN[:, -1] % 2 == 1)


def framed_behind_the_reset(language, outside_BN):
    texts = ["".join("()#"[symbol] for symbol in row).rpartition("#")[2] for row in outside_BN]
    return np.array(
        [
            text.count("(") == text.count(")") > 1 and (text[0], text[-1]) == ("(", ")")
            for text in texts
        ]
    )


def enough_operands(language, outside_BN):
    operands_B = np.array([0, 0, 1, 2, 3])[outside_BN].sum(axis=1)
    return (operands_B == outside_BN.shape[1] - 1) & (outside_BN[:, -1] < 2)


def lacks_a_zero(language, outside_BN):
    zeros_BN = np.where(outside_BN == 2, 0, outside_BN)
    said_twice_B = (zeros_BN[:, :30] == zeros_BN[:, 30:]).all(axis=1)
    return said_twice_B & ((outside_BN == 2).sum(axis=1) == 1)


def well_formed(language, outside_BN):
    return np.array([language._read(row) is not None for row in outside_BN.tolist()])


HALVES = [(f"{kind}-{what}", 60 + (kind == "marked")) for kind in ("marked", "unmarked")
          for what in ("reversal", "copy")]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "length", "share", "are_hard"),
    [
        *(("anbn", length, 0.45, even_blocks(2)) for length in (40, 150)),
        *(("anbncndn", length, 0.45, even_blocks(4)) for length in (40, 148)),
        *(("anbn", length, 0.2, uneven_in_order(2, 99)) for length in (40, 150)),
        *(("anbncndn", length, 0.08, uneven_in_order(4, 2)) for length in (40, 148)),
        *(("majority", length, 0.7, lambda _, s: s.sum(axis=1) == s.shape[1] // 2)
          for length in (41, 100)),
        *((*half, 0.4, second_half(lambda s: (pairs(s), sorted(s)))) for half in HALVES),
        *((*half, 0.7, second_half(sorted)) for half in HALVES),
        *((name, 60, 0.7, balanced_brackets) for name in ("shuffle-dyck-2", "shuffle-dyck-6")),
        ("reset-dyck-1", 61, 0.65, framed_behind_the_reset),
        ("boolean-3", 60, 0.7, enough_operands),
        ("bucket-sort-check", 61, 0.45, lambda _, s: in_order(s[:, 31:])),
        ("binary-addition-check", 61, 0.6, well_formed),
        ("binary-multiplication-check", 61, 0.6, well_formed),
        ("missing-duplicate-check", 60, 0.45, lacks_a_zero),
        ("hardest-cfl", 100, 0.7, lambda _, s: (s == 5).any(axis=1) & (s[:, -1] == 5)),
    ],
)  # fmt: skip
def test_many_strings_outside_are_hard_to_tell_from_members(make, name, length, share, are_hard):
    language = make(name)
    strings_BN = language.sample(Stream("outside", length), length, 800)
    outside_BN = strings_BN[language.classify(strings_BN) == 0]
    assert are_hard(language, outside_BN).mean() > share


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


@pytest.mark.parametrize(
    "name",
    [
        *(f"shuffle-dyck-{k}" for k in (1, 2, 4, 6)),
        "boolean-2",
        "boolean-5",
        "anbncn",
        "majority",
        "unmarked-copy",
        "reset-dyck-1",
    ],
)
def test_near_misses_are_outside(make, name):
    language = make(name)
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
