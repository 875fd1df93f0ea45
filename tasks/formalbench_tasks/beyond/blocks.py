"""Blocks of equal length: a^n b^n, a^n b^n c^n, a^n b^n c^n d^n.

Legend: B strings, N positions, P = N+1 prefixes, S symbols, A strings to be spoilt.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from formalbench.contracts.source import Mask, Symbols
from formalbench.contracts.stream import Stream

from formalbench_tasks.beyond.membership import Following, counts


class EqualBlocks(Following):
    """As many of each letter, and all of one letter before the next; the empty string is in.

    A length has one member or none. Half of the non-members have as many of each letter, but one of
    them stands elsewhere; of a quarter the blocks are in order, but not equally long. Both have
    the ends of a member.

    Reference: Bhattamishra et al. (2020), section 5.

    Args:
        letters: how many there are.
    """

    def __init__(self, letters: int) -> None:
        self.alphabet = tuple("abcd"[:letters])
        self.ways = (displace, self._unequal)

    def oracle(self, string: Sequence[int]) -> int:
        """Write the one string that has this length and is in, and compare."""
        letters = len(self.alphabet)
        if len(string) % letters:
            return 0
        member = [letter for letter in range(letters) for _ in range(len(string) // letters)]
        return int(list(string) == member)

    def following(self, strings_BN: Symbols) -> Mask:
        """Say what may follow every prefix that begins a member, (B, N+1, S+1)."""
        counts_BPS = counts(strings_BN, len(self.alphabet))
        first_BP1 = counts_BPS[:, :, :1]
        full_BPS = counts_BPS == first_BP1
        allowed = np.empty((*full_BPS.shape[:2], len(self.alphabet) + 1), dtype=np.bool_)
        allowed[:, :, 0] = counts_BPS[:, :, 1] == 0
        # A letter follows if there is room in its block and the block before is full.
        allowed[:, :, 1:-1] = ~full_BPS[:, :, 1:] & full_BPS[:, :, :-1]
        allowed[:, :, -1] = full_BPS[:, :, -1]
        return allowed

    def has_members(self, length: int) -> bool:
        """Say whether the length is a multiple of the number of letters."""
        return length >= 0 and length % len(self.alphabet) == 0

    def _members(self, stream: Stream, length: int, count: int) -> Symbols:
        member_N = np.repeat(np.arange(len(self.alphabet)), length // len(self.alphabet))
        return np.tile(member_N, (count, 1))

    def _unequal(self, stream: Stream, strings_AN: Symbols) -> Symbols:
        """Move the ends of all blocks but the last: half of them by one, half anywhere."""
        count, length = strings_AN.shape
        borders = len(self.alphabet) - 1
        even_K = np.arange(1, borders + 1) * (length // (borders + 1))
        near_AK = even_K + stream.integers(3, (count, borders)) - 1
        # Every letter stays: borders are different places between two symbols.
        room = length - borders
        far_AK = np.sort(stream.integers(room, (count, borders)), axis=1) + np.arange(
            1, borders + 1
        )
        borders_AK = np.where(stream.integers(2, (count, 1)) == 1, near_AK, far_AK)
        letters_AN: Symbols = (np.arange(length) >= borders_AK[:, :, None]).sum(axis=1)
        return letters_AN


def equal_blocks_2() -> EqualBlocks:
    """Return a^n b^n."""
    return EqualBlocks(2)


def equal_blocks_3() -> EqualBlocks:
    """Return a^n b^n c^n."""
    return EqualBlocks(3)


def equal_blocks_4() -> EqualBlocks:
    """Return a^n b^n c^n d^n."""
    return EqualBlocks(4)


def displace(stream: Stream, strings_AN: Symbols) -> Symbols:
    """Take out a symbol between the ends, and put it back anywhere between them."""
    count, length = strings_AN.shape
    from_A, to_A = (1 + stream.integers(max(length - 2, 1), count) for _ in range(2))
    places_AN = np.broadcast_to(np.arange(length), strings_AN.shape)
    # The key of a symbol is twice its place; of the one that moves, just beside another's.
    keys_AN = 2 * places_AN
    behind_A = np.where(to_A > from_A, 1, -1)
    keys_AN[np.arange(count), from_A] = 2 * to_A + behind_A
    return np.take_along_axis(strings_AN, np.argsort(keys_AN, axis=1, kind="stable"), axis=1)
