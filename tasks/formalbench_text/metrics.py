"""The metric ``perplexity``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from formalbench import CrossEntropy, Measure, Metric
from formalbench.contracts.metric import State

if TYPE_CHECKING:
    from formalbench import Example
    from torch import Tensor

MOST_BITS = 1000.0
"""Of the mean: beyond it 2 to its power is no number any more."""


class Perplexity(Metric):
    """2 to the power of the mean cross-entropy in bits, of each cell.

    Over several cells it is the mean of theirs, each with the weight of its answers.
    """

    name = "perplexity"
    teacher_forced = True

    def measure(self, logits: Tensor, example: Example) -> Tensor:
        """Return the sum of bits, and how many answers there are, (2,)."""
        return CrossEntropy().measure(logits, example)

    def finish(self, state: State) -> dict[str, Measure]:
        """Return the perplexity times the number of answers, and that number."""
        bits, answers = float(state[0]), round(float(state[1]))
        mean = min(bits / max(answers, 1), MOST_BITS)
        return {self.name: Measure(answers * 2.0**mean, answers)}
