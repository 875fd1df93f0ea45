"""Exhaustive and adversarial strings.

* A member, and the strings that differ from it in one symbol: every place and symbol up to
  length 1000, sampled ones beyond.
* For each symbol, the string of that symbol alone, and the strings in which one symbol differs
  from all others.
* The language's own near misses.

A source that is not a language has no members; any of its strings is used instead.

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
"""Strings (B, N) in the smallest sufficient integer type."""

BLOCK = 1 << 14
"""Strings per block."""


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
    """Return the strings of which every prefix is a prefix of some member; (…, N)."""
    if not len(strings_BN):
        return strings_BN
    return strings_BN[language.next_symbols(strings_BN).any(-1).all(-1)]


class ViableStrings:
    """Prefixes of members, by length, generated when first needed.

    Only these strings have legal next symbols. Each length is generated from the one before, so the
    cost depends on the number of viable strings and not on the alphabet. They are counted without
    being generated: with 128 types of brackets, length 4 has 2.7·10⁸ of them.
    """

    def __init__(self, language: HasMembers, num_symbols: int) -> None:
        self._language = language
        small = num_symbols <= np.iinfo(np.uint8).max
        self._type: npt.DTypeLike = np.uint8 if small else np.int32
        empty = viable_only(language, np.zeros((1, 0), dtype=np.int64))
        self._cache = [empty.astype(self._type)]

    def count(self, length: int) -> int:
        """Return the number of strings of this length; only shorter ones are generated."""
        if length < len(self._cache):
            return len(self._cache[length])
        return sum(int(self._legal(block).sum()) for block in self.strings(length - 1))

    def strings(self, length: int) -> Iterator[Symbols]:
        """Yield the strings of this length in blocks."""
        strings = self._of(length)
        for start in range(0, len(strings), BLOCK):
            yield strings[start : start + BLOCK].astype(np.int64)

    def _of(self, length: int) -> Compact:
        while len(self._cache) <= length:
            last = len(self._cache) - 1
            longer = [self._extend(block) for block in self.strings(last)]
            empty = np.zeros((0, last + 1), dtype=self._type)
            self._cache.append(np.concatenate([empty, *longer]))
        return self._cache[length]

    def _extend(self, strings_BN: Symbols) -> Compact:
        string, symbol = np.nonzero(self._legal(strings_BN))
        return np.column_stack([strings_BN[string], symbol]).astype(self._type)

    def _legal(self, strings_BN: Symbols) -> npt.NDArray[np.bool_]:
        """Return a mask of the symbols that may follow each string, (B, S)."""
        return self._language.next_symbols(strings_BN)[:, -1, :-1]


COMPLETE_TO = 1000
"""The largest length at which a member is changed at every place."""

MAX_LONELY = 4000
"""Maximum strings per length with one differing symbol; for two symbols, all up to length 1000."""

MAX_SYMBOLS = 1 << 25
"""Maximum symbols in the changed members of all lengths; above it, they are sampled."""

BLOCK_SYMBOLS = 1 << 22
"""Symbols per block."""


@dataclass(frozen=True)
class AdversarialLimits:
    """Maximum number of adversarial strings of each kind at a length.

    Attributes:
        changed: members with one changed symbol.
        lonely: strings in which one symbol differs from all others.
        near: near misses.
    """

    changed: int
    lonely: int
    near: int

    def total(self, num_symbols: int, length: int) -> int:
        """Return the maximum number of strings at a length."""
        others = num_symbols - 1
        changed = min(self.changed, length * others)
        lonely = min(self.lonely, num_symbols * length * others)
        return 1 + num_symbols + changed + lonely + self.near


def amounts(num_symbols: int, lengths: Sequence[int], count: int) -> dict[int, AdversarialLimits]:
    """Return the limits at each length.

    Args:
        num_symbols: S.
        lengths: all lengths to test.
        count: random strings per length, which sets the number of sampled strings.
    """
    complete = sum(n * n for n in lengths if n <= COMPLETE_TO) * (num_symbols - 1)
    crowded = complete > MAX_SYMBOLS
    limits = {}
    for length in lengths:
        if length > COMPLETE_TO:
            limits[length] = AdversarialLimits(count, count, count)
        elif crowded:
            # With many lengths, a change at every place of each would take hours.
            share = max(16, MAX_SYMBOLS // 4 // len(lengths) // max(length, 1))
            limits[length] = AdversarialLimits(share, share, min(count, share))
        else:
            limits[length] = AdversarialLimits(length * (num_symbols - 1), MAX_LONELY, count)
    return limits


@dataclass(frozen=True)
class Adversarial:
    """The adversarial strings of one length: base strings, and edits of one symbol.

    Attributes:
        base: (R, N), a member (if there is one), then one string per symbol of that symbol alone.
        edit: (E,), the index of each edit's base string.
        place: (E,), the index of the changed symbol.
        symbol: (E,), the new symbol.
        near: (B, N), near misses.
    """

    base: Symbols
    edit: Labels
    place: Labels
    symbol: Labels
    near: Symbols

    def strings(self) -> Iterator[Symbols]:
        """Yield all strings in blocks."""
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
    """Return the adversarial strings of one length; `suitable` selects those of the task."""
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
    """Return the strings that the task is defined on; (…, N)."""
    if not len(strings_BN):
        return strings_BN
    if task.objective.only_viable:
        assert isinstance(task.source, HasMembers)
        strings_BN = viable_only(task.source, strings_BN)
    return strings_BN[task.source.in_domain(strings_BN)]


def _edits(
    stream: Stream, base_RN: Symbols, rows: range, num_symbols: int, limit: int
) -> tuple[Labels, Labels, Labels]:
    """Return all one-symbol edits of some base strings; a sample of `limit` if there are more.

    Returns:
        Base string, place and new symbol of each edit, (E,) each.
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
