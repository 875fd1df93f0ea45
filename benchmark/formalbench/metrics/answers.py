"""Cross-entropy in bits, accuracies, and the mutual information of answer and target.

Legend: B strings, A answers of each, K outputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from formalbench.contracts.objective import (
    CROSS_ENTROPY,
    MUTUAL_INFORMATION,
    Measure,
    Metric,
    State,
    StringMetric,
)

if TYPE_CHECKING:
    from torch import Tensor

    from formalbench.contracts.network import Example


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
        sums, number = nats.where(counts, 0.0), counts
        if nats.ndim > 1:
            sums, number = sums.flatten(1).sum(-1), counts.flatten(1).sum(-1)
        return sums / number.clamp(min=1) / math.log(2)


Verdict = Callable[["Tensor", "Tensor"], "Tensor"]
"""From logits and targets to correctness (bool)."""

STRINGS = "string-accuracy"
ANSWERS = "answer-accuracy"


def predicted_class(logits: Tensor) -> Tensor:
    """Return the lowest class with the largest logit, (…), for logits (…, K); K if one is NaN."""
    import torch  # imported here, because listing and sampling need no torch

    largest = logits == logits.amax(-1, keepdim=True)
    # argmax may return any of several equal maxima; the lowest index is the same everywhere. In 32
    # bits, because vocabularies are large.
    classes = logits.shape[-1]
    places = torch.arange(classes, dtype=torch.int32, device=logits.device)
    return places.where(largest, classes).amin(-1).long()


def class_right(logits: Tensor, targets: Tensor) -> Tensor:
    """Return which classes are correct, (…), for logits (…, K) and targets (…)."""
    return predicted_class(logits) == targets


def bit_right(logits: Tensor, targets: Tensor) -> Tensor:
    """Return which bits are correct, in the shape of `logits`; a positive logit means 1."""
    return (logits > 0) == targets.bool()


class Accuracy(StringMetric):
    """The share of strings whose answer is correct, for the layout ``last``."""

    name = "accuracy"

    def right(self, logits: Tensor, example: Example) -> Tensor:
        """Return which strings are correct, (B,)."""
        right_B = class_right(logits, example.targets)
        return right_B if example.scored is None else right_B | ~example.scored

    def measure(self, logits: Tensor, example: Example) -> Tensor:
        """Return the number of correct strings and the number of strings."""
        return sum_scored(class_right(logits, example.targets), example.scored)


class StringAccuracy(StringMetric):
    """The share of strings with only correct answers, and the share of correct answers.

    It measures ``string-accuracy`` and ``answer-accuracy``.

    Args:
        verdict: which answers are right; by default a target is one of K classes.
    """

    name = STRINGS

    def __init__(self, verdict: Verdict = class_right) -> None:
        self._verdict = verdict

    def right(self, logits: Tensor, example: Example) -> Tensor:
        """Return which strings have only correct answers, (B,) bool."""
        return self._whole(self._verdict(logits, example.targets), example)

    def measure(self, logits: Tensor, example: Example) -> Tensor:
        """Return [correct strings, strings] and [correct answers, answers], (2, 2)."""
        import torch

        right = self._right_answers(logits, example)
        strings = sum_scored(self._whole(right, example), None)
        return torch.stack((strings, sum_scored(right, example.scored)))

    def finish(self, state: State) -> dict[str, Measure]:
        """Return the shares of strings and of answers; this metric's name first."""
        rows = zip((STRINGS, ANSWERS), state.tolist(), strict=True)
        measures = {name: Measure(right, round(count)) for name, (right, count) in rows}
        return {self.name: measures[self.name], **measures}

    def _right_answers(self, logits: Tensor, example: Example) -> Tensor:
        """Return which answers are correct; unscored ones are not computed."""
        scored = example.scored
        if scored is None:
            return self._verdict(logits, example.targets)
        values = self._verdict(logits[scored], example.targets[scored])
        right = values.new_ones((*scored.shape, *values.shape[1:]))
        right[scored] = values
        return right

    def _whole(self, right: Tensor, example: Example) -> Tensor:
        if example.scored is not None:
            right = right | ~spread_scored(example.scored, right)
        return right.flatten(1).all(-1)


class AnswerAccuracy(StringAccuracy):
    """The share of correct answers, and the share of strings with only correct answers.

    It measures ``answer-accuracy`` and ``string-accuracy``.

    Args:
        verdict: which answers are right; by default a target is one of K classes.
    """

    name = ANSWERS

    def right(self, logits: Tensor, example: Example) -> Tensor:
        """Return the correct share of each string's answers, (B,); 1 if it has none."""
        right = self._verdict(logits, example.targets)
        if example.scored is None:
            return right.flatten(1).float().mean(-1)
        counts = spread_scored(example.scored, right)
        hits_B, asked_B = (mask.flatten(1).sum(-1) for mask in (right & counts, counts))
        return (hits_B / asked_B.clamp(min=1)).where(asked_B > 0, 1.0)


MOST_CLASSES = 8
"""Maximum number of classes. With more, a few hundred strings per length are too few: answers
independent of the targets seem to have about (K-1)² / (2 B ln 2) bits, which is 0.14 for 8 classes
and 256 strings."""


class MutualInformation(Metric):
    """Mutual information of predicted and correct class in bits, for the layout ``last``.

    It is computed from the confusion matrix of each test cell, and averaged over cells, because the
    relation may have the opposite sign at another length.

    Args:
        classes: K, at most `MOST_CLASSES`.

    Reference: Cover & Thomas (2006), "Elements of information theory", equation 2.28; the estimate
        of shares by counts.
    """

    name = MUTUAL_INFORMATION

    def __init__(self, classes: int) -> None:
        self.classes = classes

    def measure(self, logits: Tensor, example: Example) -> Tensor:
        """Return the confusion matrix (K, K): correct classes are rows, predicted ones columns."""
        predicted_B, right_B = predicted_class(logits), example.targets
        if example.scored is not None:
            predicted_B, right_B = predicted_B[example.scored], right_B[example.scored]
        counts: Tensor = (right_B * self.classes + predicted_B).bincount(minlength=self.classes**2)
        return counts.double().view(self.classes, self.classes)

    def finish(self, state: State) -> dict[str, Measure]:
        """Return the information times the number of answers, and that number."""
        count = round(float(state.sum()))
        return {self.name: Measure(count * information(state), count)}


def information(counts_KK: State) -> float:
    """Return the mutual information of rows and columns in bits; 0 for an empty matrix."""
    if not counts_KK.any():
        return 0.0
    shares_KK = counts_KK / counts_KK.sum()
    independent_KK = np.outer(shares_KK.sum(axis=1), shares_KK.sum(axis=0))
    seen = shares_KK > 0
    bits = shares_KK[seen] * np.log2(shares_KK[seen] / independent_KK[seen])
    return max(0.0, float(bits.sum()))
