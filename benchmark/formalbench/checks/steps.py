"""What optimisers, schedules and samplers promise: every run is trained as if it were alone.

Legend: R runs, P parameters of each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from formalbench.contracts.optimiser import Optimiser, ParameterInfo, Schedule
from formalbench.contracts.promises import demand
from formalbench.contracts.sampler import Sampler
from formalbench.contracts.stream import Stream

if TYPE_CHECKING:
    from torch import Tensor

    from formalbench.contracts.objective import Promise

RUNS, STEPS = 3, 3
LAYOUT = (
    ParameterInfo("hidden.weight", (2, 3), slice(6), "hidden"),
    ParameterInfo("hidden.bias", (2,), slice(6, 8)),
)
"""The parameters of each run."""

BASE = 1e-3
"""The learning rate that is tried."""


def optimiser_promises(optimiser: Optimiser) -> Iterator[Promise]:
    """Return what an optimiser promises."""
    bound = optimiser.with_layout(LAYOUT)
    yield "steps every run as if it were alone", lambda: _alone(bound)


def schedule_promises(schedule: Schedule) -> Iterator[Promise]:
    """Return what a schedule promises."""
    yield "gives a rate at every step", lambda: _rates(schedule)


def sampler_promises(sampler: Sampler) -> Iterator[Promise]:
    """Return what a sampler promises."""
    yield "draws lengths of the training split, the same every time", lambda: _lengths(sampler)


def _alone(optimiser: Optimiser) -> None:
    import torch

    before_RP = _drawn("parameters")
    together = _trained(optimiser, before_RP, slice(None))
    demand(together.isfinite().all(), "a parameter is not finite")
    demand((together != before_RP).any(), "nothing changed")
    for run in range(RUNS):
        alone = _trained(optimiser, before_RP, slice(run, run + 1))
        same = torch.allclose(together[run : run + 1], alone, rtol=1e-5, atol=1e-7)
        demand(same, "a run's step depends on other runs")


def _trained(optimiser: Optimiser, before_RP: Tensor, runs: slice) -> Tensor:
    """Return the parameters of some runs after some steps, clipped as a protocol asks."""
    parameters_RP = before_RP[runs].clone()
    slots = tuple(parameters_RP.new_zeros(parameters_RP.shape) for _ in optimiser.slots)
    rate_R1 = parameters_RP.new_tensor([[BASE * (run + 1)] for run in range(RUNS)])[runs]
    for step in range(STEPS):
        gradient_RP = _drawn(f"gradient {step}")[runs].clone()
        scalars = parameters_RP.new_tensor(optimiser.scalars(step + 1))
        numbers = rate_R1, scalars, optimiser.weight_decay
        optimiser.clipped_step(parameters_RP, gradient_RP, slots, *numbers, 1.0)
    return parameters_RP


def _drawn(what: str) -> Tensor:
    """Return numbers between -4 and 4, (R, P)."""
    import torch

    numbers = Stream("check steps", what).uniform((RUNS, LAYOUT[-1].columns.stop))
    return torch.from_numpy(8 * numbers - 4).float()


def _lengths(sampler: Sampler) -> None:
    from formalbench.contracts.protocol import Protocol
    from formalbench.training.curriculum import draw_mix

    lengths = list(range(1, 41))
    for mixed in (False, True):
        protocol = Protocol(name="check", version=1, mixed_lengths=mixed)
        stages = sampler.stages(protocol, lengths)
        demand(bool(stages) and stages[-1] == lengths, "the last stage is not all lengths")
        for stage in stages:
            for batch in range(20):
                first, again = (
                    draw_mix(protocol, stage, batch, None, 0, sampler) for _ in range(2)
                )
                demand(first == again, f"batch {batch} has other lengths the second time")


def _rates(schedule: Schedule) -> None:
    memory: dict[str, float] = {}
    for step in range(100):
        rate = schedule.rate(step, 100, BASE, memory)
        right = isinstance(rate, float | int) and math.isfinite(rate) and rate >= 0
        demand(right, f"the rate of step {step} is {rate!r}")
        if step % 20 == 19:
            schedule.evaluated(memory, {"train/loss": 1.0, "train/error": 0.5})
