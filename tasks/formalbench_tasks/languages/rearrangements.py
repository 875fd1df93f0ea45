"""Reverse, duplicate, copy, sort, first occurrences: functions from strings to strings.

Their domain is all strings, and their answers' length is known from the string's, so no answer
needs END.

Legend: B strings, N symbols or symbols each, M symbols of an answer, S symbols in the alphabet.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
from formalbench.contracts.source import Labels, Mask, Stream, Symbols, Transduction
from formalbench.contracts.specs import Splits
from formalbench.contracts.theory import Theory

from formalbench_tasks.index import task
from formalbench_tasks.limits import check_length
from formalbench_tasks.near_misses import random_orders


def chosen(symbols_BN: Symbols, which_BN: Mask) -> tuple[Symbols, Labels]:
    """Return the symbols chosen of each string, in their order.

    Returns:
        (B, M) with 0 behind them, and (B,) how many they are.
    """
    sizes_B = which_BN.sum(axis=1)
    kept_BM = np.zeros((len(symbols_BN), int(sizes_B.max(initial=0))), dtype=np.int64)
    # Both masks are read row by row, so the n-th symbol chosen goes to the n-th free place.
    kept_BM[np.arange(kept_BM.shape[1]) < sizes_B[:, None]] = symbols_BN[which_BN]
    return kept_BM, sizes_B


class OfUniformStrings(Transduction):
    """A function of uniform strings to strings over the same alphabet.

    Args:
        symbols: the size of the alphabet, whose symbols are 0, 1, …
    """

    def __init__(self, symbols: int = 2) -> None:
        self.alphabet = self.outputs = tuple(map(str, range(symbols)))

    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw uniform strings, (count, length)."""
        check_length(length)
        return stream.integers(len(self.alphabet), (count, length))


class Rearrangement(OfUniformStrings):
    """Such a function whose answers to all strings of a length have one length."""

    def transduce(self, strings_BN: Symbols) -> tuple[Symbols, Labels]:
        """Return the answers, (B, M), all of one length."""
        answers_BM = np.ascontiguousarray(self._rearranged(strings_BN))
        return answers_BM, np.full(len(strings_BN), answers_BM.shape[1], dtype=np.int64)

    def answer_length(self, length: int) -> int:
        """Return how long every answer is; as long as the string, unless said otherwise."""
        return length

    @abstractmethod
    def _rearranged(self, strings_BN: Symbols) -> Symbols:
        """Return the answers, (B, M)."""


@task(
    "reverse-string",
    "the input string, reversed",
    objectives=("transduce",),
    reference="Delétang et al. (2023), appendix A",
    theory=Theory.least("context-free", "Delétang et al. (2023), Table 1"),
    keywords=("reversal",),
)
class ReverseString(Rearrangement):
    """The string from its end: ``011`` becomes ``110``.

    Deterministic context-free in its reference's hierarchy.

    Reference: Delétang et al. (2023), appendix A, "reverse string".
    """

    def oracle(self, string: Sequence[int]) -> list[int]:
        """Take symbols from the end."""
        rest, answer = list(string), []
        while rest:
            answer.append(rest.pop())
        return answer

    def _rearranged(self, strings_BN: Symbols) -> Symbols:
        return strings_BN[:, ::-1]


@task(
    "duplicate-string",
    "the input string, twice",
    objectives=("transduce",),
    reference="Delétang et al. (2023), appendix A",
    theory=Theory.least("context-sensitive", "Delétang et al. (2023), Table 1"),
    keywords=("copy", "copying"),
)
class DuplicateString(Rearrangement):
    """The string twice: ``01`` becomes ``0101``.

    Context-sensitive in its reference's hierarchy.

    Reference: Delétang et al. (2023), appendix A, "duplicate string".
    """

    def answer_length(self, length: int) -> int:
        """Return twice the length."""
        return 2 * length

    def oracle(self, string: Sequence[int]) -> list[int]:
        """Say the string, and again."""
        return [symbol for _ in range(2) for symbol in string]

    def _rearranged(self, strings_BN: Symbols) -> Symbols:
        return np.concatenate((strings_BN, strings_BN), axis=1)


