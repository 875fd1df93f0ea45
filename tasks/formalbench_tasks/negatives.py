"""Hard negatives: strings just outside a language, made by editing its members.

After FLaRe (Butoi et al. 2025, "Training neural networks as recognizers of formal
languages"): K random edits of a member, K geometric
with parameter 1/2, drawn again until the result is outside. Here the edits keep the
length.

Legend: B strings, N positions, A strings still to be edited.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from formalbench.contracts.source import Mask, Symbols
from formalbench.contracts.stream import Stream

Ints = npt.NDArray[np.int64]

ROUNDS = 16
"""How often the edits of one member are drawn again before it is given up."""


def corrupt(
    stream: Stream,
    members_BN: Symbols,
    num_symbols: int,
    is_member: Callable[[Symbols], Mask],
) -> tuple[Symbols, Mask]:
    """Edit members until they are outside the language, or `ROUNDS` times.

    Args:
        stream: where every number comes from.
        members_BN: (B, N) members, N ≥ 1.
        num_symbols: the size of the alphabet.
        is_member: tells members from non-members, (A, N) -> (A,).

    Returns:
        (B, N) the edited strings, and (B,) which of them could not be brought outside.
    """
    strings_BN = members_BN.copy()
    pending = np.arange(len(strings_BN))
    for _ in range(ROUNDS):
        if not pending.size:
            break
        edited_AN = edit(stream, members_BN[pending], num_symbols)
        strings_BN[pending] = edited_AN
        pending = pending[is_member(edited_AN)]
    stuck_B = np.zeros(len(strings_BN), dtype=np.bool_)
    stuck_B[pending] = True
    return strings_BN, stuck_B


def edit(stream: Stream, strings_AN: Symbols, num_symbols: int) -> Symbols:
    """Return each string after a geometric number (at least 1) of random edits, (A, N)."""
    edited_AN = strings_AN.copy()
    edits_A = geometric(stream, len(strings_AN))
    for done in range(int(edits_A.max(initial=0))):
        active = np.flatnonzero(edits_A > done)
        edited_AN[active] = edit_once(stream, edited_AN[active], num_symbols)
    return edited_AN


def geometric(stream: Stream, count: int) -> Ints:
    """Draw from Geom(1/2) on 1 … 64: the place of the lowest 1 in 64 random bits; (count,)."""
    bits = stream.raw(count)
    lowest = bits & (~bits + np.uint64(1))
    place = np.frexp(lowest.astype(np.float64))[1].astype(np.int64)
    return np.maximum(place, 1)


def edit_once(stream: Stream, strings_AN: Symbols, num_symbols: int) -> Symbols:
    """Substitute, transpose, or delete and insert, each with probability 1/3."""
    count, length = strings_AN.shape
    row_A = np.arange(count)
    kind_A = stream.integers(3, count)
    here_A = stream.integers(length, count)
    away_A = stream.integers(length - 1, count) + 1 if length > 1 else 0
    there_A = (here_A + away_A) % length
    old_A, other_A = strings_AN[row_A, here_A], strings_AN[row_A, there_A]
    shift_A = stream.integers(num_symbols - 1, count) + 1 if num_symbols > 1 else 0
    different_A = (old_A + shift_A) % num_symbols
    any_A = stream.integers(num_symbols, count)

    edited_AN = strings_AN.copy()
    substitute, transpose, move = (np.flatnonzero(kind_A == kind) for kind in range(3))
    edited_AN[substitute, here_A[substitute]] = different_A[substitute]
    edited_AN[transpose, here_A[transpose]] = other_A[transpose]
    edited_AN[transpose, there_A[transpose]] = old_A[transpose]
    edited_AN[move] = delete_insert(strings_AN[move], here_A[move], there_A[move], any_A[move])
    return edited_AN


def delete_insert(strings_AN: Symbols, out_A: Ints, in_A: Ints, new_A: Ints) -> Symbols:
    """Delete the symbol at `out_A`, then insert `new_A` so that it stands at `in_A`."""
    at_N = np.arange(strings_AN.shape[1])
    out_A1, in_A1 = out_A[:, None], in_A[:, None]
    from_right = (out_A1 <= at_N) & (at_N < in_A1)
    from_left = (in_A1 < at_N) & (at_N <= out_A1)
    source_AN = at_N + from_right - from_left
    moved_AN: Symbols = np.take_along_axis(strings_AN, source_AN, axis=1)
    moved_AN[np.arange(len(moved_AN)), in_A] = new_A
    return moved_AN
