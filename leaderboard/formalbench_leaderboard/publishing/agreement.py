"""Whether two counts of right answers can come from one network: the statistics of an audit.

The null hypothesis is that a network was tested twice: at every cell, a string is right with the
same probability in both tests, independently. Two questions are asked of it, since a number can be
forged in two ways:

- *Over all cells*: Fisher's exact test on the sums. The cells' probabilities differ, which makes
  the sums vary less than a binomial would (Hoeffding 1956), so the test errs on the safe side. It
  sees what moves a mean, however thinly it is spread.
- *Cell by cell*: Fisher's exact test on each, the least p times the number of cells (Bonferroni).
  It sees what was made up at a few lengths and taken away at others.

The answer is twice the lesser of the two, at most 1. The second test is exact and the first on the
safe side, so a false alarm has a probability of at most about `ALARM` per record, and among 1,000
honest records there is one with a probability of at most about 0.001. Strings are drawn
independently; that both classes have their share makes counts vary less, the safe side again. A sum
of the cells' chi-squares would also see changes of both signs at many cells, but nobody gains by
those, and it is not exact.

What it can see: over 16 cells of 256 strings about 6 points of a mean near 50 %, about 1 point
of one near 100 %. What is smaller shows on the strings of the record itself: there the same
weights must give the same answers, but for those that hang on rounding (`allowed`).
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
"""What is less likely than that did not come from one network."""


@dataclass(frozen=True, slots=True)
class CellCounts:
    """How many answers were right, cell by cell.

    Attributes:
        strings: how many there were.
        correct: how many answers were right.
        answers: out of how many; None if of each string there is one.
        not_finite: the indices of the cells at which a logit was not finite: there `correct` is
            chance, and no test is compared with another.
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
        """Out of how many answers `correct` is."""
        return self.strings if self.answers is None else self.answers

    @property
    def right(self) -> list[int]:
        """How many strings were right: as trials, since answers of one depend on each other."""
        cells = zip(self.correct, self.strings, self.asked, strict=True)
        return [round(correct * strings / asked) for correct, strings, asked in cells]

    @property
    def accuracy(self) -> float:
        """The mean over the cells, each counting the same."""
        shares = [right / every for right, every in zip(self.correct, self.asked, strict=True)]
        return sum(shares) / len(shares)


def p_value(one: CellCounts, other: CellCounts) -> float:
    """Return how likely two tests of one network differ as much, or more.

    Args:
        one: of a test.
        other: of a test of the same cells; their numbers of strings may differ.
    """
    cells = zip(one.right, one.strings, other.right, other.strings, strict=True)
    parts = _finite(one, other, cells)
    whole = _fisher(*map(sum, zip(*parts, strict=True))) if parts else 1.0
    if len(parts) <= 1:
        return whole
    return min(1.0, 2 * min(whole, len(parts) * min(_fisher(*part) for part in parts)))


def _fisher(right: int, strings: int, other_right: int, other_strings: int) -> float:
    """Return the two-sided p of Fisher's exact test (Fisher 1935)."""
    from scipy.stats import fisher_exact

    table = [[right, strings - right], [other_right, other_strings - other_right]]
    return float(fisher_exact(table).pvalue)


def changed(one: CellCounts, other: CellCounts) -> int:
    """Return how many answers must differ, at least, between two tests on the same strings."""
    pairs = _finite(one, other, zip(one.correct, other.correct, strict=True))
    return math.ceil(sum(abs(a - b) for a, b in pairs))


def _finite(one: CellCounts, other: CellCounts, cells: Iterable[T]) -> list[T]:
    """Return what belongs to the cells at which both tests were finite."""
    left_out = {*one.not_finite, *other.not_finite}
    return [cell for index, cell in enumerate(cells) if index not in left_out]


def allowed(answers: int, moved: int = 0) -> int:
    """Return how many answers on the same strings may change with the machine's arithmetic.

    One in 500, and at least two; for a network whose answers hang on rounding, four times
    as many as change here between single and double precision.

    Args:
        answers: how many there are.
        moved: how many change between the two precisions.
    """
    return max(2, answers // 500, 4 * moved)


def allowed_bits(bits: float, moved: float = 0.0) -> float:
    """Return by how much a mean cross-entropy on the same strings may change, in bits.

    One part in 50, and at least 2 millibits (a record may be rounded to one).

    Args:
        bits: the cross-entropy.
        moved: how much it changes between the two precisions.
    """
    return max(0.002, bits / 50, 4 * moved)
