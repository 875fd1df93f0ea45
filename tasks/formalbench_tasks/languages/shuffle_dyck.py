"""Shuffle-Dyck-k, with uniform members.

Interleavings of k balanced strings with M pairs in all are w(k, M) many, and

    w(k, M) / (2M)!  =  sum over m of  1 / (m! (m+1)!)  ·  w(k-1, M-m) / (2M-2m)!

since m pairs have (2m)! / (m! (m+1)!) shapes (Catalan) and can be placed in (2M choose 2m) ways. So
the numbers of pairs are drawn type by type. Shares are kept as mantissas with exponents of their
own; only +, ×, ÷ and exact scaling by powers of two are used, in a fixed order.

Legend: B strings, K types, M pairs, N positions, P = N+1 prefixes, S = 2k symbols.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from formalbench.contracts.errors import RequestError
from formalbench.contracts.source import Labels, Mask, Stream, Symbols
from formalbench.contracts.specs import Splits
from formalbench.contracts.theory import Theory

from formalbench_tasks.dyck.brackets import rising_share
from formalbench_tasks.dyck.language import PAIRS
from formalbench_tasks.index import task
from formalbench_tasks.membership import BHATTAMISHRA, COUNTS, Following, counts
from formalbench_tasks.near_misses import random_orders

Ints = npt.NDArray[np.int64]

Floats = npt.NDArray[np.float64]

Row = tuple[Floats, Ints]
"""Numbers by M: mantissas in [1/2, 1), and exponents of two."""

MOST_PAIRS = 5_000

_LEAST = -1000  # smaller shares are raised to 2^-1000: never drawn, and never subnormal


class PairCounts:
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
        counts_BK = np.empty((count, self._types), dtype=np.int64)
        left_B = np.full(count, pairs)
        for kind in range(self._types - 1):
            rest = self._rows[self._types - kind - 2]
            counts_BK[:, kind] = self._first(stream, rest, left_B)
            left_B = left_B - counts_BK[:, kind]
        counts_BK[:, -1] = left_B
        return counts_BK

    def _first(self, stream: Stream, rest: Row, left_B: Ints) -> Ints:
        """Draw how many of the pairs left are of the first type, (B,)."""
        chosen_B = np.zeros_like(left_B)
        uniform_B = stream.uniform(len(left_B))
        for pairs in np.unique(left_B).tolist():
            rows_B = left_B == pairs
            sums_M = np.cumsum(_terms(self._rows[0], rest, pairs)[0])
            # Every share but the last has a threshold; one of 0 has no room below its own.
            thresholds_M = sums_M[:-1] / sums_M[-1]
            chosen_B[rows_B] = np.searchsorted(thresholds_M, uniform_B[rows_B], side="right")
        return chosen_B

    def _count(self, most: int) -> None:
        """Count for 1 to K-1 types and up to `pairs` pairs."""
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


MOST = 32
"""The most types that can be asked for."""


@task(
    "shuffle-dyck-{k}",
    "brackets of k types, each type balanced on its own; pairs of different types may cross",
    objectives=("classify", "tag", "next-symbols"),
    splits=Splits(train=(2, 50), test=(52, 150), step=2),
    reference=f"Suzgun et al. (2019); {BHATTAMISHRA}",
    theory=Theory("counter", c_rasp=True, note=f"{COUNTS}; not context-free but for k = 1"),
    keywords=("shuffle", "shuffled dyck", "brackets", "counting", "counter language"),
)
class ShuffleDyck(Following):
    """Strings whose brackets of each type are balanced when all others are left out.

    ``([)]`` is in; ``)(`` and ``(]`` are not. Type t opens with the symbol 2t and closes with 2t+1,
    as in `formalbench_tasks.dyck.language`. Members are uniform: how many pairs each type has is
    drawn first (`PairCounts`), then where each type stands, then each type's shape. The brackets
    of a uniform member do cross.

    Reference: Suzgun et al. (2019), "LSTM networks can perform dynamic counting"; Bhattamishra et
        al. (2020), section 5.

    Args:
        k: how many types of brackets there are.

    Raises:
        RequestError: if k is 0 or beyond reason.
    """

    def __init__(self, k: int) -> None:
        if not 1 <= k <= MOST:
            near = min(max(k, 1), MOST)
            raise RequestError(
                f"task shuffle-dyck-{k}: 1 to {MOST} types of brackets: try shuffle-dyck-{near}"
            )
        pairs = PAIRS[:k] if k <= len(PAIRS) else [(f"({t}", f"){t}") for t in range(1, k + 1)]
        self.alphabet = tuple(symbol for pair in pairs for symbol in pair)
        self.types = k
        self._numbers = PairCounts(k)
        more = "not context-free: intersected with (*[*)*]* it is (^n [^m )^n ]^m"
        note = "Yang and Chiang (2024): each type's counts; " + (more if k > 1 else "Dyck-1")
        self.theory = Theory("counter", c_rasp=True, context_free=k == 1, note=note)

    def oracle(self, string: Sequence[int]) -> int:
        """Of each type, cross out neighbours that open and close, until nothing changes."""
        for kind in range(self.types):
            left: list[int] = []
            for symbol in string:
                if symbol // 2 != kind:
                    continue
                if symbol % 2 and left and left[-1] % 2 == 0:
                    left.pop()
                else:
                    left.append(symbol)
            if left:
                return 0
        return 1

    def following(self, strings_BN: Symbols) -> Mask:
        """Return what may follow every prefix that begins a member, (B, N+1, S+1)."""
        counts_BPS = counts(strings_BN, len(self.alphabet))
        open_BPK = counts_BPS[:, :, 0::2] > counts_BPS[:, :, 1::2]
        allowed = np.ones((*counts_BPS.shape[:2], len(self.alphabet) + 1), dtype=np.bool_)
        allowed[:, :, 1:-1:2] = open_BPK
        allowed[:, :, -1] = ~open_BPK.any(axis=2)
        return allowed

    def classify(self, strings_BN: Symbols) -> Labels:
        """Return 1 for members and 0 for others, (B,)."""
        if not strings_BN.shape[1]:
            return np.ones(len(strings_BN), dtype=np.int64)
        return self.classify_prefixes(strings_BN)[:, -1]

    def classify_prefixes(self, strings_BN: Symbols) -> Labels:
        """Return the class of every non-empty prefix, (B, N)."""
        inside_BN = np.ones(strings_BN.shape, dtype=np.bool_)
        steps_BN = (1 - 2 * (strings_BN % 2)).astype(np.int32)
        for kind in range(self.types):
            depths_BN = np.cumsum(np.where(strings_BN // 2 == kind, steps_BN, 0), axis=1)
            inside_BN &= np.logical_and.accumulate(depths_BN >= 0, axis=1) & (depths_BN == 0)
        return inside_BN.astype(np.int64)

    def has_members(self, length: int) -> bool:
        """Return whether the length is even."""
        return length >= 0 and length % 2 == 0

    def _members(self, stream: Stream, length: int, count: int) -> Symbols:
        pairs_BK = self._numbers.draw(stream, length // 2, count)
        types_BN = _shuffled(stream, 2 * pairs_BK, length)
        rows_B = np.arange(count)
        depths_BK, left_BK = np.zeros_like(pairs_BK), 2 * pairs_BK
        strings_BN = np.empty((count, length), dtype=np.int64)
        for position, types_B in enumerate(types_BN.T):
            depths_B, left_B = depths_BK[rows_B, types_B], left_BK[rows_B, types_B]
            opens_B = stream.uniform(count) < rising_share(depths_B, left_B)
            depths_BK[rows_B, types_B] += 2 * opens_B - 1
            left_BK[rows_B, types_B] -= 1
            strings_BN[:, position] = 2 * types_B + ~opens_B
        return strings_BN


def _shuffled(stream: Stream, numbers_BK: Labels, length: int) -> Labels:
    """Return the types of all brackets in an order that is drawn uniformly, (B, N)."""
    ends_BK = np.cumsum(numbers_BK, axis=1)
    types_BN = (np.arange(length) >= ends_BK[:, :-1, None]).sum(axis=1)
    return np.take_along_axis(types_BN, random_orders(stream, *types_BN.shape), axis=1)
