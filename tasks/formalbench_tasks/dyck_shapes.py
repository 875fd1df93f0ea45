"""Shapes of bracket strings: which positions open and which close, drawn exactly.

Two ways, both in time proportional to the length and without a large number:

* Nothing bounds the depth. The number of ways to come from depth h down to 0 in r steps is a
  ballot number, and the share of those that open next is a small fraction:
  (h+2)(r-h) / (2r(h+1)) (see `rising_share`).
* The depth is bounded. The shapes are the strings of a small automaton, whose counts
  `formalbench_tasks.paths` keeps with exponents of their own.

Legend: B strings, N positions.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt
from formalbench.contracts.source import Mask
from formalbench.contracts.stream import Stream

from formalbench_tasks.dyck_held import HeldShapes
from formalbench_tasks.limits import check_length
from formalbench_tasks.paths import Paths

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Shapes:
    """Shapes that never close what is not open, nor go deeper than a bound.

    Args:
        deepest: the bound, 1 or more; None for none.
    """

    def __init__(self, deepest: int | None = None) -> None:
        self.deepest = deepest
        self._paths: dict[int, Paths] = {}
        self._held: dict[int, HeldShapes] = {}

    def exist(self, length: int, end: int = 0) -> bool:
        """Say whether there are any of this length that leave `end` brackets open."""
        check_length(length)
        deep_enough = self.deepest is None or end <= self.deepest
        return deep_enough and length >= end and (length - end) % 2 == 0

    def uniform(self, stream: Stream, length: int, count: int, end: int = 0) -> Mask:
        """Draw shapes uniformly among those that leave `end` brackets open.

        Returns:
            (count, length): which positions open.

        Raises:
            ValueError: if there are none.
        """
        if not self.exist(length, end):
            raise ValueError(f"no bracket string of length {length} leaves {end} open")
        # Read backwards, they start at depth `end` and come down to 0.
        if self.deepest is None or length + end <= 2 * self.deepest:
            falling_BN = _fall(stream, length, count, end)
        else:
            if end not in self._paths:
                self._paths[end] = Paths(*_bounded(self.deepest, 1), end)
            falling_BN = _draw(self._paths[end], stream, length, count)
        return np.ascontiguousarray(~falling_BN[:, ::-1]) if end else falling_BN

    def generated(self, stream: Stream, length: int, count: int, held: int = 0) -> Mask:
        """Draw balanced shapes as the process of Hewitt et al. does, given their length.

        The process opens or closes by a coin, except that it must close at the greatest depth
        and open or end at depth 0. So a shape of N symbols that closes m times from the
        greatest depth has probability 2^(m-N-1), and given N the weight is 2^m: without
        a bound, and where it cannot be reached, shapes are uniform. Where it must not end yet, see
        `dyck_held`.

        Args:
            stream: where every number comes from.
            length: N.
            count: B.
            held: with a bound, the length before which the process must not end, at most N.

        Returns:
            (count, length): which positions open.

        Raises:
            ValueError: if there are none.
        """
        if self.deepest is not None and held and self.exist(length):
            if held not in self._held:
                self._held[held] = HeldShapes(self.deepest, held, self._weighted)
            return self._held[held].draw(stream, length, count)
        if self.deepest is None or length < 2 * self.deepest or not self.exist(length):
            return self.uniform(stream, length, count)
        return _draw(self._weighted, stream, length, count)

    @cached_property
    def _weighted(self) -> Paths:
        """Count every close from the greatest depth twice."""
        assert self.deepest is not None
        return Paths(*_bounded(self.deepest, 2), 0)


def too_deep(bound: int) -> Paths:
    """Return the paths of balanced shapes that go exactly one deeper than a bound."""
    # States 0 … bound: the depth, as long as it was never bound + 1; then bound + 1 … for
    # the depths bound + 1 … 0 after that; then dead.
    over = bound + 1
    dead = 2 * bound + 3
    rows = [[depth + 1, depth - 1 if depth else dead] for depth in range(over)]
    for depth in range(over, -1, -1):
        state = over + (over - depth)
        rows.append([state - 1 if depth < over else dead, state + 1 if depth else dead])
    rows.append([dead, dead])
    classes = [int(state == dead - 1) for state in range(dead + 1)]
    return Paths(np.array(rows, dtype=np.int64), np.array(classes, dtype=np.int64), 0)


def draw_too_deep(paths: Paths, stream: Stream, length: int, count: int) -> Mask:
    """Draw from `too_deep`, uniformly; (count, length)."""
    return _draw(paths, stream, length, count)


def rising_share(depths: Ints, remaining: int | Ints) -> Floats:
    """Return the share, among the ways down to 0 in so many steps, of those that open first.

    From depth h there are (h+1)/(r+1) · C(r+1, (r-h)/2) ways in r steps (Bertrand's ballot
    theorem); dividing those from h+1 in r-1 steps by them leaves this. Numerator and
    denominator are exact in double precision for r up to 10^7.

    Args:
        depths: (B,) h, with r - h even and not negative.
        remaining: r, 1 or more, of all or (B,) of each.
    """
    shares: Floats = (depths + 2) * (remaining - depths) / (2 * remaining * (depths + 1))
    return shares


def _fall(stream: Stream, length: int, count: int, start: int) -> Mask:
    """Draw ways from depth `start` to 0, uniformly; (count, length): where they rise."""
    rises_NB = np.empty((length, count), dtype=np.bool_)
    depths_B = np.full(count, start, dtype=np.int64)
    for position in range(length):
        rises_B = stream.uniform(count) < rising_share(depths_B, length - position)
        rises_NB[position] = rises_B
        depths_B += 2 * rises_B - 1
    return np.ascontiguousarray(rises_NB.T)


def _draw(paths: Paths, stream: Stream, length: int, count: int) -> Mask:
    rises: Mask = paths.sample(stream, length, np.ones(count, dtype=np.int64)) == 0
    return rises


def _bounded(deepest: int, weight: int) -> tuple[Ints, Ints]:
    """Return the automaton of balanced shapes: states are depths, and a dead one.

    Symbol 0 opens and 1 closes. The further ones close at the greatest depth only, so that
    strings that differ in them alone count as one shape of greater weight.
    """
    dead = deepest + 1
    table = np.full((dead + 1, 1 + weight), dead, dtype=np.int64)
    table[:deepest, 0] = np.arange(1, deepest + 1)
    table[1:dead, 1] = np.arange(deepest)
    table[deepest, 1:] = deepest - 1
    return table, (np.arange(dead + 1) == 0).astype(np.int64)
