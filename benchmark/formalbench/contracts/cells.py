"""The cells of a test, checked fast: thousands of records are read for a page."""

from __future__ import annotations

import marshal
import operator
from typing import Annotated, Any, ClassVar

from pydantic import (
    AfterValidator,
    Field,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)

from formalbench.contracts.part import Part

MAX_COUNT = 2**53
_MOST = 64


class Once:
    """Checks equal values once: of thousands of records most share them, and then the object.

    It is for values that do not change.
    """

    def __init__(self) -> None:
        self._held: dict[bytes, Any] = {}

    def __call__(self, value: Any, read: ValidatorFunctionWrapHandler) -> Any:
        """Return the checked value; `read` checks it."""
        try:
            # It tells 1, 1.0 and True apart, as a check must; nothing is ever loaded.
            key = marshal.dumps(value, 2)
        except ValueError:  # it does not come from JSON
            return read(value)
        if key not in self._held:
            if len(self._held) >= _MOST:
                self._held.clear()
            self._held[key] = read(value)
        return self._held[key]


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


def _check_lengths(length: tuple[int, ...]) -> tuple[int, ...]:
    if any(map(operator.ge, _check_counts(length), length[1:])):
        raise ValueError("cells must be in order of length")
    return length


class Cells(Part):
    """Test results as parallel arrays, one entry per cell.

    Attributes:
        length: string length of the cell; the greatest if it is a window.
        first: the least string length of each cell, if cells are windows.
        strings: how many were tested.
        correct: how many were right by the objective's primary metric.
        millibits: cross-entropy per answer in 1/1000 bit, averaged over `window`
            consecutive cells an entry (so that a record of 460 cells stays small).
        window: cells per entry of `millibits`; the last entry may average fewer.
    """

    later: ClassVar[frozenset[str]] = frozenset({"first"})

    length: Annotated[tuple[int, ...], AfterValidator(_check_lengths), WrapValidator(Once())]
    first: tuple[Annotated[int, Field(ge=0, le=MAX_COUNT)], ...] | None = None
    strings: Annotated[tuple[int, ...], AfterValidator(_check_strings), WrapValidator(Once())]
    correct: tuple[int, ...]
    millibits: tuple[int, ...]
    window: Annotated[int, Field(ge=1)] = 1

    @model_validator(mode="after")
    def _parallel(self) -> Cells:
        if not len(self.length) == len(self.strings) == len(self.correct):
            raise ValueError("length, strings and correct differ in size")
        if len(self.millibits) != -(-len(self.length) // self.window):
            raise ValueError("millibits does not fit length and window")
        if self.first is not None and (
            len(self.first) != len(self.length) or any(map(operator.gt, self.first, self.length))
        ):
            raise ValueError("first does not fit length")
        _check_counts(self.millibits)
        if min(self.correct) < 0:
            raise ValueError(_COUNTS)
        if any(map(operator.gt, self.correct, self.strings)):
            raise ValueError("more strings correct than tested")
        return self

    @property
    def bits(self) -> float:
        """Cross-entropy per answer in bits, the mean over the cells."""
        last = len(self.length) - self.window * (len(self.millibits) - 1)
        whole = self.window * sum(self.millibits[:-1]) + last * self.millibits[-1]
        return whole / (1000 * len(self.length))
