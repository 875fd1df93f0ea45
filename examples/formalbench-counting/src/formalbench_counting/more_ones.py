"""The language ``more-ones``: a majority of 1s, which is not regular: no YAML file can say it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from formalbench import Labels, Language, Stream, Symbols, balanced


class MoreOnes(Language):
    """Strings over {0, 1} with more 1s than 0s.

    Legend: B strings, N symbols.
    """

    alphabet = ("0", "1")

    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw uniform strings, half of them members.

        Turning every bit over maps the members one to one onto the strings with more 0s, so a
        string of the wrong class is turned over; ties are not members, and where a member is
        wanted they get one more 1.
        """
        strings_BN = stream.integers(2, (count, length))
        if length == 0:
            return strings_BN
        wrong = self.classify(strings_BN) != balanced(stream, count)
        strings_BN[wrong] ^= 1
        tie = wrong & (2 * strings_BN.sum(axis=1) == length)
        first_zero = (strings_BN == 0).argmax(axis=1)
        strings_BN[tie, first_zero[tie]] = 1
        return strings_BN

    def classify(self, strings_BN: Symbols) -> Labels:
        """Return 1 for members, (B,)."""
        return (2 * strings_BN.sum(axis=1) > strings_BN.shape[1]).astype(np.int64)

    def oracle(self, string: Sequence[int]) -> int:
        """Count, as the definition says."""
        return int(list(string).count(1) > list(string).count(0))

    def class_distribution(self, length: int) -> tuple[float, float]:
        """Return equal shares; the empty string is no member."""
        return (0.5, 0.5) if length else (1.0, 0.0)
