"""Majority: more 1s than 0s.

Legend: B strings, N positions, P = N+1 prefixes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from formalbench.contracts.source import Mask, Symbols
from formalbench.contracts.stream import Stream

from formalbench_tasks.beyond.membership import Following


class Majority(Following):
    """There are more 1s than 0s.

    Members are uniform. Three quarters of the non-members have as many 1s as a non-member can have,
    half of the length: members in which some 1s, chosen uniformly, were made 0.

    Reference: Butoi et al. (2025), appendix A.
    """

    alphabet = ("0", "1")

    def __init__(self) -> None:
        self.ways = (just_outside, just_outside)

    def oracle(self, string: Sequence[int]) -> int:
        """Cross out a 0 and a 1, again and again, and see whether a 1 is left."""
        left = list(string)
        while 0 in left and 1 in left:
            left.remove(0)
            left.remove(1)
        return int(1 in left)

    def following(self, strings_BN: Symbols) -> Mask:
        """Say what may follow every prefix: anything; END if there are more 1s; (B, N+1, 3)."""
        count, length = strings_BN.shape
        allowed = np.ones((count, length + 1, 3), dtype=np.bool_)
        allowed[:, 0, -1] = False
        allowed[:, 1:, -1] = np.cumsum(2 * strings_BN - 1, axis=1) > 0
        return allowed

    def has_members(self, length: int) -> bool:
        """Say whether there is any symbol."""
        return length > 0

    def _members(self, stream: Stream, length: int, count: int) -> Symbols:
        strings_BN = self._any(stream, length, count)
        while (ties := np.flatnonzero(2 * strings_BN.sum(axis=1) == length)).size:
            strings_BN[ties] = self._any(stream, length, len(ties))
        fewer_B = 2 * strings_BN.sum(axis=1) < length
        strings_BN[fewer_B] = 1 - strings_BN[fewer_B]
        return strings_BN


def just_outside(stream: Stream, strings_AN: Symbols) -> Symbols:
    """Keep as many 1s as are half of the length, rounded down, and make the others 0."""
    count, length = strings_AN.shape
    keys_AN = stream.raw(count * length).reshape(count, length) >> np.uint64(1)
    keys_AN |= (strings_AN == 0).astype(np.uint64) << np.uint64(63)  # 0s behind all 1s
    order_AN = np.argsort(keys_AN, axis=1, kind="stable")
    kept_AN = np.zeros_like(strings_AN)
    ones_A1 = strings_AN.sum(axis=1, keepdims=True)
    first_AN = np.arange(length) < np.minimum(ones_A1, length // 2)
    np.put_along_axis(kept_AN, order_AN, first_AN.astype(np.int64), axis=1)
    return kept_AN
