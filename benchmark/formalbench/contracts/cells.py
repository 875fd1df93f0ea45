"""The cells of a test, checked fast: thousands of records are read for a page."""

from __future__ import annotations

import math
import operator
from typing import Annotated

from pydantic import (
    AfterValidator,
    Field,
    model_validator,
)

from formalbench.contracts.metric import Measure
from formalbench.contracts.objective import CROSS_ENTROPY
from formalbench.contracts.protocol import LATER, Part

MAX_COUNT = 2**53
MAX_ENTRIES = 64
"""Of a metric that is summed up over windows of cells."""

Name = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[a-z0-9][a-z0-9-]*$")]

_COUNTS = f"a count is at least 0 and at most {MAX_COUNT}"


def _check_counts(numbers: tuple[int, ...]) -> tuple[int, ...]:
    # Thousands of records are read for a page: no check of its own for every number.
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
    """A metric over the cells: parallel arrays, an entry for each `window` of them.

    Attributes:
        total: the sums over answers; cross-entropy in 1/1000 bit.
        count: over how many answers each is.
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
        length: string length of the cell; the greatest if it is a window.
        first: the least string length of each cell, if cells are windows.
        group: of a test with named parts, the name of the part that each cell is of.
        strings: how many were tested.
        correct: the primary metric's sum: how many answers were right.
        answers: out of how many; None if of each string there is one.
        metrics: the other metrics, by name, summed up over `window` consecutive cells an entry
            (so that a record of 460 cells stays small).
        window: cells per entry of `metrics`; the last entry may have fewer.
        not_finite: the indices of the cells at which a logit was not finite; None if there are
            none. There `correct` is what chance gets right, and `metrics` counts no answer.
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
        """Out of how many answers `correct` is, per cell."""
        return self.strings if self.answers is None else self.answers

    @property
    def by_group(self) -> dict[str, float]:
        """The share that is right of each named part of the test; its cells count the same."""
        shares: dict[str, list[float]] = {}
        for group, right, asked in zip(self.group or (), self.correct, self.asked, strict=False):
            shares.setdefault(group, []).append(right / asked)
        return {group: math.fsum(found) / len(found) for group, found in sorted(shares.items())}

    def whole(self, metric: str) -> Measure | None:
        """Return a metric other than the primary one, summed up over all cells."""
        sums = self.metrics.get(metric)
        return None if sums is None else Measure(math.fsum(sums.total), sum(sums.count))

    def means_of(self, metric: str) -> tuple[float, ...] | None:
        """Return the mean of a metric other than the primary one at each cell; None if unknown.

        NaN where no answer counts. Of a window of cells each has the mean over the window.
        """
        sums = self.metrics.get(metric)
        if sums is None:
            return None
        pairs = zip(sums.total, sums.count, strict=True)
        means = [total / count if count else math.nan for total, count in pairs]
        return tuple(means[index // self.window] for index in range(len(self.length)))

    @property
    def bits(self) -> float:
        """Cross-entropy per answer in bits, the mean over the cells; NaN if not known of all."""
        sums = self.metrics.get(CROSS_ENTROPY)
        if sums is None or not all(sums.count):
            return math.nan
        cells = [self.window] * len(sums.total)
        cells[-1] = len(self.length) - self.window * (len(cells) - 1)
        means = (
            n * total / count for n, total, count in zip(cells, sums.total, sums.count, strict=True)
        )
        return math.fsum(means) / (1000 * len(self.length))
