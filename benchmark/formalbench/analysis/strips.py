"""How far a model that learned its training lengths goes beyond them: accuracy, step by step.

Legend: R runs (one per seed), L lengths.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from formalbench.analysis.results import Result, TaskFacts, telling_cells
from formalbench.analysis.statistics import scaled

MOST_STEPS = 10
"""Of a strip; of more test lengths, neighbours share a step."""


@dataclass(frozen=True, slots=True)
class Step:
    """Neighbouring test lengths.

    Attributes:
        first, last: the shortest and the longest.
        share: accuracy between chance (0) and perfect (1), the mean over the runs that learned the
            training lengths; one below chance is at it.
    """

    first: int
    last: int
    share: float


Strip = tuple[Step, ...]


def strip_of(result: Result, facts: TaskFacts) -> Strip:
    """Return how the runs that learned did at each length, shortest first.

    Lengths at which chance is always right tell nothing, and are left out. Nothing is left if the
    runs were not tested at the same lengths.
    """
    runs = tuple(run for run in result.runs if run.learned)
    tested = telling_cells(replace(result, runs=runs), facts)
    if not tested or not facts.scored:
        return ()
    lengths = tested[0].length
    shares_RL = np.array([np.divide(cells.correct, cells.strings) for cells in tested])
    mean_L, chance_L = shares_RL.mean(axis=0), np.array(facts.chance_of(tested[0]))
    return tuple(
        Step(
            first=lengths[part[0]],
            last=lengths[part[-1]],
            share=_inside(float(mean_L[part].mean()), float(chance_L[part].mean())),
        )
        for part in np.array_split(np.arange(len(lengths)), min(MOST_STEPS, len(lengths)))
    )


def _inside(accuracy: float, chance: float) -> float:
    return min(1.0, max(0.0, scaled(accuracy, chance) or 0.0))
