"""A cohort as one program against its runs one at a time.

On a CPU: the gradients of one step. On a GPU: whole training, where one at a time means the
engine's best for a single run, since a GPU is bought to be kept busy.
"""

from __future__ import annotations

from functools import partial

import torch
from formalbench.host import PluginHost
from formalbench.training.programs import OneByOne, Together
from formalbench.training.trainer import train_cohort
from harness import Comparison, alternate, clock, compare, table
from our_steps import make_cohort

MODELS = ("regulargpt", "transformer", "lstm", "rnn")
LENGTH_OF_WIDTH = {16: 40, 64: 40, 256: 10}
RUNS = (1, 3, 9, 27)
GPU_STEPS, GPU_LENGTH = 200, 40


def measure() -> list[Comparison]:
    """Compare on a CPU."""
    host = PluginHost.load()
    task = host.task("parity")
    rows = []
    for model in MODELS:
        for width, length in LENGTH_OF_WIDTH.items():
            drawn = task.sample(task.stream("speed"), length, 128)
            strings, targets = map(torch.from_numpy, drawn)
            for runs in RUNS:
                networks = [host.network(model, task, {"width": width}) for _ in range(runs)]
                symbols = strings.expand(runs, -1, -1)
                answers = targets.expand(runs, *targets.shape)
                jobs = []
                for program in (Together, OneByOne):
                    made = program(networks, task.objective)
                    flat = made.layout.stack(networks)
                    jobs.append(
                        partial(made.gradients, range(runs), flat, symbols, answers, range(runs))
                    )
                inputs = f"{model}, width {width}, R = {runs}, batch 128, T = {length}"
                rows.append(compare(("together", jobs[0]), ("one by one", jobs[1]), inputs))
    return rows


def measure_gpu() -> str:
    """Compare on a GPU; times are per run and step."""
    rows = []
    for model in MODELS:
        for width in LENGTH_OF_WIDTH:
            for runs in RUNS:

                def train(runs: int, model=model, width=width) -> None:
                    cohort = make_cohort(
                        model,
                        {"width": width},
                        (GPU_LENGTH, GPU_LENGTH),
                        GPU_STEPS,
                        runs=runs,
                        device="cuda",
                    )
                    train_cohort(cohort)
                    torch.cuda.synchronize()

                train(runs), train(1)
                rows.append(
                    alternate(
                        ("a cohort", lambda runs=runs, train=train: clock(lambda: train(runs))),
                        ("a run alone", lambda train=train: clock(lambda: train(1))),
                        f"{model}, width {width}, R = {runs}, batch 128, T = {GPU_LENGTH}",
                        units=(GPU_STEPS * runs, GPU_STEPS),
                    )
                )
    return table(rows, "On a GPU, one run's share of a training step")
