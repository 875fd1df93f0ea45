"""Functions that put the symbols of a string into another order, or say them more than once.

Their domain is all strings, and their answers' length is known from the string's, so no answer
needs END.

Legend: B strings, N symbols, M symbols of an answer.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
from formalbench.contracts.source import Labels, Symbols, Transduction
from formalbench.contracts.stream import Stream

from formalbench_tasks.limits import check_length


class Rearrangement(Transduction):
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
