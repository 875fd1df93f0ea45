"""A cohort as one program against its runs one at a time: whole training steps.

Both are the engine's own. On a GPU a run alone has its best, too: steps recorded as CUDA graphs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from formalbench.contracts.network import tensors
from formalbench.host import PluginHost
from formalbench.training.configs import AdamConfig
from formalbench.training.gradients import (
    BatchedGradients,
    Program,
    SequentialGradients,
    least_together,
)
from formalbench.training.optimisers import Adam
from formalbench.training.parameters import Rows, make_update, numbers_of_steps
from formalbench.training.step import GraphedGroup, Group, StepInputs
from harness import Comparison, alternate, clock, compare, table

MODELS = ("regulargpt", "transformer", "lstm", "rnn")
WIDTHS = (16, 64, 256)
RUNS = (1, 3, 9, 27)
LENGTH, SHORT = 40, 5  # short ones at the greatest width on a CPU: 27 runs take seconds a step
GPU_STEPS = 20

HOST = PluginHost.load()


def measure() -> list[Comparison]:
    """Compare on a CPU; a name is followed by * where the engine chooses it."""
    rows = []
    for model in MODELS:
        for width in WIDTHS:
            length = LENGTH if width < max(WIDTHS) else SHORT
            for runs in RUNS:
                make = partial(make_step, model, width, length, runs, device="cpu")
                (together, chosen), (alone, _) = make(BatchedGradients), make(SequentialGradients)
                names = ("together *", "one by one") if chosen else ("together", "one by one *")
                inputs = f"{model}, width {width}, R = {runs}, batch 128, T = {length}"
                rows.append(compare((names[0], together), (names[1], alone), inputs))
    return rows


def measure_gpu() -> str:
    """Compare on a GPU; times are per run."""
    rows = []
    for model in MODELS:
        for width in WIDTHS:
            make = partial(make_step, model, width, LENGTH, device="cuda", kind=GraphedGroup)
            alone, _ = make(1, BatchedGradients)
            for runs in RUNS[1:]:
                together, _ = make(runs, BatchedGradients)
                jobs = [partial(_many, step) for step in (together, alone)]
                for job in jobs:
                    job()
                rows.append(
                    alternate(
                        ("a cohort", partial(clock, jobs[0])),
                        ("a run alone", partial(clock, jobs[1])),
                        f"{model}, width {width}, R = {runs}, batch 128, T = {LENGTH}",
                        units=(GPU_STEPS * runs, GPU_STEPS),
                    )
                )
    return table(rows, "On a GPU, one run's share of a training step")


def make_step(
    model: str,
    width: int,
    length: int,
    runs: int,
    program: type[Program],
    *,
    device: str,
    kind: type[Group] = Group,
) -> tuple[Callable[[], None], bool]:
    """Return a function that trains a cohort for one step, and whether it runs as one program."""
    task, adam = HOST.task("parity"), Adam(AdamConfig())
    networks = [HOST.network(model, task, {"width": width}).to(device) for _ in range(runs)]
    made = program(networks, task)
    rows = Rows.start(made.layout.stack(networks), adam)
    group = kind(range(runs), made, rows, make_update(adam, 1.0, networks[0]))
    example = tensors(task.sample(task.stream("speed"), length, 128), device)
    ((rate, scalars),) = numbers_of_steps([[1e-3] * runs], 0, adam, rows.parameters)
    batch = example.map(lambda part: part.expand(runs, *part.shape))
    inputs = StepInputs((batch,), rate, scalars)
    least = least_together(networks[0], device)
    together = least is not None and runs >= least
    return partial(group.step, inputs, range(runs)), together


def _many(step: Callable[[], None]) -> None:
    for _ in range(GPU_STEPS):
        step()
    torch.cuda.synchronize()
