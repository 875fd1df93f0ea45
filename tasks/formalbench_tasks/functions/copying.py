"""Copying and sorting, with many symbols or few.

Legend: B strings, N symbols each, S symbols in the alphabet.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from formalbench.contracts.source import Labels, Symbols, Transduction
from formalbench.contracts.stream import Stream

from formalbench_tasks.functions.chosen import chosen
from formalbench_tasks.functions.rearrangements import Rearrangement
from formalbench_tasks.limits import check_length

DISTINCT = 150
"""The alphabet of strings in which no symbol occurs twice: as many as the longest has."""

VOCABULARY = 126


class DistinctSymbols(Rearrangement):
    """A function of which only strings are drawn in which no symbol occurs twice."""

    def __init__(self) -> None:
        super().__init__(DISTINCT)

    def has_length(self, length: int) -> bool:
        """Say whether there are enough symbols."""
        return 0 <= length <= len(self.alphabet)

    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw strings of different symbols in any order, (count, length)."""
        keys_BS = stream.raw(count * len(self.alphabet)).reshape(count, len(self.alphabet))
        return np.argsort(keys_BS, axis=1, kind="stable")[:, :length]


class Copy(DistinctSymbols):
    """The string itself, of different symbols.

    Reference: Huang et al. (2025), "unique copy".
    """

    def oracle(self, string: Sequence[int]) -> list[int]:
        """Say it again."""
        return [string[place] for place in range(len(string))]

    def _rearranged(self, strings_BN: Symbols) -> Symbols:
        return strings_BN.copy()


class RepeatCopy(Rearrangement):
    """The string itself, of two symbols, so that each occurs again and again.

    Reference: Huang et al. (2025), "repeat copy".
    """

    def oracle(self, string: Sequence[int]) -> list[int]:
        """Say it again."""
        return [string[place] for place in range(len(string))]

    def _rearranged(self, strings_BN: Symbols) -> Symbols:
        return strings_BN.copy()


class Sort(DistinctSymbols):
    """The symbols in order, all different.

    Reference: Huang et al. (2025), "sort".
    """

    def oracle(self, string: Sequence[int]) -> list[int]:
        """Take out the least, again and again."""
        rest, answer = list(string), []
        while rest:
            answer.append(min(rest))
            rest.remove(answer[-1])
        return answer

    def _rearranged(self, strings_BN: Symbols) -> Symbols:
        return np.sort(strings_BN, axis=1)


class FirstOccurrences(Transduction):
    """Every symbol of the string once, in the order in which they first occur, then END.

    ``3 1 3 3 2`` becomes ``3 1 2``. The reference lets a network see its answer so far; here
    there are blanks instead.

    Reference: Walker et al. (2025), "set", with as many symbols.
    """

    alphabet = outputs = tuple(map(str, range(VOCABULARY)))

    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw uniform strings, (count, length)."""
        check_length(length)
        return stream.integers(len(self.alphabet), (count, length))

    def transduce(self, strings_BN: Symbols) -> tuple[Symbols, Labels]:
        """Return the first occurrences, (B, M), and how many there are."""
        count, length = strings_BN.shape
        order_BN = np.argsort(strings_BN, axis=1, kind="stable")
        sorted_BN = np.take_along_axis(strings_BN, order_BN, axis=1)
        new_BN = np.ones((count, length), dtype=np.bool_)
        new_BN[:, 1:] = sorted_BN[:, 1:] != sorted_BN[:, :-1]
        first_BN = np.empty_like(new_BN)
        np.put_along_axis(first_BN, order_BN, new_BN, axis=1)
        return chosen(strings_BN, first_BN)

    def answer_length(self, length: int) -> int:
        """Return one more than there can be different symbols, for END."""
        return min(length, len(self.alphabet)) + 1

    def oracle(self, string: Sequence[int]) -> list[int]:
        """Keep a list, and add what is not in it."""
        seen: list[int] = []
        for symbol in string:
            if symbol not in seen:
                seen.append(symbol)
        return seen
