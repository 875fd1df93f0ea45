"""Every string of a length, without building all of them at once.

Legend: B strings, N symbols each, S symbols in the alphabet.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from formalbench.contracts.language import HasMembers
from formalbench.contracts.source import Symbols

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

    Args:
        language: knows what may follow a prefix.
        num_symbols: S.
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
