"""Cross-entropy in bits, and sums over scored answers.

Legend: B strings, A answers of each, K outputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from formalbench.contracts.metric import Metric
from formalbench.contracts.objective import CROSS_ENTROPY

if TYPE_CHECKING:
    from torch import Tensor

    from formalbench.contracts.example import Example


def spread_scored(scored: Tensor, values: Tensor) -> Tensor:
    """Return which values are scored, in their shape.

    Args:
        scored: (B,) or (B, A) bool.
        values: (B,), (B, A) or (B, A, …), with several values per answer in the last case.
    """
    return scored.view(*scored.shape, *[1] * (values.ndim - scored.ndim)).expand_as(values)


def mean_scored(values: Tensor, scored: Tensor | None) -> Tensor:
    """Return the mean of scored values, a scalar; 0 if there are none."""
    if scored is None:
        return values.mean()
    counts = spread_scored(scored, values)
    return values.where(counts, 0.0).sum() / counts.sum().clamp(min=1)


def sum_scored(values: Tensor, scored: Tensor | None) -> Tensor:
    """Return the sum of scored values in double precision, and their number, (2,)."""
    import torch  # imported here, because listing and sampling need no torch

    if scored is None:
        total, count = values.sum(dtype=torch.float64), values.numel()
        return torch.cat((total.view(1), total.new_full((1,), count)))
    counts = spread_scored(scored, values)
    total = values.where(counts, 0).sum(dtype=torch.float64)
    return torch.stack((total, counts.sum(dtype=torch.float64)))


Nats = Callable[["Tensor", "Tensor"], "Tensor"]
"""From logits and targets to the cross-entropy of each answer in nats."""


def class_nats(logits: Tensor, targets: Tensor) -> Tensor:
    """Return -log p(target) for logits (…, K) and targets (…), in nats."""
    return -logits.log_softmax(-1).gather(-1, targets.unsqueeze(-1)).squeeze(-1)


def bit_nats(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the binary cross-entropy of each bit in nats, in the shape of `logits`."""
    from torch.nn.functional import binary_cross_entropy_with_logits

    return binary_cross_entropy_with_logits(logits, targets.to(logits.dtype), reduction="none")


class CrossEntropy(Metric):
    """The cross-entropy of correct answers in bits; it counts scored answers.

    Args:
        nats: cross-entropy of each answer; by default a target is one of K classes.
    """

    name = CROSS_ENTROPY
    teacher_forced = True

    def __init__(self, nats: Nats = class_nats) -> None:
        self._nats = nats

    def measure(self, logits: Tensor, example: Example) -> Tensor:
        """Return the sum of bits and the number of answers."""
        targets = example.targets
        if example.scored is not None:  # avoid copying the logits of a large vocabulary
            logits, targets = logits[example.scored], targets[example.scored]
        return sum_scored(self._nats(logits, targets) / math.log(2), None)

    def loss(self, logits: Tensor, example: Example) -> Tensor:
        """Return the mean in nats, a scalar: the training loss."""
        return mean_scored(self._nats(logits, example.targets), example.scored)

    def bits(self, logits: Tensor, example: Example) -> Tensor:
        """Return each string's mean in bits, (B,); 0 for a string without answers."""
        nats = self._nats(logits, example.targets)
        if example.scored is None:
            return (nats if nats.ndim == 1 else nats.flatten(1).mean(-1)) / math.log(2)
        counts = spread_scored(example.scored, nats)
        sums, asked = nats.where(counts, 0.0), counts
        if nats.ndim > 1:
            sums, asked = sums.flatten(1).sum(-1), counts.flatten(1).sum(-1)
        return sums / asked.clamp(min=1) / math.log(2)
