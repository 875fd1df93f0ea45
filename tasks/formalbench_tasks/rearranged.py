"""Strings in another order: the same symbols, the same ends, and where it can be the same pairs.

What counts symbols, or looks at the first and the last of them, cannot tell such strings apart;
what counts pairs of neighbours cannot tell those of `exchange_parts`.

Legend: B strings, N positions, A strings still to be rearranged.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from formalbench.contracts.source import Mask, Symbols
from formalbench.contracts.stream import Stream

Ints = npt.NDArray[np.int64]
Rearrange = Callable[[Stream, Symbols], Symbols]

ROUNDS = 8
"""How often one string is rearranged before it is given up."""

SHORTEST = 4
"""With fewer symbols, two of them the ends, there is no other order."""


def rearrange_until_outside(
    stream: Stream, members_BN: Symbols, is_member: Callable[[Symbols], Mask], how: Rearrange
) -> tuple[Symbols, Mask]:
    """Rearrange members, each again and again, until they are outside.

    Args:
        stream: where every number comes from.
        members_BN: (B, N) members.
        is_member: tells members from non-members, (A, N) -> (A,).
        how: `exchange_parts` or `shuffle_inside`.

    Returns:
        (B, N) the strings, and (B,) which of them are members after `ROUNDS` times.
    """
    strings_BN = members_BN.copy()
    pending = np.arange(len(strings_BN) if strings_BN.shape[1] >= SHORTEST else 0)
    for _ in range(ROUNDS):
        if not pending.size:
            break
        moved_AN = how(stream, strings_BN[pending])
        strings_BN[pending] = moved_AN
        pending = pending[is_member(moved_AN)]
    stuck_B = np.full(len(strings_BN), strings_BN.shape[1] < SHORTEST)
    stuck_B[pending] = True
    return strings_BN, stuck_B


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
    return np.take_along_axis(strings_AN, order_AN, axis=1)


def shuffle_inside(stream: Stream, strings_AN: Symbols) -> Symbols:
    """Bring all symbols but the first and the last into an order that is drawn uniformly."""
    count, length = strings_AN.shape
    inside = max(length - 2, 0)
    order_AM = np.argsort(stream.raw(count * inside).reshape(count, inside), axis=1, kind="stable")
    shuffled_AN = strings_AN.copy()
    shuffled_AN[:, 1:-1] = np.take_along_axis(strings_AN[:, 1:-1], order_AM, axis=1)
    return shuffled_AN


def one_of(stream: Stream, marked_AN: Mask) -> Ints:
    """Draw one of the marked positions of each string, uniformly; -1 where none is, (A,)."""
    number_A = marked_AN.sum(axis=1)
    chosen_A = (stream.uniform(len(marked_AN)) * number_A).astype(np.int64)
    places_A = (np.cumsum(marked_AN, axis=1) == chosen_A[:, None] + 1).argmax(axis=1)
    return np.where(number_A > 0, places_A, -1)
