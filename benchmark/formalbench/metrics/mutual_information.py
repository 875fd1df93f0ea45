"""The metric ``mutual-information`` of answer and target, in bits per answer.

It is high, too, where answers are wrong in a way that tells the right ones: a network that follows
a language with the sign flipped is under chance in accuracy, and has all of the information.

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
"""With more, a few hundred strings of a length say too little: answers that are independent of the
targets seem to have about (K-1)² / (2 B ln 2) bits, which is 0.14 for 8 classes and 256 strings."""


class MutualInformation(Metric):
    """How many bits the predicted class tells of the right one, for the layout ``last``.

    It is worked out of how often each class is said of each, at every cell of a test. Its mean over
    several cells is that of theirs: what answers tell at one length may have the other sign at the
    next.

    Args:
        classes: K, at most `MOST_CLASSES`.

    Reference: Cover & Thomas (2006), "Elements of information theory", equation 2.28; the estimate
        of shares by counts.
    """

    name = MUTUAL_INFORMATION

    def __init__(self, classes: int) -> None:
        self.classes = classes

    def measure(self, logits: Tensor, example: Example) -> Tensor:
        """Return how often each class is predicted (columns) of each that is right, (K, K)."""
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
    """Return the mutual information of rows and columns in bits; 0 if nothing was counted."""
    if not counts_KK.any():
        return 0.0
    shares_KK = counts_KK / counts_KK.sum()
    independent_KK = np.outer(shares_KK.sum(axis=1), shares_KK.sum(axis=0))
    seen = shares_KK > 0
    bits = shares_KK[seen] * np.log2(shares_KK[seen] / independent_KK[seen])
    return max(0.0, float(bits.sum()))
