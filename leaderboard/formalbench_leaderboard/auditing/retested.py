"""A network tested again, counted as its record counts."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch
from formalbench.contracts.task import Task
from formalbench.device import usable_cores
from formalbench.evaluation.cells import CellSet
from formalbench.evaluation.evaluate import CellScore, evaluate, total
from torch import nn

from formalbench_leaderboard.auditing.agreement import Counts


@dataclass(frozen=True, slots=True)
class Score:
    """What a network got right: cell by cell as a record counts, and in all."""

    counts: Counts
    total: CellScore


@dataclass(frozen=True, slots=True)
class Bench:
    """A network, ready to be tested.

    Attributes:
        network: on the CPU.
        task: what it answers.
        device: where to test it.
        precision: of the protocol.
    """

    network: nn.Module
    task: Task
    device: torch.device
    precision: str

    def test(self, cells: CellSet, double: bool = False) -> Score:
        """Test the network, in the protocol's precision or in double precision."""
        network = copy.deepcopy(self.network).double() if double else self.network
        scores = evaluate(
            network.to(self.device),
            self.task.objective,
            cells,
            self.device,
            usable_cores(),
            "fp32" if double else self.precision,
        )
        whole = total(scores, cells.window)
        parts = scores if cells.window is None else [whole]
        counts = Counts([part.strings for part in parts], [part.correct for part in parts])
        return Score(counts, whole)
