"""Shapes of the process of Hewitt et al. that may not end before a least length.

Where the process is at depth 0 and must go on, it opens with probability 1 instead of 1/2. Given
the length, a shape's weight is 2 to the number of times that it is at depth 0 before the least
length or at the greatest depth anywhere. The first part is counted forwards, depth by depth; what
follows is as if nothing were held (`dyck_shapes`), from the depth that was reached. Only +, ×, ÷
and exact scaling by powers of two are used: the symbols are the same on every machine.

Legend: B strings, N positions, H = the least length, D depths.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from formalbench.contracts.source import Mask
from formalbench.contracts.stream import Stream

from formalbench_tasks.paths import Paths

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_LEAST = 2.0**-900
"""Shares below it are taken for 0, so that none is ever subnormal."""


class HeldShapes:
    """Draws shapes whose first part may not end.

    Args:
        deepest: the greatest depth.
        held: H, the least length, 1 or more.
        rest: the paths of shapes that may end; its states are depths.
    """

    def __init__(self, deepest: int, held: int, rest: Paths) -> None:
        self._deepest = deepest
        self._held = held
        self._rest = rest
        self._weights = _weights(deepest, held)

    def draw(self, stream: Stream, length: int, count: int) -> Mask:
        """Draw balanced shapes of an even length from H on; (count, length): where they open."""
        after = length - self._held
        shares_D = self._weights[-1] * self._rest.shares(after, 1)[: self._deepest + 1]
        depths_B = _choose(shares_D, stream.uniform(count))
        opens_BN = np.empty((count, length), dtype=np.bool_)
        opens_BN[:, : self._held] = self._first_part(stream, depths_B)
        inside_B = np.ones(count, dtype=np.int64)
        opens_BN[:, self._held :] = self._rest.sample(stream, after, inside_B, depths_B) == 0
        return opens_BN

    def _first_part(self, stream: Stream, depths_B: Ints) -> Mask:
        """Draw the way to each depth, last step first, (B, H)."""
        opens_HB = np.empty((self._held, len(depths_B)), dtype=np.bool_)
        depths_B = depths_B.copy()
        for position in range(self._held - 1, -1, -1):
            before_D = self._weights[position]
            up_D, down_D = _steps(before_D, self._deepest)
            total_B = up_D[depths_B] + down_D[depths_B]
            opens_HB[position] = stream.uniform(len(depths_B)) * total_B < up_D[depths_B]
            depths_B -= 2 * opens_HB[position] - 1
        return np.ascontiguousarray(opens_HB.T)


def _weights(deepest: int, held: int) -> Floats:
    """Return the weights of the ways from depth 0 to each depth, (H+1, D), each row to a scale."""
    rows = np.zeros((held + 1, deepest + 1))
    rows[0, 0] = 1.0
    for position in range(held):
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
