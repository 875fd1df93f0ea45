"""Accuracies of strings with one answer, of whole strings, and of single answers.

Legend: B strings, A answers of each, K outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from formalbench.contracts.metric import Measure, State, StringMetric
from formalbench.metrics.cross_entropy import spread_scored, sum_scored

if TYPE_CHECKING:
    from torch import Tensor

    from formalbench.contracts.example import Example

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

        right = self._judged(logits, example)
        strings = sum_scored(self._whole(right, example), None)
        return torch.stack((strings, sum_scored(right, example.scored)))

    def finish(self, state: State) -> dict[str, Measure]:
        """Return the shares of strings and of answers; this metric's name first."""
        rows = zip((STRINGS, ANSWERS), state.tolist(), strict=True)
        found = {name: Measure(right, round(asked)) for name, (right, asked) in rows}
        return {self.name: found[self.name], **found}

    def _judged(self, logits: Tensor, example: Example) -> Tensor:
        """Return which answers are correct; unscored ones are not computed."""
        scored = example.scored
        if scored is None:
            return self._verdict(logits, example.targets)
        asked = self._verdict(logits[scored], example.targets[scored])
        right = asked.new_ones((*scored.shape, *asked.shape[1:]))
        right[scored] = asked
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
        hits_B, asked_B = (which.flatten(1).sum(-1) for which in (right & counts, counts))
        return (hits_B / asked_B.clamp(min=1)).where(asked_B > 0, 1.0)