@task(
    "odds-first",
    "the 2nd, 4th, … symbol, then the 1st, 3rd, …",
    objectives=("transduce",),
    reference="Delétang et al. (2023), appendix A",
    theory=Theory.least("context-sensitive", "Delétang et al. (2023), Table 1"),
)
class OddsFirst(Rearrangement):
    """Every second symbol, then the others: of s1 s2 s3 s4 s5 first s2 s4, then s1 s3 s5.

    Counted from 0, the odd positions come first. That is what its reference's code does; its
    documentation begins with s1 s3 s5. Context-sensitive in its reference's hierarchy.

    Reference: Delétang et al. (2023), appendix A, "odds first".
    """

    def oracle(self, string: Sequence[int]) -> list[int]:
        """Look at one position after the other, twice."""
        seconds = [symbol for place, symbol in enumerate(string, 1) if place % 2 == 0]
        others = [symbol for place, symbol in enumerate(string, 1) if place % 2 == 1]
        return seconds + others

    def _rearranged(self, strings_BN: Symbols) -> Symbols:
        return np.concatenate((strings_BN[:, 1::2], strings_BN[:, 0::2]), axis=1)


@task(
    "bucket-sort",
    "the symbols sorted",
    objectives=("transduce",),
    reference="Delétang et al. (2023), appendix A",
    theory=Theory.least("context-sensitive", "Delétang et al. (2023), Table 1"),
    keywords=("sort", "sorting"),
)
class BucketSort(Rearrangement):
    """The symbols in order: ``30214`` becomes ``01234``.

    Context-sensitive in its reference's hierarchy.

    Reference: Delétang et al. (2023), appendix A, "bucket sort", with five symbols.
    """

    def __init__(self) -> None:
        super().__init__(symbols=5)

    def oracle(self, string: Sequence[int]) -> list[int]:
        """Count every symbol."""
        return [s for s in range(len(self.alphabet)) for other in string if other == s]

    def _rearranged(self, strings_BN: Symbols) -> Symbols:
        return np.sort(strings_BN, axis=1)


@task(
    "repeat-copy",
    "the input string, over two symbols",
    objectives=("transduce",),
    splits=Splits(train=(1, 50), test=(51, 150)),
    reference="Huang et al. (2025), repeat copy",
    keywords=("copy", "copying", "recall"),
)
class RepeatCopy(Rearrangement):
    """The string itself, of two symbols, so that each occurs again and again.

    Reference: Huang et al. (2025), "repeat copy".
    """

    def oracle(self, string: Sequence[int]) -> list[int]:
        """Say it again."""
        return [string[place] for place in range(len(string))]

    def _rearranged(self, strings_BN: Symbols) -> Symbols:
        return strings_BN.copy()


DISTINCT = 150
"""The alphabet of strings in which no symbol occurs twice: as many as the longest has."""

VOCABULARY = 126


class DistinctSymbols(Rearrangement):
    """A function of which only strings are drawn in which no symbol occurs twice."""

    def __init__(self) -> None:
        super().__init__(DISTINCT)

    def has_length(self, length: int) -> bool:
        """Return whether there are enough symbols."""
        return 0 <= length <= len(self.alphabet)

    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw strings of different symbols in any order, (count, length)."""
        return random_orders(stream, count, len(self.alphabet))[:, :length]


@task(
    "copy",
    "the input string; its symbols are all different",
    objectives=("transduce",),
    splits=Splits(train=(1, 50), test=(51, 150)),
    reference="Huang et al. (2025), unique copy",
    keywords=("copying", "unique copy", "recall"),
)
class Copy(DistinctSymbols, RepeatCopy):
    """The string itself, of different symbols.

    Reference: Huang et al. (2025), "unique copy".
    """


@task(
    "sort",
    "the symbols sorted, all of them different",
    objectives=("transduce",),
    splits=Splits(train=(1, 50), test=(51, 150)),
    reference="Huang et al. (2025), sort",
    keywords=("sorting",),
)
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


@task(
    "first-occurrences",
    "each symbol once, in the order of first occurrence",
    objectives=("transduce",),
    splits=Splits(train=(3, 40), test=(41, 256)),
    reference="Walker et al. (2025), set",
    keywords=("set", "distinct symbols"),
)
class FirstOccurrences(OfUniformStrings):
    """Every symbol of the string once, in the order in which they first occur, then END.

    ``3 1 3 3 2`` becomes ``3 1 2``. The reference lets a network see its answer so far; here
    there are blanks instead.

    Reference: Walker et al. (2025), "set", with as many symbols.
    """

    def __init__(self) -> None:
        super().__init__(VOCABULARY)

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
