"""Exhaustive and adversarial strings.

* A member, and what is left of it when one symbol is changed: every place and symbol up to
  length 1000, drawn ones beyond.
* For each symbol, the string of that symbol alone, and those with one symbol that differs
  from all others.
* The language's own near misses.

A source that is no language has no members: any string of its own stands for one.

Legend: B strings, N symbols each, S symbols in the alphabet, R base strings, E edits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from formalbench.contracts.source import (
    HasMembers,
    HasNearMisses,
    Labels,
    Language,
    Stream,
    Symbols,
)
from formalbench.contracts.task import Task

Compact = npt.NDArray[Any]
"""Strings (B, N) in the smallest integers that hold their symbols."""

BLOCK = 1 << 14
"""Strings built at once."""


def all_strings(num_symbols: int, length: int) -> Iterator[Symbols]:
    """Yield every string of one length in blocks, counting in base S.

    Example:
        >>> [block.tolist() for block in all_strings(2, 2)]
        [[[0, 0], [0, 1], [1, 0], [1, 1]]]
    """
    total = num_symbols**length
    place_N = num_symbols ** np.arange(length - 1, -1, -1, dtype=np.int64)
    for start in range(0, total, BLOCK):
        number_B = np.arange(start, min(start + BLOCK, total), dtype=np.int64)
        yield number_B[:, None] // place_N % num_symbols


def viable_only(language: HasMembers, strings_BN: Symbols) -> Symbols:
    """Return those strings whose every prefix some member begins with; (…, N)."""
    if not len(strings_BN):
        return strings_BN
    return strings_BN[language.next_symbols(strings_BN).any(-1).all(-1)]


class ViableStrings:
    """The strings of each length that some member begins with, made when first asked for.

    What a language allows next is a question about these alone. Each length is made from the
    one before, so an alphabet of many symbols costs no more than what is viable. They are counted
    without being made: with 128 types of brackets, length 4 has 2.7·10⁸ of them.
    """

    def __init__(self, language: HasMembers, num_symbols: int) -> None:
        self._language = language
        small = num_symbols <= np.iinfo(np.uint8).max
        self._type: npt.DTypeLike = np.uint8 if small else np.int32
        empty = viable_only(language, np.zeros((1, 0), dtype=np.int64))
        self._made = [empty.astype(self._type)]

    def count(self, length: int) -> int:
        """Return how many there are of this length, and make only shorter ones."""
        if length < len(self._made):
            return len(self._made[length])
        return sum(int(self._legal(block).sum()) for block in self.strings(length - 1))

    def strings(self, length: int) -> Iterator[Symbols]:
        """Yield those of this length in blocks."""
        made = self._of(length)
        for start in range(0, len(made), BLOCK):
            yield made[start : start + BLOCK].astype(np.int64)

    def _of(self, length: int) -> Compact:
        while len(self._made) <= length:
            before = len(self._made) - 1
            longer = [self._extended(block) for block in self.strings(before)]
            empty = np.zeros((0, before + 1), dtype=self._type)
            self._made.append(np.concatenate([empty, *longer]))
        return self._made[length]

    def _extended(self, strings_BN: Symbols) -> Compact:
        string, symbol = np.nonzero(self._legal(strings_BN))
        return np.column_stack([strings_BN[string], symbol]).astype(self._type)

    def _legal(self, strings_BN: Symbols) -> npt.NDArray[np.bool_]:
        """Say which symbols may follow each string, (B, S)."""
        return self._language.next_symbols(strings_BN)[:, -1, :-1]


COMPLETE_TO = 1000
"""The greatest length at which a member is changed at every place."""

MAX_LONELY = 4000
"""Strings with one lonely symbol, per length: with two symbols, all of them up to length 1000."""

MAX_SYMBOLS = 1 << 25
"""Symbols in the changed members of all lengths together, before they are drawn, too."""

BLOCK_SYMBOLS = 1 << 22
"""Symbols built at once."""


@dataclass(frozen=True)
class AdversarialLimits:
    """How many strings of each kind to make at a length, at most.

    Attributes:
        changed: members with one symbol changed.
        lonely: strings with one symbol that differs from all others.
        near: near misses.
    """

    changed: int
    lonely: int
    near: int

    def total(self, num_symbols: int, length: int) -> int:
        """Return how many strings that is at a length, at most."""
        others = num_symbols - 1
        changed = min(self.changed, length * others)
        lonely = min(self.lonely, num_symbols * length * others)
        return 1 + num_symbols + changed + lonely + self.near


def amounts(num_symbols: int, lengths: Sequence[int], count: int) -> dict[int, AdversarialLimits]:
    """Return how much to do at each length.

    Args:
        num_symbols: S.
        lengths: all lengths to test.
        count: random strings per length, the measure for what is drawn.
    """
    complete = sum(n * n for n in lengths if n <= COMPLETE_TO) * (num_symbols - 1)
    crowded = complete > MAX_SYMBOLS
    found = {}
    for length in lengths:
        if length > COMPLETE_TO:
            found[length] = AdversarialLimits(count, count, count)
        elif crowded:
            # So many lengths that a change at every place of each would take hours.
            share = max(16, MAX_SYMBOLS // 4 // len(lengths) // max(length, 1))
            found[length] = AdversarialLimits(share, share, min(count, share))
        else:
            found[length] = AdversarialLimits(length * (num_symbols - 1), MAX_LONELY, count)
    return found


@dataclass(frozen=True)
class Adversarial:
    """The adversarial strings of one length: base strings, and edits of one symbol.

    Attributes:
        base: (R, N), a member (if there is one), then a string of each symbol alone.
        edit: (E,), which base string each edit starts from.
        place: (E,), where it changes a symbol.
        symbol: (E,), what it puts there.
        near: (B, N), near misses.
    """

    base: Symbols
    edit: Labels
    place: Labels
    symbol: Labels
    near: Symbols

    def strings(self) -> Iterator[Symbols]:
        """Yield all of them in blocks."""
        yield self.base
        block = max(1, BLOCK_SYMBOLS // max(self.base.shape[1], 1))
        for start in range(0, len(self.edit), block):
            rows = slice(start, start + block)
            strings_BN = self.base[self.edit[rows]]
            strings_BN[np.arange(len(strings_BN)), self.place[rows]] = self.symbol[rows]
            yield strings_BN
        yield self.near


def make_adversarial(
    task: Task, stream: Stream, length: int, amount: AdversarialLimits
) -> Adversarial:
    """Return the adversarial strings of one length; `suitable` takes those that are a task's."""
    num_symbols = len(task.source.alphabet)
    alone_SN = np.repeat(np.arange(num_symbols, dtype=np.int64)[:, None], length, axis=1)
    member_RN = a_member(task, stream.child("member"), length)
    base_RN = np.concatenate([member_RN, alone_SN])
    first = len(member_RN)
    changed = _edits(stream.child("changed"), base_RN, range(first), num_symbols, amount.changed)
    rest = range(first, len(base_RN))
    lonely = _edits(stream.child("lonely"), base_RN, rest, num_symbols, amount.lonely)
    edit_E, place_E, symbol_E = (np.concatenate(both) for both in zip(changed, lonely, strict=True))
    near_BN = np.zeros((0, length), dtype=np.int64)
    if isinstance(task.source, HasNearMisses):
        near_BN = task.source.near_misses(stream.child("near"), length, amount.near)
    return Adversarial(base_RN, edit_E, place_E, symbol_E, near_BN)


