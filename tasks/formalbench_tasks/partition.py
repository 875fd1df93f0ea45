"""Strings divided between training, validation and test, each by a hash of its symbols.

If a length has few members, all of them occur in training, and a test at that length measures only
memorisation. Half of the strings are for training, a quarter each for validation and test.

Legend: B strings, N positions.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from formalbench.contracts.errors import RequestError
from formalbench.contracts.source import Mask, Split, Stream, Symbols

Draw = Callable[[Stream, int, int], Symbols]

QUARTERS: dict[Split, tuple[int, ...]] = {"train": (0, 1), "validation": (2,), "test": (3,)}

ROUNDS = 200
"""Maximum redraws of strings that belong to another part; enough for a part with one member of
twenty."""

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)

_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def quarter(strings_BN: Symbols) -> Symbols:
    """Return 0 to 3 for each string, a function of its symbols alone, (B,).

    A polynomial in the symbols, mixed as by SplitMix64 (Steele, Lea & Flood 2014); integers modulo
    2^64, so that it is the same on every machine.
    """
    hash_B = np.full(len(strings_BN), strings_BN.shape[1], dtype=np.uint64)
    for symbols_B in strings_BN.T.astype(np.uint64):
        hash_B = (hash_B + symbols_B + np.uint64(1)) * _MULTIPLIER
        hash_B ^= hash_B >> np.uint64(29)
    for shift, factor in zip((30, 27), _MIX, strict=True):
        hash_B = (hash_B ^ (hash_B >> np.uint64(shift))) * factor
    return ((hash_B ^ (hash_B >> np.uint64(31))) >> np.uint64(62)).astype(np.int64)


def belongs(strings_BN: Symbols, split: Split) -> Mask:
    """Return which strings are for a split, (B,)."""
    inside_B: Mask = np.isin(quarter(strings_BN), QUARTERS[split])
    return inside_B


def draw_of(split: Split, draw: Draw, stream: Stream, length: int, count: int) -> Symbols:
    """Draw as `draw` does, given that the strings are for a split, (count, length).

    Raises:
        RequestError: if there are none, or hardly any.
    """
    strings_BN = draw(stream, length, count)
    for _ in range(ROUNDS):
        others = np.flatnonzero(~belongs(strings_BN, split))
        if not others.size:
            return strings_BN
        strings_BN[others] = draw(stream, length, len(others))
    raise RequestError(
        f"task.split=by-string: length {length} has too few strings to leave some for {split}: "
        "take longer ones"
    )
