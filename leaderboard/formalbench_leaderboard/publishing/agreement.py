"""Whether two counts of right answers can come from one network: the statistics of an audit.

The null hypothesis is that one network was tested twice: in every cell, a string is answered
correctly with the same probability in both tests, independently. A number can be forged in two
ways, so there are two tests of the hypothesis:

- *Over all cells*: Fisher's exact test on the sums. The cells' probabilities differ, so the sums
  vary less than a binomial would (Hoeffding 1956), and the test is conservative. It detects a
  changed mean, however the change is distributed over the cells.
- *Cell by cell*: Fisher's exact test on each cell; the smallest p is multiplied by the number of
  cells (Bonferroni). It detects numbers that were raised at a few lengths and lowered at others.

The result is twice the smaller of the two p-values, at most 1. The second test is exact and the
first one is conservative, so the probability of a false alarm is at most about `ALARM` per record;
for 1,000 honest records together it is at most about 0.001. Strings are sampled independently. The
share of each class is fixed, which makes counts vary less, so this is conservative, too. A sum of
the cells' chi-squares would also detect changes of both signs at many cells, but such a change
benefits nobody, and the test is not exact.

Power: with 16 cells of 256 strings, the test detects a change of about 6 points in a mean near
50 %, and of about 1 point near 100 %. Smaller changes are visible on the record's own strings:
there, the same weights must give the same answers, except for those that depend on rounding
(`allowed`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TypeVar

from formalbench.contracts.cells import Cells

T = TypeVar("T")


ALARM = 1e-6
"""Two tests with a smaller p-value did not come from one network."""


def p_value(one: Cells, other: Cells) -> float:
    """Return the probability that two tests of one network differ at least as much as these.

    Args:
        one: the results of a test.
        other: those of a test of the same cells; the numbers of strings may differ.
    """
    cells = zip(_right(one), one.strings, _right(other), other.strings, strict=True)
    parts = _finite(one, other, cells)
    overall = _fisher(*map(sum, zip(*parts, strict=True))) if parts else 1.0
    if len(parts) <= 1:
        return overall
    return min(1.0, 2 * min(overall, len(parts) * min(_fisher(*part) for part in parts)))


def _right(test: Cells) -> list[int]:
    """Return the number of right strings in each cell.

    Strings are the trials, because the answers of one string are dependent.
    """
    cells = zip(test.correct, test.strings, test.asked, strict=True)
    return [round(correct * strings / answers) for correct, strings, answers in cells]


def _fisher(right: int, strings: int, other_right: int, other_strings: int) -> float:
    """Return the two-sided p of Fisher's exact test (Fisher 1935)."""
    from scipy.stats import fisher_exact

    table = [[right, strings - right], [other_right, other_strings - other_right]]
    return float(fisher_exact(table).pvalue)


def changed(one: Cells, other: Cells) -> int:
    """Return a lower bound of how many answers differ between tests on the same strings."""
    pairs = _finite(one, other, zip(one.correct, other.correct, strict=True))
    return math.ceil(sum(abs(a - b) for a, b in pairs))


def _finite(one: Cells, other: Cells, cells: Iterable[T]) -> list[T]:
    """Return the values of the cells where both tests had finite logits."""
    left_out = {*(one.not_finite or ()), *(other.not_finite or ())}
    return [cell for index, cell in enumerate(cells) if index not in left_out]


def allowed(answers: int, moved: int = 0) -> int:
    """Return how many answers on the same strings may differ because of the machine's arithmetic.

    The limit is one in 500, but at least two. If the network's answers are sensitive to rounding,
    it is at least four times the number that changes here between single and double precision.
    """
    return max(2, answers // 500, 4 * moved)


def allowed_bits(bits: float, moved: float = 0.0) -> float:
    """Return how much a mean cross-entropy on the same strings may differ, in bits.

    The limit is one part in 50, but at least 2 millibits, because a record may be rounded to one.

    Args:
        bits: the cross-entropy.
        moved: its change between the two precisions.
    """
    return max(0.002, bits / 50, 4 * moved)
