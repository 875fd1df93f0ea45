"""Strings just outside a language: edits, rearrangements, and their shares.

After FLaRe (Butoi et al. 2025, "Training neural networks as recognizers of formal
languages"): K random edits of a member, K geometric
with parameter 1/2, drawn again until the result is outside. Here the edits keep the
length.

What counts symbols, or looks at the first and the last of them, cannot tell such strings apart;
what counts pairs of neighbours cannot tell those of `exchange_parts`.

Legend: B strings, N positions, A strings still to be changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from formalbench.contracts.source import Mask, Stream, Symbols, balanced

Ints = npt.NDArray[np.int64]

Change = Callable[[Stream, Symbols], Symbols]
"""Changes strings, (A, N) -> (A, N)."""

Draw = Callable[[Stream, int, int], Symbols]
"""Draws strings, called with (stream, length, count)."""

IsMember = Callable[[Symbols], Mask]
"""Tells members from non-members, (A, N) -> (A,)."""

EDIT_ATTEMPTS, REARRANGE_ATTEMPTS = 16, 8
"""Maximum changes of one member."""

SHORTEST = 4
"""Minimum number of symbols (including both ends) for another order."""


def change_until_outside(
    stream: Stream,
    members_BN: Symbols,
    is_member: IsMember,
    change: Change,
    attempts: int = EDIT_ATTEMPTS,
    *,
    restart: bool = True,
) -> tuple[Symbols, Mask]:
    """Change members until they are outside the language, or `attempts` times.

    With `restart` every attempt starts from the member, otherwise from the last attempt's result.

    Returns:
        (B, N) the strings, and (B,) which of them are still members.
    """
    strings_BN, pending = members_BN.copy(), np.arange(len(members_BN))
    for _ in range(attempts):
        if not pending.size:
            break
        source_BN = members_BN if restart else strings_BN
        changed_AN = change(stream, source_BN[pending])
        strings_BN[pending] = changed_AN
        pending = pending[is_member(changed_AN)]
    inside_B = np.zeros(len(strings_BN), dtype=np.bool_)
    inside_B[pending] = True
    return strings_BN, inside_B


def edit_until_outside(
    stream: Stream, members_BN: Symbols, is_member: IsMember, symbols: int
) -> tuple[Symbols, Mask]:
    """Edit members over an alphabet of that many symbols; see `change_until_outside`."""
    return change_until_outside(
        stream, members_BN, is_member, lambda stream, one_AN: edit(stream, one_AN, symbols)
    )


def rearrange_until_outside(
    stream: Stream, members_BN: Symbols, is_member: IsMember, change: Change
) -> tuple[Symbols, Mask]:
    """Rearrange members; see `change_until_outside`."""
    attempts = REARRANGE_ATTEMPTS if members_BN.shape[1] >= SHORTEST else 0
    return change_until_outside(stream, members_BN, is_member, change, attempts, restart=False)


def edit(stream: Stream, strings_AN: Symbols, num_symbols: int) -> Symbols:
    """Return each string after a geometric number (at least 1) of random edits, (A, N)."""
    edited_AN = strings_AN.copy()
    edits_A = geometric(stream, len(strings_AN))
    for done in range(int(edits_A.max(initial=0))):
        edit_once(stream, edited_AN, (edits_A > done).nonzero()[0], num_symbols)
    return edited_AN


def geometric(stream: Stream, count: int) -> Ints:
    """Draw from Geom(1/2) on 1 … 64: the place of the lowest 1 in 64 random bits; (count,)."""
    bits = stream.raw(count)
    lowest = bits & (~bits + np.uint64(1))
    place = np.frexp(lowest.astype(np.float64))[1].astype(np.int64)
    return np.maximum(place, 1)


def edit_once(stream: Stream, strings_AN: Symbols, chosen: Ints, num_symbols: int) -> None:
    """Edit the chosen strings in place.

    Substitute, transpose, or delete a symbol and insert any, each with probability 1/3.
    """
    length = strings_AN.shape[1]
    highs = [3, length, length - 1, num_symbols - 1, num_symbols]
    samples = iter(stream.integers_each([high for high in highs if high], len(chosen)))
    edits = [next(samples).tolist() if high else [0] * len(chosen) for high in highs]
    for row, kind, i, away, shift, symbol in zip(chosen.tolist(), *edits, strict=True):
        string, j = strings_AN[row], (i + away + 1) % length
        if kind == 0:
            string[i] = (string[i] + shift + 1) % num_symbols
        elif kind == 1:
            string[i], string[j] = string[j], string[i]
        else:  # what is between moves by one towards i
            if i < j:
                string[i:j] = string[i + 1 : j + 1]
            else:
                string[j + 1 : i + 1] = string[j:i]
            string[j] = symbol


def exchange_parts(stream: Stream, strings_AN: Symbols) -> Symbols:
    """Exchange two parts that begin alike and end alike: every pair of neighbours stays.

    In …x…y…x…y… the parts x…y change places. A string where the places that are drawn leave no
    such parts stays as it is.

    Reference: Kandel, Matias, Unger & Winkler (1996), "Shuffling biological sequences".
    """
    count, length = strings_AN.shape
    at_N, rows = np.arange(length), np.arange(count)
    one_A = stream.integers(length, count)
    alike_AN = strings_AN == strings_AN[rows, one_A][:, None]
    alike_AN[rows, one_A] = False
    other_A = one_of(stream, alike_AN)
    first_A, second_A = np.minimum(one_A, other_A), np.maximum(one_A, other_A)
    # The second part ends anywhere from its beginning on, the first where the same symbol stands.
    end_A = second_A + (stream.uniform(count) * (length - second_A)).astype(np.int64)
    ends_AN = strings_AN == strings_AN[rows, np.minimum(end_A, length - 1)][:, None]
    ends_AN &= (at_N >= first_A[:, None]) & (at_N < second_A[:, None])
    stop_A = one_of(stream, ends_AN)
    found_A = (other_A >= 0) & (stop_A >= 0)
    block_AN = (at_N >= first_A[:, None]) * np.int16(3)  # the first part; before it, 0
    block_AN[at_N > stop_A[:, None]] = 2  # between
    block_AN[at_N >= second_A[:, None]] = 1  # the second part
    block_AN[at_N > end_A[:, None]] = 4
    block_AN[~found_A] = 0
    order_AN = np.argsort(block_AN, axis=1, kind="stable")
    exchanged_AN: Symbols = strings_AN[rows[:, None], order_AN]
    return exchanged_AN


def random_orders(stream: Stream, count: int, length: int) -> Ints:
    """Draw permutations of 0 … length - 1 uniformly, (count, length)."""
    keys = stream.raw(count * length).reshape(count, length)
    return np.argsort(keys, axis=1, kind="stable")


def shuffle_inside(stream: Stream, strings_AN: Symbols) -> Symbols:
    """Bring all symbols but the first and the last into an order that is drawn uniformly."""
    count, length = strings_AN.shape
    inside = max(length - 2, 0)
    order_AM = random_orders(stream, count, inside)
    shuffled_AN = strings_AN.copy()
    shuffled_AN[:, 1:-1] = np.take_along_axis(strings_AN[:, 1:-1], order_AM, axis=1)
    return shuffled_AN


def one_of(stream: Stream, marked_AN: Mask) -> Ints:
    """Draw one of the marked positions of each string, uniformly; -1 where none is, (A,)."""
    number_A = marked_AN.sum(axis=1)
    chosen_A = (stream.uniform(len(marked_AN)) * number_A).astype(np.int64)
    places_A = (np.cumsum(marked_AN, axis=1) == chosen_A[:, None] + 1).argmax(axis=1)
    return np.where(number_A > 0, places_A, -1)


ORDER: tuple[Change, Change] = (exchange_parts, shuffle_inside)
"""Ways to rearrange a member that keep its symbols and its ends."""


@dataclass(frozen=True)
class NonMembers:
    """Draws non-members of a language, most of them near misses.

    Of every eight strings four are members rearranged in the first way, two in the second, one is a
    member after random edits, and one is a uniform non-member. A member that one way cannot bring
    outside is rearranged in the other; one that neither can is replaced by an edited member or a
    uniform non-member, in turn.

    Attributes:
        members: draws members.
        is_member: tells members from non-members.
        uniform: draws uniform non-members.
        symbols: the size of the alphabet.
        ways: how members are rearranged; empty if no order of symbols leads outside.
    """

    members: Draw
    is_member: IsMember
    uniform: Draw
    symbols: int
    ways: tuple[Change, ...] = ORDER

    def draw(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw non-members of a length that has members, (count, length)."""
        turn_B = (np.arange(count) + stream.integers(8, 1)) % 8
        strings_BN = self.members(stream, length, count)
        inside_B = self._rearrange(stream, strings_BN, turn_B % 2 == 0, turn_B % 4 == 1)
        edited, uniform = np.flatnonzero(inside_B)[::2], np.flatnonzero(inside_B)[1::2]
        strings_BN[edited] = self.edited(stream, self.members(stream, length, len(edited)))
        strings_BN[uniform] = self.uniform(stream, length, len(uniform))
        return strings_BN

    def near(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw rearranged members, either way in turn, or edited ones; (count, length)."""
        strings_BN = self.members(stream, length, count)
        first_B = np.arange(count) % 2 == 0
        inside_B = self._rearrange(stream, strings_BN, first_B, ~first_B)
        members_BN = self.members(stream, length, int(inside_B.sum()))
        strings_BN[inside_B] = self.edited(stream, members_BN)
        return strings_BN

    def edited(self, stream: Stream, members_BN: Symbols) -> Symbols:
        """Return members after random edits; uniform non-members where that fails, (B, N)."""
        strings_BN, inside_B = edit_until_outside(stream, members_BN, self.is_member, self.symbols)
        length = members_BN.shape[1]
        strings_BN[inside_B] = self.uniform(stream, length, int(inside_B.sum()))
        return strings_BN

    def _rearrange(
        self, stream: Stream, strings_BN: Symbols, first_B: Mask, second_B: Mask
    ) -> Mask:
        """Rearrange members in place; return which strings are still members, (B,).

        Those in `first_B` are rearranged in the first way, then in the second if that fails; those
        in `second_B` the other way round; the others stay as they are.
        """
        inside_B = np.ones(len(strings_BN), dtype=np.bool_)
        for chosen_B, ways in ((first_B, self.ways), (second_B, self.ways[::-1])):
            pending = np.flatnonzero(chosen_B)
            for way in ways:
                strings_BN[pending], stuck_A = rearrange_until_outside(
                    stream, strings_BN[pending], self.is_member, way
                )
                inside_B[pending] = stuck_A
                pending = pending[stuck_A]
        return inside_B


def in_balance(
    stream: Stream, length: int, count: int, members: Draw, non_members: Draw
) -> Symbols:
    """Draw as many members as non-members (up to one), in any order; (count, length)."""
    inside_B = balanced(stream, count) == 1
    strings_BN = np.empty((count, length), dtype=np.int64)
    number = int(inside_B.sum())
    strings_BN[inside_B] = members(stream, length, number)
    strings_BN[~inside_B] = non_members(stream, length, count - number)
    return strings_BN


def behind(strings_AN: Symbols, marker: int) -> Mask:
    """Return which symbols stand behind the first marker of a string, (A, N)."""
    marked_AN = np.logical_or.accumulate(strings_AN == marker, axis=1)
    behind_AN = np.zeros_like(marked_AN)
    behind_AN[:, 1:] = marked_AN[:, :-1]
    return behind_AN


def exchange_two(stream: Stream, strings_AN: Symbols, among_AN: Mask) -> Symbols:
    """Exchange two different symbols, both among those marked; without two a string stays."""
    rows = np.arange(len(strings_AN))
    one_A = one_of(stream, among_AN)
    others_AN = among_AN & (strings_AN != strings_AN[rows, one_A][:, None])
    other_A = one_of(stream, others_AN)
    found = np.flatnonzero((one_A >= 0) & (other_A >= 0))
    exchanged_AN = strings_AN.copy()
    exchanged_AN[found, one_A[found]] = strings_AN[found, other_A[found]]
    exchanged_AN[found, other_A[found]] = strings_AN[found, one_A[found]]
    return exchanged_AN
