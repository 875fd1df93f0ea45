"""The objective ``tag``: the class of every prefix."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from formalbench.contracts.language import Language, Symbols
from formalbench.contracts.stream import Stream
from formalbench.objectives.classify import class_margin, class_nats, predicted_class
from formalbench.objectives.whole import WholeString

if TYPE_CHECKING:
    from torch import Tensor


class Tag(WholeString):
    """One label per position: the class of the prefix that ends there.

    Logits are (B, N, K). A string is correct if every label is.
    """

    name = "tag"
    layout = "each"

    def outputs(self, language: Language) -> int:
        """Return the number of classes."""
        return language.num_classes

    def has_length(self, language: Language, length: int) -> bool:
        """Say whether there are strings of this length with a label to give."""
        return length >= 1 and language.has_length(length)

    def sample(self, language: Language, stream: Stream, length: int, count: int) -> Symbols:
        """Draw the same strings as for classification."""
        return language.sample(stream, length, count)

    def targets(self, language: Language, strings_BN: Symbols) -> npt.NDArray[Any]:
        """Return the class of every non-empty prefix, (B, N)."""
        return language.classify_prefixes(strings_BN)

    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the mean cross-entropy over all positions in nats."""
        return class_nats(logits, targets).mean()

    def score(self, logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Return which strings are right throughout, and the mean bits per position, (B,)."""
        right = predicted_class(logits) == targets
        return right.all(-1), class_nats(logits, targets).mean(-1) / math.log(2)

    def margin(self, logits: Tensor) -> Tensor:
        """Return the least gap between the two largest logits of any position, (B,)."""
        return class_margin(logits).amin(-1)

    def show(self, language: Language, string: Symbols) -> str:
        """Return the labels, separated by spaces."""
        return " ".join(str(int(label)) for label in language.classify_prefixes(string[None])[0])
