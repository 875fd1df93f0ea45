"""The non-members that are drawn of a bracket language, and in which shares.

Legend: B strings, N positions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from formalbench.contracts.source import Mask, Symbols
from formalbench.contracts.stream import Stream

from formalbench_tasks.dyck_near_misses import BALANCED, ROOM, UNBALANCED, NearMisses
from formalbench_tasks.negatives import ROUNDS, corrupt

Draw = Callable[[Stream, int, int], Symbols]


class NonMembers:
    """Draws non-members of a language of brackets.

    At even lengths three quarters are balanced type by type, so that counting does not tell them
    from members: half of all are ``rearranged`` (`NearMisses`), a quarter ``crossed``,
    ``shuffled``, ``exchange``d or ``too-deep`` in turn. An eighth are near misses that are not
    balanced, a sixteenth members after a few random edits (`formalbench_tasks.negatives`), a
    sixteenth uniform strings. At odd lengths half are unclosed and half uniform.

    Args:
        symbols: how many brackets there are, opens and closes.
        members: draws members, called with (stream, length, count).
        is_member: tells members from non-members, (B, N) -> (B,).
        misses: draws near misses.
    """

    def __init__(
        self,
        symbols: int,
        members: Draw,
        is_member: Callable[[Symbols], Mask],
        misses: NearMisses,
    ) -> None:
        self._symbols = symbols
        self._members = members
        self._is_member = is_member
        self._misses = misses
        rest = (self._unbalanced, self._edited, self._unbalanced, self._uniform)
        self._even: list[Draw] = [
            draw
            for last in rest
            for draw in (self._rearranged, self._balanced, self._rearranged, last)
        ]
        self._odd: list[Draw] = [self._misses.draw, self._uniform]

    def draw(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw non-members of all kinds in turn, (count, length)."""
        draws = self._odd if length % 2 else self._even
        turn_B = (np.arange(count) + stream.integers(len(draws), 1)) % len(draws)
        strings_BN = np.empty((count, length), dtype=np.int64)
        for draw in dict.fromkeys(draws):
            turns = [turn for turn, other in enumerate(draws) if other == draw]
            here = np.flatnonzero(np.isin(turn_B, turns))
            if here.size:
                strings_BN[here] = draw(stream, length, len(here))
        return strings_BN

    def _rearranged(self, stream: Stream, length: int, count: int) -> Symbols:
        kind = "rearranged" if length >= ROOM else "exchange"
        return self._misses.of_kind(kind, stream, length, count)

    def _balanced(self, stream: Stream, length: int, count: int) -> Symbols:
        return self._of_kinds(BALANCED, stream, length, count)

    def _unbalanced(self, stream: Stream, length: int, count: int) -> Symbols:
        return self._of_kinds(UNBALANCED, stream, length, count)

    def _of_kinds(self, kinds: Sequence[str], stream: Stream, length: int, count: int) -> Symbols:
        return self._misses.draw(stream, length, count, kinds)

    def _edited(self, stream: Stream, length: int, count: int) -> Symbols:
        members_BN = self._members(stream, length, count)
        strings_BN, stuck_B = corrupt(stream, members_BN, self._symbols, self._is_member)
        strings_BN[stuck_B, 0] ^= 1  # then it begins with a close
        return strings_BN

    def _uniform(self, stream: Stream, length: int, count: int) -> Symbols:
        strings_BN = stream.integers(self._symbols, (count, length))
        inside = np.flatnonzero(self._is_member(strings_BN))
        for _ in range(ROUNDS):
            if not inside.size:
                break
            again_AN = stream.integers(self._symbols, (len(inside), length))
            strings_BN[inside] = again_AN
            inside = inside[self._is_member(again_AN)]
        strings_BN[inside, 0] ^= 1  # then it begins with a close
        return strings_BN
