"""The metric ``mutual-information`` of answer and target, in bits per answer.

It is also high if wrong answers determine the correct ones: a network that always gives the
opposite class has an accuracy below chance but all of the information.

Legend: B strings, K outputs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from formalbench.contracts.metric import Measure, Metric, State
from formalbench.contracts.objective import MUTUAL_INFORMATION
from formalbench.metrics.accuracy import predicted_class

if TYPE_CHECKING:
    from torch import Tensor

    from formalbench.contracts.example import Example

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
        said_B, right_B = predicted_class(logits), example.targets
        if example.scored is not None:
            said_B, right_B = said_B[example.scored], right_B[example.scored]
        counts: Tensor = (right_B * self.classes + said_B).bincount(minlength=self.classes**2)
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
