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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeVar

if TYPE_CHECKING:
    from formalbench.contracts.cells import Cells

T = TypeVar("T")


ALARM = 1e-6
"""Two tests with a smaller p-value did not come from one network."""


@dataclass(frozen=True, slots=True)
class CellCounts:
    """Number of right answers in each cell.

    Attributes:
        strings: number of strings.
        correct: number of right answers.
        answers: number of answers; None if each string has one.
        not_finite: indices of the cells with a logit that was not finite. There, `correct` is the
            chance level, and tests are not compared.
    """

    strings: Sequence[int]
    correct: Sequence[float]
    answers: Sequence[int] | None = None
    not_finite: Sequence[int] = ()

    @classmethod
    def of(cls, cells: Cells) -> Self:
        """Return the counts of a test in a record."""
        return cls(cells.strings, cells.correct, cells.answers, cells.not_finite or ())

    @property
    def asked(self) -> Sequence[int]:
        """Number of answers in each cell, right or wrong."""
        return self.strings if self.answers is None else self.answers

    @property
    def right(self) -> list[int]:
        """Number of right strings. Strings are the trials: answers of one string are dependent."""
        cells = zip(self.correct, self.strings, self.asked, strict=True)
        return [round(correct * strings / answers) for correct, strings, answers in cells]

    @property
    def accuracy(self) -> float:
        """The mean accuracy over the cells, each with equal weight."""
        shares = [right / answers for right, answers in zip(self.correct, self.asked, strict=True)]
        return sum(shares) / len(shares)


def p_value(one: CellCounts, other: CellCounts) -> float:
    """Return the probability that two tests of one network differ at least as much as these.

    Args:
        one: counts of a test.
        other: counts of a test of the same cells; the numbers of strings may differ.
    """
    cells = zip(one.right, one.strings, other.right, other.strings, strict=True)
    parts = _finite(one, other, cells)
    overall = _fisher(*map(sum, zip(*parts, strict=True))) if parts else 1.0
    if len(parts) <= 1:
        return overall
    return min(1.0, 2 * min(overall, len(parts) * min(_fisher(*part) for part in parts)))


def _fisher(right: int, strings: int, other_right: int, other_strings: int) -> float:
    """Return the two-sided p of Fisher's exact test (Fisher 1935)."""
    from scipy.stats import fisher_exact

    table = [[right, strings - right], [other_right, other_strings - other_right]]
    return float(fisher_exact(table).pvalue)


def changed(one: CellCounts, other: CellCounts) -> int:
    """Return a lower bound of how many answers differ between tests on the same strings."""
    pairs = _finite(one, other, zip(one.correct, other.correct, strict=True))
    return math.ceil(sum(abs(a - b) for a, b in pairs))


def _finite(one: CellCounts, other: CellCounts, cells: Iterable[T]) -> list[T]:
    """Return the values of the cells where both tests were finite."""
    left_out = {*one.not_finite, *other.not_finite}
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
