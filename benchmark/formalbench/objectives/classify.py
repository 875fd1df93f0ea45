"""The objective ``classify``: one label per string."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from formalbench.contracts.language import Language, Symbols
from formalbench.contracts.objective import Chance, Objective
from formalbench.contracts.stream import Stream

if TYPE_CHECKING:
    from torch import Tensor

ESTIMATE_FROM = 8192
"""Strings by which a class distribution is estimated that a language does not state."""


class Classify(Objective):
    """One label per string; a string is correct if its own class has the largest logit.

    Logits are (B, K) with K classes. Among equal largest logits the lowest class is
    the answer, so that with two classes a difference of exactly 0 is a reject.
    """

    name = "classify"
    layout = "last"
    metric = "accuracy"

    def outputs(self, language: Language) -> int:
        """Return the number of classes."""
        return language.num_classes

    def has_length(self, language: Language, length: int) -> bool:
        """Say whether strings of this length have a class."""
        return language.has_length(length)

    def sample(self, language: Language, stream: Stream, length: int, count: int) -> Symbols:
        """Draw strings as the language does for classification."""
        return language.sample(stream, length, count)

    def targets(self, language: Language, strings_BN: Symbols) -> npt.NDArray[Any]:
        """Return the class of each string, (B,)."""
        return language.classify(strings_BN)

    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the mean cross-entropy in nats."""
        return class_nats(logits, targets).mean()

    def score(self, logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Return which strings are right, (B,), and each one's cross-entropy in bits."""
        bits = class_nats(logits, targets) / math.log(2)
        return predicted_class(logits) == targets, bits

    def margin(self, logits: Tensor) -> Tensor:
        """Return the largest logit minus the second largest, (B,)."""
        return class_margin(logits)

    def chance(self, language: Language, lengths: Sequence[int], stream: Stream) -> Chance:
        """Return the accuracy of the best constant class, and of the best one per length."""
        shares = np.array([_distribution(language, length, stream) for length in lengths])
        constant = float(shares.mean(axis=0).max())
        return Chance(constant, tuple(float(best) for best in shares.max(axis=1)))

    def show(self, language: Language, string: Symbols) -> str:
        """Return the class as a number."""
        return str(int(language.classify(string[None, :])[0]))


def class_nats(logits: Tensor, targets: Tensor) -> Tensor:
    """Return -log p(target) for logits (…, K) and targets (…), in nats."""
    return -logits.log_softmax(-1).gather(-1, targets.unsqueeze(-1)).squeeze(-1)


def class_margin(logits: Tensor) -> Tensor:
    """Return the largest logit minus the second largest, (…), for logits (…, K)."""
    first, second = logits.topk(2, dim=-1).values.unbind(-1)
    return first - second


def predicted_class(logits: Tensor) -> Tensor:
    """Return the lowest class with the largest logit, (…), for logits (…, K)."""
    largest = logits == logits.amax(-1, keepdim=True)
    # The library leaves open which of several equal maxima argmax returns; the count of
    # positions before the first one is the same everywhere.
    return (largest.cumsum(-1) == 0).sum(-1)


def _distribution(language: Language, length: int, stream: Stream) -> tuple[float, ...]:
    stated = language.class_distribution(length)
    if stated is not None:
        return tuple(stated)
    strings = language.sample(stream.child(length), length, ESTIMATE_FROM)
    counts = np.bincount(language.classify(strings), minlength=language.num_classes)
    return tuple(counts / ESTIMATE_FROM)
