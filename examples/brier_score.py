"""A metric: the Brier score, measured whenever strings are classified.

    formalbench run --plugin brier_score.py --model gru --task parity --json

It stands beside the objective's own metrics: in the records, under ``test.cells.metrics``, and as a
column of the board.

Reference: Brier (1950), "Verification of forecasts expressed in terms of probability".
"""

from collections.abc import Iterable

import torch
from formalbench import Example, Metric, MetricSpec, hookimpl
from torch import Tensor
from torch.nn import functional


class BrierScore(Metric):
    """The squared distance of the probabilities to the right answer's, the mean over strings."""

    name = "brier-score"

    def measure(self, logits: Tensor, example: Example) -> Tensor:
        """Return the sum over strings and their number."""
        right_BK = functional.one_hot(example.targets, logits.shape[-1])
        distance_B = (logits.softmax(-1) - right_BK).double().square().sum(-1)
        return torch.stack((distance_B.sum(), torch.ones_like(distance_B).sum()))


@hookimpl
def formalbench_metrics() -> Iterable[MetricSpec]:
    """Announce the metric."""
    yield MetricSpec("brier-score", 1, "how far probabilities are off", BrierScore, ("classify",))
