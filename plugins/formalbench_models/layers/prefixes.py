"""Which first symbols of a batch to read as prefixes, each once for all strings that begin so.

Few symbols make few prefixes: two make 32 of five. So a recurrence can begin with a column for
each short prefix of a batch, go on with one for each longer prefix, and end with one for each
string. What that saves, and from which width on, is in speed/README.md.

Legend: B strings, N their symbols, X symbols in the alphabet, D positions, C prefixes, A what goes
on from them: longer prefixes, or the strings.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import torch
from torch import Tensor

from formalbench_models.layers.bptt import one_hot

_CHANGE = 0.5
"""What a change to other columns takes, in products of a position of all strings (measured)."""


_FEWEST = 16
"""Columns; a product of fewer takes no less (measured)."""


@cache
def changes(strings: int, alphabet: int, length: int) -> tuple[int, ...]:
    """Return after how many symbols, below N, to go on with more columns: what takes least.

    The first symbol counts for nothing: it has no product with a state.

    Args:
        strings: B.
        alphabet: X.
        length: N, at least 1.
    """

    def share(depth: int) -> float:
        """Return how many prefixes of this length there are at most, over B."""
        return float(max(_FEWEST, min(alphabet**depth, strings)) / strings)

    # By how many first symbols are read as prefixes: what that takes at least, and how.
    ways: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    for depth in range(1, min(length, strings.bit_length())):
        ways.append(
            min(
                (cost + (depth - max(1, start)) * share(depth) + _CHANGE, (*before, depth))
                for start, (cost, before) in enumerate(ways)
            )
        )
    return min((cost + length - max(1, depth), way) for depth, (cost, way) in enumerate(ways))[1]


def prefixes(
    symbols_BN: Tensor, inputs_NXB: Tensor, after: tuple[int, ...]
) -> list[tuple[Tensor, Tensor]]:
    """Return what `states` takes of the positions that are read as prefixes.

    Args:
        symbols_BN: of the strings.
        inputs_NXB: the same, one-hot.
        after: what `changes` returned.

    Returns:
        Up to each change, from the one before: the inputs, (D, X, C), and which prefix each
        column that comes next goes on from, one-hot, (C, A).
    """
    strings_B = torch.arange(len(symbols_BN), device=symbols_BN.device)
    # A prefix is a number, its symbols the digits, the first one the lowest.
    places_D = inputs_NXB.shape[1] ** torch.arange(max(after, default=0), device=strings_B.device)
    numbers_BD = (symbols_BN[:, : len(places_D)] * places_D).cumsum(-1)
    shared: list[tuple[Tensor, Tensor]] = []
    next_A = strings_B  # a string with each column that comes next
    for start, end in reversed(list(pairwise((0, *after)))):
        numbers_C, column_B = torch.unique(numbers_BD[:, end - 1], return_inverse=True)
        one_C = torch.empty_like(numbers_C).scatter_(0, column_B, strings_B)
        columns_CA = one_hot(column_B[next_A], len(numbers_C), inputs_NXB.dtype)
        shared.insert(0, (inputs_NXB[start:end, :, one_C], columns_CA))
        next_A = one_C
    return shared
