"""Eight kinds of wrong bracket strings, and their shares.

Legend: B strings, N positions.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
from formalbench.contracts.source import Mask, Stream, Symbols

from formalbench_tasks.automata.paths import Paths
from formalbench_tasks.dyck.brackets import Shapes, depths, draw_too_deep, dress, read, too_deep
from formalbench_tasks.near_misses import (
    Draw,
    IsMember,
    change_until_outside,
    edit_until_outside,
    exchange_parts,
    one_of,
    rearrange_until_outside,
    shuffle_inside,
)

Ints = npt.NDArray[np.int64]

UNBALANCED = ("flip", "type", "unclosed")
"""Kinds that counting brackets distinguishes from members."""

BALANCED = ("crossed", "shuffled", "exchange", "too-deep")
"""Other kinds, except ``rearranged``."""

ROOM = 6
"""Minimum length at which inner brackets can always be put into a wrong order."""


class NearMisses:
    """Eight kinds of non-members.

    * ``flip``: a member with one bracket turned round;
    * ``type``: a member with the type of one bracket changed;
    * ``exchange``: a member with two brackets exchanged;
    * ``rearranged``: a member with two parts exchanged that begin alike and end alike, so that
      every pair of neighbours stays (`formalbench_tasks.near_misses`); where that leads to
      members only, ``crossed`` or, with one type, ``shuffled``;
    * ``crossed``: the closes, or the opens, of two pairs of different types exchanged;
    * ``shuffled``: all but the first and the last bracket of a member in a uniform order;
    * ``unclosed``: right as far as it goes, but at its end two brackets are open (one, if
      the length is odd);
    * ``too-deep``: balanced, but one level deeper than allowed, at least once.

    All but the last two are made from uniform members. ``rearranged``, ``crossed`` and
    ``shuffled`` have as many of each bracket, the same first and the same last one as some member.
    The last two are uniform among the strings so described. An odd length has ``unclosed``
    only; ``type`` and ``crossed`` take two types of brackets, ``too-deep`` a bound and room to
    break it, ``unclosed`` of even length a depth of two, and another order six brackets.

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
        members: Draw,
        is_member: IsMember,
    ) -> None:
        self._types = types
        self._deepest = deepest
        self._members = members
        self._is_member = is_member
        self._shapes = Shapes(deepest)
        self._makers: dict[str, Draw] = {
            "flip": self._flip,
            "type": self._type,
            "exchange": self._exchange,
            "rearranged": self._rearranged,
            "crossed": self._crossed,
            "shuffled": self._shuffled,
            "unclosed": self._unclosed,
            "too-deep": self._too_deep,
        }

    def kinds(self, length: int) -> list[str]:
        """Return the kinds there are at this length."""
        even = length > 0 and length % 2 == 0
        bounded, end = self._deepest is not None, 2 if even else 1
        possible = {
            "flip": even,
            "type": even and self._types > 1,
            "exchange": even,
            "rearranged": even and length >= ROOM,
            "crossed": even and length >= ROOM and self._types > 1,
            "shuffled": even and length >= ROOM,
            "unclosed": length > 0 and self._shapes.exist(length, end),
            "too-deep": even and bounded and length >= 2 * (self._deepest or 0) + 2,
        }
        return [kind for kind, exists in possible.items() if exists]

    def draw(
        self, stream: Stream, length: int, count: int, among: Collection[str] | None = None
    ) -> Symbols:
        """Draw from all kinds there are, in turn; (count, length), or (0, length) if none is.

        Args:
            stream: where every number comes from.
            length: N.
            count: B.
            among: these kinds only; None for all.
        """
        kinds = [kind for kind in self.kinds(length) if among is None or kind in among]
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
        strings_BN, inside_B = change_until_outside(
            stream, members_BN, self._is_member, _exchange_any
        )
        inside = np.flatnonzero(inside_B)
        if not inside.size:
            return strings_BN
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

    def _rearranged(self, stream: Stream, length: int, count: int) -> Symbols:
        members_BN = self._members(stream, length, count)
        strings_BN, stuck_B = rearrange_until_outside(
            stream, members_BN, self._is_member, exchange_parts
        )
        fallback = self._crossed if self._types > 1 else self._shuffled
        strings_BN[stuck_B] = fallback(stream, length, int(stuck_B.sum()))
        return strings_BN

    def _shuffled(self, stream: Stream, length: int, count: int) -> Symbols:
        strings_BN, stuck_B = rearrange_until_outside(
            stream, self._members(stream, length, count), self._is_member, shuffle_inside
        )
        # Two closes and more after a single open leave nothing to close.
        inner_AM = strings_BN[stuck_B, 1:-1]
        closes_first_AM = np.argsort(inner_AM % 2 == 0, axis=1, kind="stable")
        strings_BN[stuck_B, 1:-1] = np.take_along_axis(inner_AM, closes_first_AM, axis=1)
        return strings_BN

    def _crossed(self, stream: Stream, length: int, count: int) -> Symbols:
        """Exchange two closes that follow closes, or two opens before opens, where there are two.

        So no bracket stands beside a wrong one: it takes the stack to see the mistake. The first
        and the last bracket keep their places.
        """
        strings_BN = self._members(stream, length, count)
        rows = np.arange(count)
        closing_B = stream.integers(2, count)
        one, other = _two_brackets(stream, strings_BN % 2 == closing_B[:, None], closing_B)
        type_B = strings_BN[rows, one] // 2 + 1 + stream.integers(self._types - 1, count)
        # The second pair is given another type than the first, and then both have a wrong end.
        strings_BN[rows, _partners(strings_BN, other)] = 2 * (type_B % self._types) + 1 - closing_B
        strings_BN[rows, other] = 2 * (type_B % self._types) + closing_B
        return _exchanged(strings_BN, one, other)

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


