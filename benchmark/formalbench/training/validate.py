"""Validation: how a run does on held-out strings of the training lengths, and what is selected.

Legend: P parameters of a network.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from formalbench.contracts.metric import Measure
from formalbench.contracts.protocol import Protocol
from formalbench.contracts.task import Task
from formalbench.evaluation.cells import validation_set
from formalbench.evaluation.evaluate import CellScore, evaluate, total
from formalbench.training.run_state import Checkpoint


class Validator:
    """Scores the runs of a cohort on the same strings.

    Args:
        task: what they train on.
        protocol: of theirs.
        device: where they are.
    """

    def __init__(self, task: Task, protocol: Protocol, device: torch.device) -> None:
        self._task, self._device, self._precision = task, device, protocol.precision
        self._strings = validation_set(task, protocol)

    def score(self, network: nn.Module, step: int, weights_P: Tensor) -> Checkpoint:
        """Return a network as a checkpoint that may be selected.

        Args:
            network: has the weights.
            step: after which it has them.
            weights_P: of the network; not copied.

        Raises:
            NotFiniteError: if a logit is not finite.
        """
        task = self._task
        scores = evaluate(network, task, self._strings, self._device, precision=self._precision)
        whole = total(scores)
        preference = task.objective.preference(each_cell_alike(scores), task.primary.name)
        # What cannot be told, since nothing was asked, is preferred to nothing.
        comparable = tuple(-math.inf if math.isnan(one) else one for one in preference)
        return Checkpoint(step, whole.strings, whole.measures, comparable, weights_P)


def each_cell_alike(scores: Sequence[CellScore]) -> dict[str, Measure]:
    """Return measures over all cells, in which each counts the same, as it does in a test.

    Where cells have as many answers each, that is the sum over all answers, exactly.
    """
    whole = total(scores).measures
    for name in whole:
        cells = [score.measures[name] for score in scores]
        if len({cell.count for cell in cells}) > 1:
            asked = [cell.mean for cell in cells if cell.count]
            whole[name] = Measure(math.fsum(asked), len(asked))
    return whole