def a_member(task: Task, stream: Stream, length: int) -> Symbols:
    """Return a member (1, N), or a string of class 1 or more; (0, N) if there is none."""
    source = task.source
    if isinstance(source, HasMembers):
        if not source.has_members(length):
            return np.zeros((0, length), dtype=np.int64)
        return source.sample_members(stream, length, 1)
    strings = source.sample(stream, length, 16)
    if isinstance(source, Language):
        strings = strings[source.classify(strings) >= 1]
    return strings[:1]


def suitable(task: Task, strings_BN: Symbols) -> Symbols:
    """Return the strings that the task can be asked about; (…, N)."""
    if not len(strings_BN):
        return strings_BN
    if task.objective.only_viable:
        assert isinstance(task.source, HasMembers)
        strings_BN = viable_only(task.source, strings_BN)
    return strings_BN[task.source.in_domain(strings_BN)]


def _edits(
    stream: Stream, base_RN: Symbols, rows: range, num_symbols: int, limit: int
) -> tuple[Labels, Labels, Labels]:
    """Return all edits of one symbol of some base strings; if there are more, `limit` drawn ones.

    Returns:
        base string, place and new symbol of each, (E,).
    """
    shape = (len(rows), base_RN.shape[1], num_symbols - 1)
    if math.prod(shape) > limit:
        row_E, place_E, step_E = (stream.integers(size, limit) for size in shape)
    else:
        row_E, place_E, step_E = (index.ravel() for index in np.indices(shape))
    row_E = row_E + rows.start
    # A step of 1 … S-1 around the alphabet reaches every other symbol.
    symbol_E = (base_RN[row_E, place_E] + 1 + step_E) % num_symbols
    return row_E, place_E, symbol_E
