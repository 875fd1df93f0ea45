"""How many runs of a cohort fit into a GPU's memory."""

from __future__ import annotations

from collections.abc import Callable

import torch

from formalbench.evaluation.cells import split_lengths
from formalbench.training.data import Interval, TrainingData
from formalbench.training.trainer import Cohort

SHARE = 0.5
"""Of the free memory that may be planned with: recorded steps keep some, and pieces are lost."""


def runs_that_fit(cohort: Cohort) -> int:
    """Return how many runs may train together, by what a step of one of them takes.

    The step is one at the longest training length. On a CPU all fit: nothing is measured.
    """
    if cohort.device.type != "cuda":
        return len(cohort.members)
    free, _ = torch.cuda.mem_get_info(cohort.device)
    needed = peak_of(lambda: longest_step(cohort), cohort.device)
    return max(1, min(len(cohort.members), int(SHARE * free / max(needed, 1))))


def longest_step(cohort: Cohort) -> None:
    """Compute the gradients of one run at the longest training length."""
    networks = [cohort.build().to(cohort.device).train()]
    program = cohort.program(networks, cohort.task, cohort.device)
    program.penalties = cohort.recipe.penalties
    longest = split_lengths(cohort.task, "train")[-1]
    mix = ((longest, cohort.protocol.strings_at(longest)),)
    data = TrainingData(
        cohort.task, cohort.protocol, torch.device("cpu"), sampler=cohort.recipe.sampler
    )
    (((share),),) = data.take(Interval(0, (mix,), longest, (cohort.members[0].seed,)))
    example = share.example.map(lambda part: part.to(cohort.device))
    program.gradients(program.select([0]), program.layout.stack(networks), example, [0])


def peak_of(work: Callable[[], None], device: torch.device) -> int:
    """Return the bytes that some work takes on a GPU beyond what is taken already."""
    before = torch.cuda.memory_allocated(device)
    torch.cuda.reset_peak_memory_stats(device)
    work()
    torch.cuda.synchronize(device)
    return torch.cuda.max_memory_allocated(device) - before
