"""Strings with long runs, whose parity bounded counting does not determine.

Uniform strings have short runs (of two symbols, one in 256 is longer than 8), so an automaton that
counts only up to a bound is right on nearly all of them.

Legend: B strings, N positions, Q states, S symbols, C columns of a chain: S of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from formalbench.contracts.source import Labels, Mask, Stream, Symbols

from formalbench_tasks.automata.automaton import Automaton
from formalbench_tasks.automata.paths import Paths
from formalbench_tasks.near_misses import change_until_outside, one_of

Ints = npt.NDArray[np.int64]

MOST = 256
"""The longest mean length of a run, at any length of the string."""


def mean_runs(length: int) -> tuple[int, ...]:
    """Return the mean run lengths; equally many strings have each of them.

    About a half, a quarter, an eighth and a sixteenth of the string, as powers of two; and 2, as
    uniform strings of two symbols have.

    Example:
        >>> mean_runs(500)
        (2, 16, 32, 64, 128)
    """
    parts = (length >> shift for shift in (4, 3, 2, 1))
    return (2, *(min(MOST, 1 << max(1, part.bit_length() - 1)) for part in parts))


class Chain:
    """Strings of one class of an automaton, whose runs have a mean length.

    Given a uniformly drawn preceding symbol, each symbol, the first included, is the same as the
    one before with probability 1 - 1/mean, or one of the others. Of these strings those of a class
    are drawn, each with the probability that it has among them: an automaton that remembers the
    last symbol has a column for going on with it, which counts (mean - 1)(S - 1) times, and one for
    each other symbol.

    Args:
        automaton: of the language.
        mean: of the lengths of runs, at least 2.
    """

    def __init__(self, automaton: Automaton, mean: int) -> None:
        self._symbols = size = automaton.num_symbols
        self._start = automaton.start * size
        # Column c is the symbol c places on from the last one, in a circle.
        last_SC = (np.arange(size)[:, None] + np.arange(size)) % size
        next_QSC = automaton.transitions[:, last_SC] * size + last_SC
        weights_C = np.ones(size, dtype=np.int64)
        weights_C[0] = (mean - 1) * max(size - 1, 1)
        self._paths = Paths(
            next_QSC.reshape(-1, size),
            np.repeat(automaton.classes, size),
            self._start,
            weights_S=weights_C,
        )

    def sample(self, stream: Stream, length: int, classes_B: Labels) -> Symbols:
        """Draw strings of these classes, which the length must have; (B, N)."""
        before_B = stream.integers(self._symbols, len(classes_B))
        columns_BN = self._paths.sample(stream, length, classes_B, self._start + before_B)
        moved_BN = np.cumsum(columns_BN, axis=1)
        strings_BN: Symbols = (before_B[:, None] + moved_BN) % self._symbols
        return strings_BN


class LongRuns:
    """Draws strings with runs of all lengths, and non-members in which one border was moved.

    Args:
        automaton: of the language.
        is_member: tells members from non-members, (B, N) -> (B,).
    """

    def __init__(self, automaton: Automaton, is_member: Callable[[Symbols], Mask]) -> None:
        self._is_member = is_member
        self._chain = lru_cache(maxsize=None)(lambda mean: Chain(automaton, mean))

    def draw(self, stream: Stream, length: int, classes_B: Labels) -> Symbols:
        """Draw strings of these classes, which the length must have; (B, N)."""
        means = mean_runs(length)
        kind_B = stream.integers(len(means), len(classes_B))
        return self._drawn(stream, length, classes_B, np.array(means)[kind_B])

    def draw_near(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw non-members, where both classes have strings of the length; (count, N).

        A member becomes one if the border between two of its runs moves by a symbol, which changes
        the parity of both. If no tried border leads outside, a non-member with runs of the same
        mean length is drawn.
        """
        means = np.array(mean_runs(length))
        mean_B = means[stream.integers(len(means), count)]
        members_BN = self._drawn(stream, length, np.ones(count, dtype=np.int64), mean_B)
        strings_BN, inside_B = change_until_outside(
            stream, members_BN, self._is_member, move_border
        )
        if inside_B.any():
            outside_A = np.zeros(int(inside_B.sum()), dtype=np.int64)
            strings_BN[inside_B] = self._drawn(stream, length, outside_A, mean_B[inside_B])
        return strings_BN

    def _drawn(self, stream: Stream, length: int, classes_B: Labels, mean_B: Ints) -> Symbols:
        strings_BN = np.empty((len(classes_B), length), dtype=np.int64)
        for mean in np.unique(mean_B).tolist():
            of = np.flatnonzero(mean_B == mean)
            strings_BN[of] = self._chain(mean).sample(stream, length, classes_B[of])
        return strings_BN


def move_border(stream: Stream, strings_BN: Symbols) -> Symbols:
    """Move a border between two runs by a symbol, to either side, if there is one; (B, N)."""
    left_B = one_of(stream, strings_BN[:, :-1] != strings_BN[:, 1:])
    side_B = stream.integers(2, len(strings_BN))
    found = np.flatnonzero(left_B >= 0)
    from_B, to_B = (left_B[found] + side for side in (side_B[found], 1 - side_B[found]))
    moved_BN = strings_BN.copy()
    moved_BN[found, to_B] = strings_BN[found, from_B]
    return moved_BN
