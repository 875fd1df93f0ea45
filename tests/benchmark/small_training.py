"""A protocol that takes a blink, a network that learns a little, and what trains it."""

import dataclasses

import torch
from formalbench.contracts.protocol import Protocol
from formalbench.training.trainer import Cohort, resolve_protocol
from torch import nn

CPU = torch.device("cpu")


def protocol(**change):
    return Protocol.model_validate(
        {
            "name": "tiny",
            "version": 1,
            "steps": 40,
            "batch": 8,
            "evaluate_every": 10,
            "decay": {"steps": 20, "final": 0.1},
            "validation": {"every": 10, "lengths": 3, "strings": 8},
            "test": {"lengths": 3, "strings": 8},
            **change,
        }
    )


class Sum(nn.Module):
    """Reads the sum of embeddings: small, quick, and it can learn something."""

    def __init__(self, task):
        super().__init__()
        self.embed = nn.Embedding(len(task.alphabet), 8)
        self.read = nn.Linear(8, task.outputs)

    def forward(self, batch):
        return self.read(self.embed(batch.symbols).sum(1).tanh())


def cohort(host, task, used, members, build, program=None, checkpointer=None, **parts):
    """Return runs to train; `parts` stand in the place of what the protocol names."""
    resolved = dataclasses.replace(resolve_protocol(host, used), **parts)
    chosen = {"checkpointer": checkpointer}
    if program is not None:
        chosen["program"] = lambda networks, task, device: program(networks, task)
    return Cohort(build, task, used, members, CPU, resolved, **chosen)
