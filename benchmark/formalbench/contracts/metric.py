"""A metric: a named sum over answers.

Legend: B strings, K outputs.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from torch import Tensor

    from formalbench.contracts.example import Example
    from formalbench.contracts.source import Source, Symbols


class Measure(NamedTuple):
    """A sum over answers, and how many answers it is over; adds up."""

    total: float
    count: int  # type: ignore[assignment]  # a tuple has a method of this name

    @property
    def mean(self) -> float:
        """The share or mean; NaN if there was nothing to sum up."""
        return self.total / self.count if self.count else float("nan")

    def plus(self, other: Measure) -> Measure:
        """Return the sum over the answers of both."""
        return Measure(self.total + other.total, self.count + other.count)


Measures = Mapping[str, Measure]
"""By the metric's name."""

State = npt.NDArray[np.float64]
"""What a metric has added up so far; see `Metric.measure`."""


class Metric(ABC):
    """Something to measure of answers. The engine adds up what batches give.

    Attributes:
        name: in records and on boards; lower case with hyphens.
        teacher_forced: for the layout ``decoded``: whether it is of what a network says given the
            right answers so far, as cross-entropy is, and not given its own.
        signature: what else decides its numbers, as the version and the options of a library;
            it is in the record.
    """

    name: str
    teacher_forced: bool = False
    signature: str = ""

    def know(self, source: Source, strings_BN: Symbols) -> npt.NDArray[Any] | None:
        """Return what else must be known of strings of one length, (B, …).

        It is kept with them as ``example.known[name]``, and computed once. None (the default)
        for nothing.
        """
        return None

    @abstractmethod
    def measure(self, logits: Tensor, example: Example) -> Tensor:
        """Return what a batch adds, as one tensor of numbers.

        For most metrics that is (2,): a sum over the answers that are scored, and how many
        there are. One that needs more (a mean over distances) returns what `finish` makes it of;
        sums of different lengths are aligned at their beginning.
        """

    def finish(self, state: State) -> dict[str, Measure]:
        """Return the measures, by name, of what all batches have added up to."""
        return {self.name: Measure(float(state[0]), round(float(state[1])))}


class StringMetric(Metric):
    """The share of strings that are right as a whole, or their mean share that is."""

    @abstractmethod
    def right(self, logits: Tensor, example: Example) -> Tensor:
        """Return which strings are right, (B,) bool, or how much of each, from 0 to 1.

        It runs under `torch.func.vmap`, too.
        """

    def measure(self, logits: Tensor, example: Example) -> Tensor:
        """Return how many strings are right, and how many there are."""
        import torch

        right_B = self.right(logits, example).double()
        return torch.stack((right_B.sum(), torch.ones_like(right_B).sum()))


def add_up(states: Iterable[State]) -> State:
    """Return the sum of states; of different lengths, aligned at their beginning."""
    every = list(states)
    shape = np.max([state.shape for state in every], axis=0)
    total = np.zeros(shape)
    for state in every:
        total[tuple(slice(size) for size in state.shape)] += state
    return total


def whole_number(total: float) -> int | float:
    """Return a sum as records have it: a whole number as one."""
    return int(total) if math.isfinite(total) and total == int(total) else total


def merged(parts: Sequence[Measures]) -> dict[str, Measure]:
    """Return the sums of measures, name by name; those that all parts have."""
    names = [name for name in parts[0] if all(name in part for part in parts)]
    result = {}
    for name in names:
        total, *rest = (part[name] for part in parts)
        for other in rest:
            total = total.plus(other)
        result[name] = total
    return result
