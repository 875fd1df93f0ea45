"""A string said twice but for one symbol: was that a 1?

Legend: B strings, N positions, A strings to be spoilt.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from formalbench.contracts.source import Labels, Mask, Symbols
from formalbench.contracts.stream import Stream

from formalbench_tasks.beyond.membership import Membership
from formalbench_tasks.rearranged import exchange_parts

BLANK = 2


class MissingDuplicateCheck(Membership):
    """With a 1 for its only blank, the string is a bit string twice: ``01_011`` is in.

    Members are uniform. Half of the non-members lack a 0 instead, a quarter are members with two
    parts of the second half exchanged that begin alike and end alike. `MissingDuplicate` asks
    which bit is missing, and draws strings said twice only.

    Reference: Butoi et al. (2025), appendix A, after Delétang et al. (2023).
    """

    alphabet = ("0", "1", "_")

    def __init__(self) -> None:
        self.ways = (_lack_a_zero, _exchange_in_second)

    def oracle(self, string: Sequence[int]) -> int:
        """Fill the blank with a 1, and see whether the string is a bit string twice."""
        if list(string).count(BLANK) != 1:
            return 0
        filled = "".join(str(symbol) for symbol in string).replace(str(BLANK), "1")
        return int(filled == filled[: len(filled) // 2] * 2)

    def classify(self, strings_BN: Symbols) -> Labels:
        """Return 1 for members and 0 for others, (B,)."""
        half, odd = divmod(strings_BN.shape[1], 2)
        blanks_BN = strings_BN == BLANK
        filled_BN = np.where(blanks_BN, 1, strings_BN)
        same_BH = filled_BN[:, :half] == filled_BN[:, half : 2 * half]
        inside_B: Mask = (blanks_BN.sum(axis=1) == 1) & same_BH.all(axis=1)
        return (inside_B & (not odd)).astype(np.int64)

    def has_members(self, length: int) -> bool:
        """Say whether the length is even and not 0."""
        return length > 0 and length % 2 == 0

    def _members(self, stream: Stream, length: int, count: int) -> Symbols:
        rows_B, blanks_B = np.arange(count), stream.integers(length, count)
        once_BH = stream.integers(2, (count, length // 2))
        once_BH[rows_B, blanks_B % (length // 2)] = 1
        strings_BN = np.concatenate((once_BH, once_BH), axis=1)
        strings_BN[rows_B, blanks_B] = BLANK
        return strings_BN


def _lack_a_zero(stream: Stream, strings_AN: Symbols) -> Symbols:
    """Make 0 of the 1 that stands in the other half where the blank does in its own."""
    count, length = strings_AN.shape
    partners_A = ((strings_AN == BLANK).argmax(axis=1) + length // 2) % length
    lacking_AN = strings_AN.copy()
    lacking_AN[np.arange(count), partners_A] = 0
    return lacking_AN


def _exchange_in_second(stream: Stream, strings_AN: Symbols) -> Symbols:
    half = strings_AN.shape[1] // 2
    second_AH = exchange_parts(stream, strings_AN[:, half:])
    return np.concatenate((strings_AN[:, :half], second_AH), axis=1)