def _exchanged(strings_BN: Symbols, one: Ints, other: Ints) -> Symbols:
    rows = np.arange(len(strings_BN))
    exchanged_BN = strings_BN.copy()
    exchanged_BN[rows, one] = strings_BN[rows, other]
    exchanged_BN[rows, other] = strings_BN[rows, one]
    return exchanged_BN


def _two_brackets(stream: Stream, same_BN: Mask, closing_B: Ints) -> tuple[Ints, Ints]:
    """Draw two brackets of each string that stand beside one like them, if there are two.

    Args:
        stream: where every number comes from.
        same_BN: (B, N) the brackets that open or, in some strings, those that close.
        closing_B: (B,) 1 for strings where they close.
    """
    inner_BN = same_BN.copy()
    inner_BN[:, [0, -1]] = False
    beside_BN = np.zeros_like(same_BN)
    closing_B1 = closing_B[:, None] == 1
    beside_BN[:, 1:-1] = np.where(closing_B1, same_BN[:, :-2], same_BN[:, 2:])
    beside_BN &= inner_BN
    few_B = beside_BN.sum(axis=1) < 2
    beside_BN[few_B] = inner_BN[few_B]
    one = one_of(stream, beside_BN)
    beside_BN[np.arange(len(one)), one] = False
    return one, one_of(stream, beside_BN)


def _partners(members_BN: Symbols, places: Ints) -> Ints:
    """Return where the other bracket of the pair stands that has one at each place, (B,)."""
    opened_BN = np.where(members_BN % 2 == 1, read(members_BN).tops[:, :-1], -1)
    open_B = opened_BN[np.arange(len(places)), places]
    close_B = (opened_BN == places[:, None]).argmax(axis=1)
    return np.where(open_B >= 0, open_B, close_B)


def _exchange_any(stream: Stream, strings_AN: Symbols) -> Symbols:
    """Exchange two uniform positions."""
    count, length = strings_AN.shape
    one_A = stream.integers(length, count)
    other_A = (one_A + 1 + stream.integers(length - 1, count)) % length
    return _exchanged(strings_AN, one_A, other_A)


class BracketNonMembers:
    """Draws non-members of a language of brackets.

    At even lengths three quarters are balanced type by type, so that counting does not tell them
    from members: half of all are ``rearranged`` (`NearMisses`), a quarter ``crossed``,
    ``shuffled``, ``exchange``d or ``too-deep`` in turn. An eighth are near misses that are not
    balanced, a sixteenth members after a few random edits (`formalbench_tasks.near_misses`), a
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
        is_member: IsMember,
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
        kinds = list(dict.fromkeys(draws))
        kind_B = np.array([kinds.index(draw) for draw in draws])[turn_B]
        for kind, draw in enumerate(kinds):
            rows = np.flatnonzero(kind_B == kind)
            if rows.size:
                strings_BN[rows] = draw(stream, length, len(rows))
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
        strings_BN, inside_B = edit_until_outside(
            stream, members_BN, self._is_member, self._symbols
        )
        strings_BN[inside_B, 0] ^= 1  # then it begins with a close
        return strings_BN

    def _uniform(self, stream: Stream, length: int, count: int) -> Symbols:
        def again(stream: Stream, strings_AN: Symbols) -> Symbols:
            return stream.integers(self._symbols, strings_AN.shape)

        strings_BN = stream.integers(self._symbols, (count, length))
        inside = np.flatnonzero(self._is_member(strings_BN))
        strings_BN[inside], stuck_A = change_until_outside(
            stream, strings_BN[inside], self._is_member, again
        )
        strings_BN[inside[stuck_A], 0] ^= 1  # then it begins with a close
        return strings_BN
