"""A process per core, one thread each, against one process with all threads."""

from __future__ import annotations

from contextlib import ExitStack

from harness import Comparison, alternate
from turns import Contender, usable_cores

STEPS = 40
NETWORKS = ("regulargpt", "lstm")


def measure() -> list[Comparison]:
    rows, cores = [], usable_cores()
    if cores == 1:
        return rows
    for model in NETWORKS:
        with ExitStack() as stack:
            # Free to move, as the engine's own workers are: only their threads are counted.
            alone = [
                stack.enter_context(Contender("our_steps.py", threads=1)) for _ in range(cores)
            ]
            wide = stack.enter_context(Contender("our_steps.py", threads=cores))
            request = {"do": "train", "model": model, "options": {}, "first": 40, "last": 40}

            def split(alone=alone, request=request) -> float:
                for program in alone:
                    program.send(**request, steps=STEPS)
                return max(float(program.receive()["seconds"]) for program in alone)

            def whole(wide=wide, request=request) -> float:
                return wide.seconds(**request, steps=STEPS)

            split(), whole()
            rows.append(
                alternate(
                    (f"{cores} processes, 1 thread each", split),
                    (f"1 process, {cores} threads", whole),
                    f"{model}, a training step, default width, batch 128, T = 40",
                    units=(STEPS * cores, STEPS),
                )
            )
    return rows
