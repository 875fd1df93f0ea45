"""The missing symbol of a string said twice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from formalbench.contracts.language import Language, balanced
from formalbench.contracts.source import Labels, Mask, Symbols
from formalbench.contracts.stream import Stream

from formalbench_tasks.limits import check_length

BLANK = 2


class MissingDuplicate(Language):
    """Bits are said twice, and one of them is left out: which was it?

    ``01_001100`` is no such string, ``01100_10`` is: class 1. Bits and the place left out are
    uniform, but for the classes being as many.

    Only even lengths have strings. Its reference has odd ones as well, with a symbol of padding
    at the end, and a dummy string of length 1.

    Its reference calls it context-sensitive, as finding the partner of a place takes more than an
    automaton. The answer does not take it: a string said twice has an even number of ones, so what
    is left out is the parity of the ones in sight, which two states tell.

    Reference: Delétang et al. (2023), appendix A, "missing duplicate".
    """

    alphabet = ("0", "1", "_")

    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw strings of an even length, as many of each class up to one, (count, length)."""
        check_length(length)
        half, rows_B = length // 2, np.arange(count)
        labels_B = balanced(stream, count)
        once_BH = stream.integers(2, (count, half))
        missing_B = stream.integers(2 * half, count)
        once_BH[rows_B, missing_B % half] = labels_B
        strings_BN = np.concatenate((once_BH, once_BH), axis=1)
        strings_BN[rows_B, missing_B] = BLANK
        return strings_BN

    def classify(self, strings_BN: Symbols) -> Labels:
        """Return the symbol left out of each string, (B,); -1 outside the domain."""
        inside_B = self.in_domain(strings_BN)
        classes_B = np.full(len(strings_BN), -1, dtype=np.int64)
        if not inside_B.any():
            return classes_B
        right_BN, length = strings_BN[inside_B], strings_BN.shape[1]
        partners_B = ((right_BN == BLANK).argmax(axis=1) + length // 2) % length
        classes_B[inside_B] = right_BN[np.arange(len(right_BN)), partners_B]
        return classes_B

    def in_domain(self, strings_BN: Symbols) -> Mask:
        """Say which strings are bits twice with one symbol left out, (B,)."""
        half, odd = divmod(strings_BN.shape[1], 2)
        if odd or not half:
            return np.zeros(len(strings_BN), dtype=np.bool_)
        once_BH, again_BH = strings_BN[:, :half], strings_BN[:, half:]
        blank_BH = (once_BH == BLANK) | (again_BH == BLANK)
        one_blank_B = (strings_BN == BLANK).sum(axis=1) == 1
        inside: Mask = one_blank_B & (blank_BH | (once_BH == again_BH)).all(axis=1)
        return inside

    def round_length(self, length: int) -> int:
        """Shorten an odd length by one."""
        return length - length % 2

    def has_length(self, length: int) -> bool:
        """Say whether the length is even and not 0."""
        return length > 0 and length % 2 == 0

    def class_distribution(self, length: int) -> tuple[float, ...]:
        """Return the probability of each symbol."""
        check_length(length)
        return (0.5, 0.5) if self.has_length(length) else (0.0, 0.0)

    def oracle(self, string: Sequence[int]) -> int:
        """Fill the blank with each bit, and see which one makes the string a bit string twice."""
        half = len(string) // 2
        for bit in (0, 1):
            filled = [bit if symbol == BLANK else symbol for symbol in string]
            if filled[:half] == filled[half:]:
                return bit
        raise ValueError("neither bit makes it a string said twice")
