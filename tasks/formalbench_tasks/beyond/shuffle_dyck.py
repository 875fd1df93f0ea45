"""Shuffle-Dyck-k: brackets of k types, each balanced by itself; pairs may cross.

Legend: B strings, N positions, P = N+1 prefixes, K types, M pairs, S = 2k symbols.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from formalbench.contracts.errors import RequestError
from formalbench.contracts.source import Labels, Mask, Symbols
from formalbench.contracts.stream import Stream
from formalbench.contracts.theory import Theory

from formalbench_tasks.beyond.interleaved import Interleaved
from formalbench_tasks.beyond.membership import Following, counts
from formalbench_tasks.dyck import PAIRS
from formalbench_tasks.dyck_shapes import rising_share

MOST = 32
"""The most types that can be asked for."""


class ShuffleDyck(Following):
    """Strings whose brackets of each type are balanced when all others are left out.

    ``([)]`` is in; ``)(`` and ``(]`` are not. Type t opens with the symbol 2t and closes with 2t+1,
    as in `formalbench_tasks.dyck`. Members are uniform: how many pairs each type has is drawn first
    (`Interleaved`), then where each type stands, then each type's shape. The brackets of a uniform
    member do cross.

    Reference: Suzgun et al. (2019), "LSTM networks can perform dynamic counting"; Bhattamishra et
        al. (2020), section 5.

    Args:
        k: how many types of brackets there are.

    Raises:
        RequestError: if k is 0 or beyond reason.
    """

    def __init__(self, k: int) -> None:
        if not 1 <= k <= MOST:
            near = min(max(k, 1), MOST)
            raise RequestError(
                f"task shuffle-dyck-{k}: 1 to {MOST} types of brackets: try shuffle-dyck-{near}"
            )
        pairs = PAIRS[:k] if k <= len(PAIRS) else [(f"({t}", f"){t}") for t in range(1, k + 1)]
        self.alphabet = tuple(symbol for pair in pairs for symbol in pair)
        self.types = k
        self._numbers = Interleaved(k)
        more = "not context-free: intersected with (*[*)*]* it is (^n [^m )^n ]^m"
        note = "Yang and Chiang (2024): each type's counts; " + (more if k > 1 else "Dyck-1")
        self.theory = Theory("counter", c_rasp=True, context_free=k == 1, note=note)

    def oracle(self, string: Sequence[int]) -> int:
        """Of each type, cross out neighbours that open and close, until nothing changes."""
        for kind in range(self.types):
            left: list[int] = []
            for symbol in string:
                if symbol // 2 != kind:
                    continue
                if symbol % 2 and left and left[-1] % 2 == 0:
                    left.pop()
                else:
                    left.append(symbol)
            if left:
                return 0
        return 1

    def following(self, strings_BN: Symbols) -> Mask:
        """Say what may follow every prefix that begins a member, (B, N+1, S+1)."""
        counts_BPS = counts(strings_BN, len(self.alphabet))
        open_BPK = counts_BPS[:, :, 0::2] > counts_BPS[:, :, 1::2]
        allowed = np.ones((*counts_BPS.shape[:2], len(self.alphabet) + 1), dtype=np.bool_)
        allowed[:, :, 1:-1:2] = open_BPK
        allowed[:, :, -1] = ~open_BPK.any(axis=2)
        return allowed

    def classify(self, strings_BN: Symbols) -> Labels:
        """Return 1 for members and 0 for others, (B,)."""
        if not strings_BN.shape[1]:
            return np.ones(len(strings_BN), dtype=np.int64)
        return self.classify_prefixes(strings_BN)[:, -1]

    def classify_prefixes(self, strings_BN: Symbols) -> Labels:
        """Return the class of every non-empty prefix, (B, N)."""
        inside_BN = np.ones(strings_BN.shape, dtype=np.bool_)
        steps_BN = (1 - 2 * (strings_BN % 2)).astype(np.int32)
        for kind in range(self.types):
            depths_BN = np.cumsum(np.where(strings_BN // 2 == kind, steps_BN, 0), axis=1)
            inside_BN &= np.logical_and.accumulate(depths_BN >= 0, axis=1) & (depths_BN == 0)
        return inside_BN.astype(np.int64)

    def has_members(self, length: int) -> bool:
        """Say whether the length is even."""
        return length >= 0 and length % 2 == 0

    def _members(self, stream: Stream, length: int, count: int) -> Symbols:
        pairs_BK = self._numbers.draw(stream, length // 2, count)
        types_BN = _shuffled(stream, 2 * pairs_BK, length)
        rows_B = np.arange(count)
        depths_BK, left_BK = np.zeros_like(pairs_BK), 2 * pairs_BK
        strings_BN = np.empty((count, length), dtype=np.int64)
        for position, types_B in enumerate(types_BN.T):
            depths_B, left_B = depths_BK[rows_B, types_B], left_BK[rows_B, types_B]
            opens_B = stream.uniform(count) < rising_share(depths_B, left_B)
            depths_BK[rows_B, types_B] += 2 * opens_B - 1
            left_BK[rows_B, types_B] -= 1
            strings_BN[:, position] = 2 * types_B + ~opens_B
        return strings_BN


def _shuffled(stream: Stream, numbers_BK: Labels, length: int) -> Labels:
    """Return the types of all brackets in an order that is drawn uniformly, (B, N)."""
    ends_BK = np.cumsum(numbers_BK, axis=1)
    types_BN = (np.arange(length) >= ends_BK[:, :-1, None]).sum(axis=1)
    keys_BN = stream.raw(types_BN.size).reshape(types_BN.shape)
    order_BN = np.argsort(keys_BN, axis=1, kind="stable")
    return np.take_along_axis(types_BN, order_BN, axis=1)
