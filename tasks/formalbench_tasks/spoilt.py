"""Non-members of many kinds, most of them members that were spoilt, and in which shares.

Legend: B strings, N positions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from formalbench.contracts.source import Mask, Symbols
from formalbench.contracts.stream import Stream

from formalbench_tasks.rearranged import (
    Rearrange,
    exchange_parts,
    rearrange_until_outside,
    shuffle_inside,
)

Draw = Callable[[Stream, int, int], Symbols]

ORDER: tuple[Rearrange, Rearrange] = (exchange_parts, shuffle_inside)
"""Ways to spoil a member that keep its symbols and its ends."""


@dataclass(frozen=True)
class Spoilt:
    """Draws non-members of all kinds in turn.

    Half are members spoilt in the first way, a quarter in the second, an eighth members after a few
    random edits, an eighth uniform. Where one way leads to members only, the other is tried, and
    then half are edited and half uniform.

    Attributes:
        members: draws members, called with (stream, length, count).
        is_member: tells members from non-members, (B, N) -> (B,).
        edited: makes non-members of members by random edits.
        uniform: draws uniform non-members, called with (stream, length, count).
        ways: how members are spoilt; empty if no way leads outside.
    """

    members: Draw
    is_member: Callable[[Symbols], Mask]
    edited: Callable[[Stream, Symbols], Symbols]
    uniform: Draw
    ways: tuple[Rearrange, ...] = ORDER

    def draw(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw non-members of a length that has members, (count, length)."""
        turn_B = (np.arange(count) + stream.integers(8, 1)) % 8
        strings_BN = self.members(stream, length, count)
        left_B = np.ones(count, dtype=np.bool_)  # to be edited or drawn uniformly
        if self.ways:
            for chosen_B, ways in (
                (turn_B % 2 == 0, self.ways),
                (turn_B % 4 == 1, self.ways[::-1]),
            ):
                left_B[chosen_B] = self._spoil(stream, strings_BN, chosen_B, ways)
        left = np.flatnonzero(left_B)
        edited, uniform = left[::2], left[1::2]
        strings_BN[edited] = self.edited(stream, self.members(stream, length, len(edited)))
        strings_BN[uniform] = self.uniform(stream, length, len(uniform))
        return strings_BN

    def near(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw members spoilt in either way in turn, edited where that fails; (count, length)."""
        strings_BN = self.members(stream, length, count)
        first_B = np.arange(count) % 2 == 0
        left_B = np.zeros(count, dtype=np.bool_)
        for chosen_B, ways in ((first_B, self.ways), (~first_B, self.ways[::-1])):
            left_B[chosen_B] = self._spoil(stream, strings_BN, chosen_B, ways)
        members_BN = self.members(stream, length, int(left_B.sum()))
        strings_BN[left_B] = self.edited(stream, members_BN)
        return strings_BN

    def _spoil(
        self, stream: Stream, strings_BN: Symbols, chosen_B: Mask, ways: tuple[Rearrange, ...]
    ) -> Mask:
        """Spoil the chosen members in place; return which of them stay inside, (chosen,)."""
        pending = np.flatnonzero(chosen_B)
        for how in ways:
            moved_AN, stuck_A = rearrange_until_outside(
                stream, strings_BN[pending], self.is_member, how
            )
            strings_BN[pending] = moved_AN
            pending = pending[stuck_A]
        return np.isin(np.flatnonzero(chosen_B), pending)
