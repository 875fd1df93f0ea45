"""A cohort as one program against its runs one at a time: gradients of one step."""

from __future__ import annotations

import torch
from formalbench.host import PluginHost
from formalbench.training.programs import OneByOne, Together
from harness import Comparison, compare


def measure() -> list[Comparison]:
    host = PluginHost.load()
    task = host.task("parity")
    strings, targets = task.sample(task.stream("speed"), 40, 128)
    rows = []
    for model in ("regulargpt", "transformer"):
        for width in (16, 64):
            for runs in (3, 9):
                networks = [host.network(model, task, {"width": width}) for _ in range(runs)]
                symbols = torch.from_numpy(strings).expand(runs, -1, -1)
                answers = torch.from_numpy(targets).expand(runs, -1)
                jobs = []
                for program in (Together, OneByOne):
                    made = program(networks, task.objective)
                    flat = made.layout.stack(networks)
                    jobs.append(
                        lambda made=made, flat=flat, s=symbols, t=answers, n=runs: made.gradients(
                            range(n), flat, s, t, range(n)
                        )
                    )
                inputs = f"{model}, width {width}, R = {runs}, batch 128, T = 40"
                rows.append(compare(("together", jobs[0]), ("one by one", jobs[1]), inputs))
    return rows
