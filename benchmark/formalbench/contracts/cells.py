"""The cells of a test: parallel arrays that are validated fast."""

from __future__ import annotations

import math
import operator
from typing import Annotated

from pydantic import (
    AfterValidator,
    Field,
    model_validator,
)

from formalbench.contracts.objective import CROSS_ENTROPY, Measure
from formalbench.contracts.protocol import LATER, Part

MAX_COUNT = 2**53
MAX_ENTRIES = 64
"""Number of cells that share one entry of a secondary metric."""

Name = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[a-z0-9][a-z0-9-]*$")]

_COUNTS = f"a count is at least 0 and at most {MAX_COUNT}"


def _check_counts(numbers: tuple[int, ...]) -> tuple[int, ...]:
    # Thousands of records are read for a page, so numbers are not validated one by one.
    if not numbers:
        raise ValueError("a test has at least one cell")
    if min(numbers) < 0 or max(numbers) > MAX_COUNT:
        raise ValueError(_COUNTS)
    return numbers


def _check_strings(strings: tuple[int, ...]) -> tuple[int, ...]:
    if min(_check_counts(strings)) < 1:
        raise ValueError("cells must be non-empty")
    return strings


Strings = Annotated[tuple[int, ...], AfterValidator(_check_strings)]


def _check_lengths(length: tuple[int, ...]) -> tuple[int, ...]:
    if any(map(operator.gt, _check_counts(length), length[1:])):
        raise ValueError("cells must be in order of length")
    return length


class Sums(Part):
    """A metric over the cells: parallel arrays with one entry per `window` cells.

    Attributes:
        total: sums over answers; cross-entropy in 1/1000 bit.
        count: number of answers in each sum.
    """

    total: Annotated[tuple[int | float, ...], Field(max_length=MAX_ENTRIES)]
    count: Annotated[tuple[Annotated[int, Field(ge=0, le=MAX_COUNT)], ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _parallel(self) -> Sums:
        if len(self.total) != len(self.count):
            raise ValueError("total and count differ in size")
        return self


class Cells(Part):
    """Test results as parallel arrays, one entry per cell.

    Attributes:
        length: string length of each cell; for a window of lengths, the greatest.
        first: smallest string length of each cell, if cells are windows.
        group: name of the part that each cell belongs to, if the test has named parts.
        strings: number of tested strings.
        correct: number of correct answers (sum of the primary metric).
        answers: number of answers; None if each string has one.
        metrics: other metrics by name, with one sum per `window` consecutive cells (so that a
            record of 460 cells stays small).
        window: cells per entry of `metrics`; the last entry may have fewer.
        not_finite: indices of the cells with a non-finite logit; None if there are none. There
            `correct` is the number expected by chance, and `metrics` counts no answer.
    """

    length: Annotated[tuple[int, ...], AfterValidator(_check_lengths)]
    first: Annotated[tuple[Annotated[int, Field(ge=0, le=MAX_COUNT)], ...] | None, LATER] = None
    group: Annotated[tuple[Name, ...] | None, LATER] = None
    strings: Strings
    correct: tuple[int | float, ...]
    answers: Annotated[Strings | None, LATER] = None
    metrics: Annotated[dict[Name, Sums], Field(max_length=32)] = Field(default_factory=dict)
    window: Annotated[int, Field(ge=1)] = 1
    not_finite: Annotated[Annotated[tuple[int, ...], Field(min_length=1)] | None, LATER] = None

    @model_validator(mode="after")
    def _parallel(self) -> Cells:
        if not len(self.length) == len(self.strings) == len(self.correct) == len(self.asked):
            raise ValueError("length, strings, correct and answers differ in size")
        entries = -(-len(self.length) // self.window)
        for name, sums in self.metrics.items():
            if len(sums.count) != entries:
                raise ValueError(f"{name} does not fit length and window")
        if self.first is not None and (
            len(self.first) != len(self.length) or any(map(operator.gt, self.first, self.length))
        ):
            raise ValueError("first does not fit length")
        self._check_groups()
        marked = self.not_finite or ()
        if marked != tuple(sorted(set(marked))) or not set(marked) <= {*range(len(self.length))}:
            raise ValueError("not_finite must name cells, in order and each once")
        if min(self.correct) < 0:
            raise ValueError(_COUNTS)
        if any(map(operator.gt, self.correct, self.asked)):
            raise ValueError("more answers correct than tested")
        return self

    def _check_groups(self) -> None:
        if self.group is None:
            twice = any(map(operator.eq, self.length, self.length[1:]))
        elif len(self.group) != len(self.length):
            raise ValueError("group does not fit length")
        else:
            twice = len(set(zip(self.group, self.length, strict=True))) < len(self.length)
        if twice:
            raise ValueError("cells must be in order of length, each length once")

    @property
    def asked(self) -> tuple[int, ...]:
        """Number of answers per cell."""
        return self.strings if self.answers is None else self.answers

    @property
    def accuracy(self) -> float:
        """Mean accuracy over the cells, with equal weight."""
        return float(sum(map(operator.truediv, self.correct, self.asked))) / len(self.length)

    @property
    def by_group(self) -> dict[str, float]:
        """Accuracy by named part of the test; cells of a part have equal weight."""
        shares: dict[str, list[float]] = {}
        for group, correct, count in zip(self.group or (), self.correct, self.asked, strict=False):
            shares.setdefault(group, []).append(correct / count)
        return {group: math.fsum(values) / len(values) for group, values in sorted(shares.items())}

    def whole(self, metric: str) -> Measure | None:
        """Return the sum over all cells of a metric other than the primary one."""
        sums = self.metrics.get(metric)
        return None if sums is None else Measure(math.fsum(sums.total), sum(sums.count))

    def means_of(self, metric: str) -> tuple[float, ...] | None:
        """Return the mean of a secondary metric at each cell; None if it is unknown.

        NaN where no answer counts. All cells of a window have the mean over the window.
        """
        sums = self.metrics.get(metric)
        if sums is None:
            return None
        pairs = zip(sums.total, sums.count, strict=True)
        means = [total / count if count else math.nan for total, count in pairs]
        return tuple(means[index // self.window] for index in range(len(self.length)))

    @property
    def bits(self) -> float:
        """Mean cross-entropy per answer over the cells, in bits; NaN if a cell lacks it."""
        sums = self.metrics.get(CROSS_ENTROPY)
        if sums is None or not all(sums.count):
            return math.nan
        cells = [self.window] * len(sums.total)
        cells[-1] = len(self.length) - self.window * (len(cells) - 1)
        means = (
            n * total / count for n, total, count in zip(cells, sums.total, sums.count, strict=True)
        )
        return math.fsum(means) / (1000 * len(self.length))
