"""How many pairs of brackets each type has in a uniform interleaving of balanced strings.

Interleavings of k balanced strings with M pairs in all are w(k, M) many, and

    w(k, M) / (2M)!  =  sum over m of  1 / (m! (m+1)!)  ·  w(k-1, M-m) / (2M-2m)!

since m pairs have (2m)! / (m! (m+1)!) shapes (Catalan) and can be placed in (2M choose 2m) ways. So
the numbers of pairs are drawn type by type. Shares are kept as mantissas with exponents of their
own; only +, ×, ÷ and exact scaling by powers of two are used, in a fixed order.

Legend: B strings, K types, M pairs.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from formalbench.contracts.errors import RequestError
from formalbench.contracts.source import Labels
from formalbench.contracts.stream import Stream

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Row = tuple[Floats, Ints]
"""Numbers by M: mantissas in [1/2, 1), and exponents of two."""

MOST_PAIRS = 5_000

_LEAST = -1000  # smaller shares are raised to 2^-1000: never drawn, and never subnormal


class Interleaved:
    """Draws how many pairs each type has.

    Args:
        types: K.
    """

    def __init__(self, types: int) -> None:
        self._types = types
        self._rows: list[Row] = []

    def draw(self, stream: Stream, pairs: int, count: int) -> Labels:
        """Draw numbers that add up to `pairs`, (count, K).

        Raises:
            RequestError: if there are too many to be counted.
        """
        if pairs > MOST_PAIRS:
            raise RequestError(
                f"strings of length {2 * pairs} are too long: at most {2 * MOST_PAIRS}"
            )
        self._count(pairs)
        drawn_BK = np.empty((count, self._types), dtype=np.int64)
        left_B = np.full(count, pairs)
        for kind in range(self._types - 1):
            rest = self._rows[self._types - kind - 2]
            drawn_BK[:, kind] = self._first(stream, rest, left_B)
            left_B = left_B - drawn_BK[:, kind]
        drawn_BK[:, -1] = left_B
        return drawn_BK

    def _first(self, stream: Stream, rest: Row, left_B: Ints) -> Ints:
        """Draw how many of the pairs left are of the first type, (B,)."""
        chosen_B = np.zeros_like(left_B)
        uniform_B = stream.uniform(len(left_B))
        for pairs in np.unique(left_B).tolist():
            here_B = left_B == pairs
            sums_M = np.cumsum(_terms(self._rows[0], rest, pairs)[0])
            # Every share but the last has a threshold; one of 0 has no room below its own.
            thresholds_M = sums_M[:-1] / sums_M[-1]
            chosen_B[here_B] = np.searchsorted(thresholds_M, uniform_B[here_B], side="right")
        return chosen_B

    def _count(self, most: int) -> None:
        """Count for 1 to K-1 types and up to so many pairs."""
        if self._rows and len(self._rows[0][0]) > most:
            return
        one = _catalans(most)
        self._rows = [one]
        for _ in range(self._types - 2):
            self._rows.append(_convolved(one, self._rows[-1], most))


def _catalans(most: int) -> Row:
    """Return 1 / (m! (m+1)!) for m up to `most`."""
    mantissas, exponents = np.empty(most + 1), np.empty(most + 1, dtype=np.int64)
    mantissas[0], exponents[0] = 0.5, 1
    for m in range(1, most + 1):
        mantissas[m], shift = np.frexp(mantissas[m - 1] / (m * (m + 1)))
        exponents[m] = exponents[m - 1] + shift
    return mantissas, exponents


def _convolved(one: Row, other: Row, most: int) -> Row:
    mantissas, exponents = np.empty(most + 1), np.empty(most + 1, dtype=np.int64)
    for pairs in range(most + 1):
        terms_M, top = _terms(one, other, pairs)
        mantissas[pairs], shift = np.frexp(np.cumsum(terms_M)[-1])
        exponents[pairs] = top + shift
    return mantissas, exponents


def _terms(one: Row, other: Row, pairs: int) -> tuple[Floats, int]:
    """Return one[m] · other[pairs - m] for every m, (pairs + 1,), to a scale 2^top."""
    exponents_M = one[1][: pairs + 1] + other[1][pairs::-1]
    top = int(exponents_M.max())
    scales_M = np.maximum(exponents_M - top, _LEAST).astype(np.intc)
    return np.ldexp(one[0][: pairs + 1] * other[0][pairs::-1], scales_M), top
