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
    """A sum over answers and the number of answers; can be added."""

    total: float
    count: int  # type: ignore[assignment]  # a tuple has a method of this name

    @property
    def mean(self) -> float:
        """The mean; NaN if there are no answers."""
        return self.total / self.count if self.count else float("nan")

    def plus(self, other: Measure) -> Measure:
        """Add sums and counts."""
        return Measure(self.total + other.total, self.count + other.count)


Measures = Mapping[str, Measure]
"""Sums by metric name."""

State = npt.NDArray[np.float64]
"""The sum of a metric's measurements so far; see `Metric.measure`."""


class Metric(ABC):
    """A measure of answers. The engine adds up the measurements of batches.

    Attributes:
        name: name in records and on boards; lower case with hyphens.
        teacher_forced: for the layout ``decoded``: whether the network gets the correct answers so
            far (as for cross-entropy) instead of its own.
        signature: anything else that decides its numbers, such as version and options of a library;
            stored in the record.
    """

    name: str
    teacher_forced: bool = False
    signature: str = ""

    def know(self, source: Source, strings_BN: Symbols) -> npt.NDArray[Any] | None:
        """Return additional data about strings of one length, (B, …).

        Computed once and stored as ``example.known[name]``. None (the default) for no data.
        """
        return None

    @abstractmethod
    def measure(self, logits: Tensor, example: Example) -> Tensor:
        """Measure a batch and return one tensor of numbers.

        For most metrics it is (2,): the sum over scored answers, and their number. A metric that
        needs more (a mean over distances) returns the input of `finish`; tensors of different
        lengths are aligned at their beginning.
        """

    def finish(self, state: State) -> dict[str, Measure]:
        """Return the measures, by name, from the sum over all batches."""
        return {self.name: Measure(float(state[0]), round(float(state[1])))}


class StringMetric(Metric):
    """The share of correct strings, or the mean correct share of a string."""

    @abstractmethod
    def right(self, logits: Tensor, example: Example) -> Tensor:
        """Return which strings are correct, (B,) bool, or the correct share of each, 0 to 1.

        Must run under `torch.func.vmap`.
        """

    def measure(self, logits: Tensor, example: Example) -> Tensor:
        """Return the number of correct strings and the number of strings."""
        import torch

        right_B = self.right(logits, example).double()
        return torch.stack((right_B.sum(), torch.ones_like(right_B).sum()))


def add_up(states: Iterable[State]) -> State:
    """Add two states, aligned at their beginning."""
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
    """Add measures name by name; names missing in a part are dropped."""
    names = [name for name in parts[0] if all(name in part for part in parts)]
    result = {}
    for name in names:
        total, *rest = (part[name] for part in parts)
        for other in rest:
            total = total.plus(other)
        result[name] = total
    return result
