"""Reset-Dyck-1: balanced brackets behind the last reset; what is before it does not matter.

Legend: B strings, N positions, P = N+1 prefixes, A strings still to be rearranged.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from formalbench.contracts.source import Labels, Mask, Symbols
from formalbench.contracts.stream import Stream

from formalbench_tasks.beyond.membership import Following
from formalbench_tasks.dyck_shapes import rising_share
from formalbench_tasks.rearranged import one_of

OPEN, CLOSE, RESET = range(3)
STEPS = np.array([1, -1, 0])
"""How far each symbol moves the depth."""


class ResetDyck(Following):
    """Σ*#v with v in Dyck-1: there is a reset, and behind the last one brackets are balanced.

    Where the last reset stands is drawn first, each possible place as likely as any other; then v,
    uniform among balanced strings of its length, and what is before it, uniform among all strings.
    Of all long members 87 in 100 end with the reset, so if members were uniform, the last symbol
    would tell nearly everything.

    In half of the non-members v has been cut in two, between a closing and an opening bracket and
    not where it is balanced, and its parts have changed places: all symbols, the ends and all pairs
    of neighbours stay. In a quarter v is in another order but for its ends.

    Reference: Bhattamishra et al. (2020), section 5. Their generator writes 1 for the reset, has
    only one, and a beginning of a Dyck-1 string before it; their labels follow the definition
    with any number of resets.
    """

    alphabet = ("(", ")", "#")

    def __init__(self) -> None:
        self.ways = (cut_and_exchange, shuffle_behind)

    def oracle(self, string: Sequence[int]) -> int:
        """Cross out neighbours that open and close behind the last reset."""
        if RESET not in string:
            return 0
        left: list[int] = []
        for symbol in reversed(string):
            if symbol == RESET:
                break
            if symbol == OPEN and left and left[-1] == CLOSE:
                left.pop()
            else:
                left.append(symbol)
        return int(not left)

    def following(self, strings_BN: Symbols) -> Mask:
        """Say what may follow every prefix: anything, since a reset may; (B, N+1, 4)."""
        allowed = np.ones((len(strings_BN), strings_BN.shape[1] + 1, 4), dtype=np.bool_)
        at_BN, depths_BN = _since_reset(strings_BN)
        below_BN = np.maximum.accumulate(
            np.where(depths_BN < 0, np.arange(strings_BN.shape[1]), -1), axis=1
        )
        allowed[:, 0, -1] = False
        allowed[:, 1:, -1] = (at_BN >= 0) & (depths_BN == 0) & (below_BN <= at_BN)
        return allowed

    def has_members(self, length: int) -> bool:
        """Say whether there is room for a reset."""
        return length > 0

    def _members(self, stream: Stream, length: int, count: int) -> Symbols:
        pairs_B = stream.integers((length + 1) // 2, count)
        strings_BN = self._any(stream, length, count)
        resets_B = length - 1 - 2 * pairs_B
        strings_BN[np.arange(count), resets_B] = RESET
        depths_B = np.zeros(count, dtype=np.int64)
        for position in range(length - int(2 * pairs_B.max(initial=0)), length):
            behind = np.flatnonzero(resets_B < position)
            share = rising_share(depths_B[behind], length - position)
            opens = stream.uniform(len(behind)) < share
            depths_B[behind] += 2 * opens - 1
            strings_BN[behind, position] = np.where(opens, OPEN, CLOSE)
        return strings_BN


def _since_reset(strings_BN: Symbols) -> tuple[Labels, Labels]:
    """Return where the last reset was, -1 before the first, and the depth since; (B, N) each."""
    at_BN = np.where(strings_BN == RESET, np.arange(strings_BN.shape[1]), -1)
    at_BN = np.maximum.accumulate(at_BN, axis=1)
    sums_BN = np.cumsum(STEPS[strings_BN], axis=1)
    then_BN = np.take_along_axis(sums_BN, np.maximum(at_BN, 0), axis=1)
    return at_BN, sums_BN - np.where(at_BN >= 0, then_BN, 0)


def cut_and_exchange(stream: Stream, strings_AN: Symbols) -> Symbols:
    """Let two parts of what is behind the last reset change places; see `ResetDyck`.

    A string where there is no place to cut stays as it is.
    """
    at_N = np.arange(strings_AN.shape[1])
    at_AN, depths_AN = _since_reset(strings_AN)
    first_A1 = at_AN[:, -1:] + 1
    cuts_AN = np.zeros(strings_AN.shape, dtype=np.bool_)
    cuts_AN[:, 1:] = (strings_AN[:, :-1] == CLOSE) & (strings_AN[:, 1:] == OPEN)
    cuts_AN[:, 1:] &= (depths_AN[:, :-1] > 0) & (at_N[1:] > first_A1)
    cut_A1 = one_of(stream, cuts_AN)[:, None]
    later_AN = (at_N >= first_A1) & (at_N < cut_A1)  # and -1 is before everything
    order_AN = np.argsort(at_N + len(at_N) * (later_AN & (cut_A1 >= 0)), axis=1, kind="stable")
    return np.take_along_axis(strings_AN, order_AN, axis=1)


def shuffle_behind(stream: Stream, strings_AN: Symbols) -> Symbols:
    """Bring what is behind the last reset, but for its ends, into an order drawn uniformly."""
    count, length = strings_AN.shape
    at_N = np.arange(length)
    at_AN, _ = _since_reset(strings_AN)
    inside_AN = (at_N > at_AN[:, -1:] + 1) & (at_N < length - 1)
    keys_AN = np.where(inside_AN, stream.uniform((count, length)), at_N - length)
    keys_AN[:, -1] = 1
    order_AN = np.argsort(keys_AN, axis=1, kind="stable")
    return np.take_along_axis(strings_AN, order_AN, axis=1)
