"""A network tested again, counted as its record counts."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import partial

import torch
from formalbench.contracts.cells import Cells
from formalbench.contracts.metric import Measure
from formalbench.contracts.objective import CROSS_ENTROPY
from formalbench.contracts.task import Task
from formalbench.device import usable_cores
from formalbench.evaluation.beam_search import Search
from formalbench.evaluation.cells import TestSet
from formalbench.evaluation.evaluate import evaluate, total
from formalbench.running.run_record import cells_of
from torch import nn

from formalbench_leaderboard.publishing.agreement import CellCounts


@dataclass(frozen=True, slots=True)
class Retested:
    """What a network got right: cell by cell as a record counts, and in all.

    Attributes:
        counts: of the primary metric, cell by cell.
        strings: how many there were.
        measures: every metric over all cells that are finite, by name.
        primary: the name of the primary one.
    """

    counts: CellCounts
    strings: int
    measures: dict[str, Measure]
    primary: str

    @property
    def whole(self) -> Measure:
        """The primary metric over all cells."""
        return self.measures[self.primary]

    @property
    def bits(self) -> float:
        """The mean cross-entropy."""
        return self.measures[CROSS_ENTROPY].mean


@dataclass(frozen=True, slots=True)
class Retester:
    """A network, ready to be tested.

    Attributes:
        network: on the CPU.
        task: what it answers.
        device: where to test it.
        precision: of the protocol.
        how: answers that are said step by step are searched for; None for the likeliest symbols.
    """

    network: nn.Module
    task: Task
    device: torch.device
    precision: str
    how: Search | None = None

    def test(self, drawn: TestSet, double: bool = False) -> Retested:
        """Test the network, in the protocol's precision or in double precision."""
        network = copy.deepcopy(self.network).double() if double else self.network
        scores = evaluate(
            network.to(self.device),
            self.task,
            drawn,
            self.device,
            usable_cores(),
            "fp32" if double else self.precision,
            how=self.how,
            by_cell=True,
        )
        primary = self.task.primary.name
        counts = cell_counts(cells_of(scores, primary, partial(drawn.chances, self.task)))
        finite = [score for score in scores if score.finite] or scores
        return Retested(counts, sum(counts.strings), total(finite).measures, primary)


def cell_counts(cells: Cells) -> CellCounts:
    """Return the counts of a test."""
    return CellCounts(cells.strings, cells.correct, cells.answers, cells.not_finite or ())
