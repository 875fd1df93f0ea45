"""Bracket strings that are nearly members, each wrong in one way.

Legend: B strings, N positions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import numpy.typing as npt
from formalbench.contracts.source import Mask, Symbols
from formalbench.contracts.stream import Stream

from formalbench_tasks.dyck_shapes import Shapes, draw_too_deep, too_deep
from formalbench_tasks.negatives import ROUNDS
from formalbench_tasks.paths import Paths
from formalbench_tasks.stack import depths, dress

Ints = npt.NDArray[np.int64]


class NearMisses:
    """Five kinds of non-members.

    * ``flip``: a member with one bracket turned round;
    * ``type``: a member with the type of one bracket changed;
    * ``exchange``: a member with two brackets exchanged;
    * ``unclosed``: right as far as it goes, but at its end two brackets are open (one, if
      the length is odd);
    * ``too-deep``: balanced, but one level deeper than allowed, at least once.

    The first three are made from uniform members, at a uniform place; the others are uniform
    among the strings so described. An odd length has ``unclosed`` only; ``type`` takes two types
    of brackets, ``too-deep`` a bound and room to break it, and ``unclosed`` of even length
    a depth of two.

    Args:
        types: how many types of brackets there are.
        deepest: the greatest depth of a member; None for no bound.
        members: draws members, called with (stream, length, count).
        is_member: tells members from non-members, (B, N) -> (B,).
    """

    def __init__(
        self,
        types: int,
        deepest: int | None,
        members: Callable[[Stream, int, int], Symbols],
        is_member: Callable[[Symbols], Mask],
    ) -> None:
        self._types = types
        self._deepest = deepest
        self._members = members
        self._is_member = is_member
        self._shapes = Shapes(deepest)
        self._makers: dict[str, Callable[[Stream, int, int], Symbols]] = {
            "flip": self._flip,
            "type": self._type,
            "exchange": self._exchange,
            "unclosed": self._unclosed,
            "too-deep": self._too_deep,
        }

    def kinds(self, length: int) -> list[str]:
        """Return the kinds there are at this length."""
        even = length > 0 and length % 2 == 0
        bounded, end = self._deepest is not None, 2 if even else 1
        there = {
            "flip": even,
            "type": even and self._types > 1,
            "exchange": even,
            "unclosed": length > 0 and self._shapes.exist(length, end),
            "too-deep": even and bounded and length >= 2 * (self._deepest or 0) + 2,
        }
        return [kind for kind, exists in there.items() if exists]

    def draw(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw from all kinds there are, in turn; (count, length), or (0, length) if none is."""
        kinds = self.kinds(length)
        strings_BN = np.empty((count if kinds else 0, length), dtype=np.int64)
        first = int(stream.integers(max(len(kinds), 1), 1)[0])
        for index, kind in enumerate(kinds[first:] + kinds[:first]):
            rows = range(count)[index :: len(kinds)]
            strings_BN[index :: len(kinds)] = self.of_kind(kind, stream, length, len(rows))
        return strings_BN

    def of_kind(self, kind: str, stream: Stream, length: int, count: int) -> Symbols:
        """Draw from one kind that this length has, (count, length)."""
        return self._makers[kind](stream, length, count)

    def changed(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw members with one symbol, at a uniform place, changed to any other; (count, length).

        As Steffen, Glaus & Saeedi (2022) do, after Hahn (2020): a network in which no single
        symbol counts for much has to tell them from the members.
        """
        strings_BN = self._members(stream, length, count)
        place = np.arange(count), stream.integers(length, count)
        shift_B = 1 + stream.integers(2 * self._types - 1, count)
        strings_BN[place] = (strings_BN[place] + shift_B) % (2 * self._types)
        return strings_BN

    def _flip(self, stream: Stream, length: int, count: int) -> Symbols:
        strings_BN = self._members(stream, length, count)
        strings_BN[np.arange(count), stream.integers(length, count)] ^= 1
        return strings_BN

    def _type(self, stream: Stream, length: int, count: int) -> Symbols:
        strings_BN = self._members(stream, length, count)
        place = np.arange(count), stream.integers(length, count)
        shift_B = 2 * (1 + stream.integers(self._types - 1, count))
        strings_BN[place] = (strings_BN[place] + shift_B) % (2 * self._types)
        return strings_BN

    def _exchange(self, stream: Stream, length: int, count: int) -> Symbols:
        """Exchange two uniform positions, again and again until the result is outside."""
        members_BN = self._members(stream, length, count)
        strings_BN = members_BN.copy()
        inside = np.arange(count)
        for _ in range(ROUNDS):
            if not inside.size:
                return strings_BN
            here = stream.integers(length, len(inside))
            there = (here + 1 + stream.integers(length - 1, len(inside))) % length
            strings_BN[inside] = _exchanged(members_BN[inside], here, there)
            inside = inside[self._is_member(strings_BN[inside])]
        # Long strings of one type are hard to break this way. A close that goes where its
        # part of the string begins has nothing to close there.
        left_BN = members_BN[inside]
        opens_BN = left_BN % 2 == 0
        closing_BC = np.nonzero(~opens_BN)[1].reshape(len(inside), length // 2)
        chosen = stream.integers(length // 2, len(inside))
        close = closing_BC[np.arange(len(inside)), chosen]
        begins_BN = depths(opens_BN)[:, :-1] == 0
        begin_BN = np.maximum.accumulate(np.where(begins_BN, np.arange(length), 0), axis=1)
        begin = begin_BN[np.arange(len(inside)), close]
        strings_BN[inside] = _exchanged(left_BN, begin, close)
        return strings_BN

    def _unclosed(self, stream: Stream, length: int, count: int) -> Symbols:
        end = 1 if length % 2 else 2
        opens_BN = self._shapes.uniform(stream, length, count, end)
        return dress(opens_BN, stream.integers(self._types, (count, (length + end) // 2)))

    def _too_deep(self, stream: Stream, length: int, count: int) -> Symbols:
        opens_BN = draw_too_deep(self._deeper, stream, length, count)
        return dress(opens_BN, stream.integers(self._types, (count, length // 2)))

    @cached_property
    def _deeper(self) -> Paths:
        assert self._deepest is not None
        return too_deep(self._deepest)


def _exchanged(strings_BN: Symbols, here: Ints, there: Ints) -> Symbols:
    rows = np.arange(len(strings_BN))
    exchanged_BN = strings_BN.copy()
    exchanged_BN[rows, here] = strings_BN[rows, there]
    exchanged_BN[rows, there] = strings_BN[rows, here]
    return exchanged_BN
