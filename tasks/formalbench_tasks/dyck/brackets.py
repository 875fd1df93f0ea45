"""Stacks of every prefix; exact sampling of bracket shapes.

No stack is kept. The innermost open bracket after a position is the latest one that
opened to the depth there is now, so one stable sort of the positions by depth finds it.

Shapes (where brackets open) are drawn in two ways, both in time proportional to the length and
without a large number:

* Nothing bounds the depth. The number of ways to come from depth h down to 0 in r steps is a
  ballot number, and the share of those that open next is a small fraction:
  (h+2)(r-h) / (2r(h+1)) (see `rising_share`).
* The depth is bounded. The shapes are the strings of a small automaton, whose counts
  `formalbench_tasks.automata.paths` keeps with exponents of their own.

Only +, ×, ÷ and exact scaling by powers of two are used: the symbols are the same on every machine.

Legend: B strings, N positions, P = N+1 prefixes, the empty one first, H = the least length, D
depths. Brackets have ids 2t (opens type t) and 2t+1 (closes it).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from formalbench.contracts.source import Mask, Stream, Symbols

from formalbench_tasks.automata.paths import Paths
from formalbench_tasks.limits import check_length

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Stacks:
    """The stacks of strings.

    Attributes:
        depths: (B, N+1) brackets open after each prefix; below 0 after one close too many.
        tops: (B, N+1) the position of the innermost open bracket; -1 if there is none. Of
            no meaning after a prefix that begins no member.
        legal: (B, N+1) whether the prefix begins a member.
    """

    depths: Ints
    tops: Ints
    legal: Mask


def read(strings_BN: Symbols, deepest: int | None = None) -> Stacks:
    """Read bracket strings.

    Args:
        strings_BN: (B, N) bracket ids.
        deepest: the greatest depth a member may have; None for no bound.
    """
    opens_BN = strings_BN % 2 == 0
    depths_BP = depths(opens_BN)
    tops_BP = np.full(depths_BP.shape, -1, dtype=np.int64)
    tops_BP[:, 1:] = _tops(opens_BN, depths_BP[:, 1:])
    wrong_BN = depths_BP[:, 1:] < 0
    if deepest is not None:
        wrong_BN |= depths_BP[:, 1:] > deepest
    # A close must be of the type that is open before it. Where nothing is, any type will do for
    # the comparison: the depth has said so already.
    opened_BN = np.maximum(tops_BP[:, :-1], 0)
    expected_BN = np.take_along_axis(strings_BN, opened_BN, axis=1) // 2
    wrong_BN |= ~opens_BN & (strings_BN // 2 != expected_BN)
    legal_BP = np.ones(depths_BP.shape, dtype=np.bool_)
    legal_BP[:, 1:] = ~np.logical_or.accumulate(wrong_BN, axis=1)
    return Stacks(depths_BP, tops_BP, legal_BP)


def depths(opens_BN: Mask) -> Ints:
    """Return the number of brackets open after every prefix, (B, N+1)."""
    count, length = opens_BN.shape
    depths_BP = np.zeros((count, length + 1), dtype=np.int64)
    np.cumsum(2 * opens_BN.astype(np.int64) - 1, axis=1, out=depths_BP[:, 1:])
    return depths_BP


def dress(opens_BN: Mask, types: Ints) -> Symbols:
    """Assign types to brackets, (B, N); a close gets the type of its open bracket.

    Args:
        opens_BN: which positions open; never more closes than opens before them.
        types: (B, opens) the type of each open bracket from the left; all strings have as
            many. Types of brackets that stay open are used as well.
    """
    strings_BN = np.empty(opens_BN.shape, dtype=np.int64)
    strings_BN[opens_BN] = 2 * types.reshape(-1)
    # The bracket that a close matches is the innermost open one just before it.
    tops_BN = _tops(opens_BN, depths(opens_BN)[:, 1:])
    rows, places = np.nonzero(~opens_BN)
    strings_BN[rows, places] = strings_BN[rows, tops_BN[rows, places - 1]] + 1
    return strings_BN


def _tops(opens_BN: Mask, depths_BN: Ints) -> Ints:
    """Return the position of the innermost open bracket after each position, (B, N)."""
    length = opens_BN.shape[1]
    # NumPy sorts 16-bit integers in linear time.
    keys_BN = depths_BN.astype(np.int16 if length < 1 << 15 else np.int32)
    order_BN = np.argsort(keys_BN, axis=1, kind="stable")
    # A depth above 0 is reached by opening first, so nothing leaks from one depth to the next.
    opened_BN = np.take_along_axis(opens_BN, order_BN, axis=1)
    latest_BN = np.maximum.accumulate(np.where(opened_BN, np.arange(length), 0), axis=1)
    tops_BN = np.empty_like(order_BN)
    found_BN = np.take_along_axis(order_BN, latest_BN, axis=1)
    np.put_along_axis(tops_BN, order_BN, found_BN, axis=1)
    tops_BN[depths_BN <= 0] = -1
    return tops_BN


Floats = npt.NDArray[np.float64]

_LEAST = 2.0**-900
"""Smaller shares are set to 0, so that none is subnormal."""


class MinimumLengthShapes:
    """Samples shapes whose first part must not end.

    Where the process is at depth 0 and must go on, it opens with probability 1 instead of 1/2.
    Given the length, a shape's weight is 2 to the number of times that it is at depth 0 before the
    least length or at the greatest depth anywhere. The first part is counted forwards, depth by
    depth; what follows is as if nothing were held (`Shapes`), from the depth that was reached.

    Args:
        deepest: the greatest depth.
        held: H, the least length, 1 or more.
        rest: the paths of shapes that may end; its states are depths.
    """

    def __init__(self, deepest: int, held: int, rest: Paths) -> None:
        self._deepest = deepest
        self._min_length = held
        self._rest = rest
        self._weights = _weights(deepest, held)

    def draw(self, stream: Stream, length: int, count: int) -> Mask:
        """Draw balanced shapes of an even length from H on; (count, length): where they open."""
        after = length - self._min_length
        shares_D = self._weights[-1] * self._rest.shares(after, 1)[: self._deepest + 1]
        depths_B = _choose(shares_D, stream.uniform(count))
        opens_BN = np.empty((count, length), dtype=np.bool_)
        opens_BN[:, : self._min_length] = self._first_part(stream, depths_B)
        inside_B = np.ones(count, dtype=np.int64)
        opens_BN[:, self._min_length :] = self._rest.sample(stream, after, inside_B, depths_B) == 0
        return opens_BN

    def _first_part(self, stream: Stream, depths_B: Ints) -> Mask:
        """Draw the way to each depth, last step first, (B, H)."""
        opens_HB = np.empty((self._min_length, len(depths_B)), dtype=np.bool_)
        depths_B = depths_B.copy()
        for position in range(self._min_length - 1, -1, -1):
            before_D = self._weights[position]
            up_D, down_D = _steps(before_D, self._deepest)
            total_B = up_D[depths_B] + down_D[depths_B]
            opens_HB[position] = stream.uniform(len(depths_B)) * total_B < up_D[depths_B]
            depths_B -= 2 * opens_HB[position] - 1
        return np.ascontiguousarray(opens_HB.T)


def _weights(deepest: int, min_length: int) -> Floats:
    """Return the weights of the ways from depth 0 to each depth, (H+1, D), each row to a scale."""
    rows = np.zeros((min_length + 1, deepest + 1))
    rows[0, 0] = 1.0
    for position in range(min_length):
        up_D, down_D = _steps(rows[position], deepest)
        total_D = up_D + down_D
        scaled_D = np.ldexp(total_D, -int(np.frexp(total_D.max())[1]))
        rows[position + 1] = np.where(scaled_D < _LEAST, 0.0, scaled_D)
    return rows


def _steps(weights_D: Floats, deepest: int) -> tuple[Floats, Floats]:
    """Return the weights of arriving at each depth by an open and by a close, (D,) each.

    At depth 0 there is nothing but to open, at the greatest nothing but to close: where the
    coin of the process is not asked, the way counts twice.
    """
    twice_D = weights_D.copy()
    twice_D[[0, deepest]] *= 2
    up_D, down_D = np.zeros(deepest + 1), np.zeros(deepest + 1)
    up_D[1:] = twice_D[:-1]
    down_D[:-1] = twice_D[1:]
    return up_D, down_D


def _choose(shares_D: Floats, uniform_B: Floats) -> Ints:
    """Choose an index for each string with these weights, (B,)."""
    sums = [0.0]
    for share in shares_D.tolist():
        sums.append(sums[-1] + share)
    thresholds_D = np.array(sums[1:-1])
    chosen_B: Ints = (uniform_B[:, None] * sums[-1] >= thresholds_D).sum(axis=1)
    return chosen_B


class Shapes:
    """Shapes that never close what is not open, nor go deeper than a bound.

    Args:
        deepest: the bound, 1 or more; None for none.
    """

    def __init__(self, deepest: int | None = None) -> None:
        self.deepest = deepest
        self._paths: dict[int, Paths] = {}
        self._min_shapes: dict[int, MinimumLengthShapes] = {}

    def exist(self, length: int, end: int = 0) -> bool:
        """Return whether there are any of this length that leave `end` brackets open."""
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
        `MinimumLengthShapes`.

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
            if held not in self._min_shapes:
                self._min_shapes[held] = MinimumLengthShapes(self.deepest, held, self._weighted)
            return self._min_shapes[held].draw(stream, length, count)
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
    """Return the share of paths down to 0 in `remaining` steps that open first.

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
