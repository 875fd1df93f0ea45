"""Models for the tests of the engine: one that is merely small, and some that misbehave."""

import os
import time

import torch
from formalbench import Config, ModelSpec, hookimpl, option
from torch import nn


class BagConfig(Config):
    """The options of every model here."""

    width: int = option(8, "of the embeddings", minimum=1)


class Bag(nn.Module):
    """Reads the sum of the embeddings so far; a few hundred numbers in all."""

    def __init__(self, task, config):
        super().__init__()
        self.layout = task.layout
        self.embed = nn.Embedding(len(task.alphabet), config.width)
        self.read = nn.Linear(config.width, task.outputs)

    def forward(self, batch):
        x_BND = self.embed(batch.symbols)
        start_B1D = x_BND.new_zeros(len(x_BND), 1, x_BND.shape[2])
        x_BMD = torch.cat((start_B1D, x_BND), dim=1).cumsum(1).tanh()
        logits_BMK = self.read(x_BMD)
        if self.layout == "last":
            return logits_BMK[:, -1]
        return logits_BMK[:, 1:] if self.layout == "each" else logits_BMK


class Stumbling(Bag):
    def forward(self, batch):
        raise ValueError("one foot\nover the other")


class NotANumber(Bag):
    def forward(self, batch):
        return super().forward(batch) * float("nan")


class Hungry(Bag):
    def forward(self, batch):
        raise MemoryError("ate it all")


class Unspeakable(Bag):
    def forward(self, batch):
        raise ValueError("half a pair: \udcff")


class Quitting(Bag):
    def forward(self, batch):
        raise SystemExit(0)


class Slow(Bag):
    def forward(self, batch):
        time.sleep(0.03)
        return super().forward(batch)


class Dying(Bag):
    def forward(self, batch):
        os._exit(7)


class Unbuildable(Bag):
    def __init__(self, task, config):
        raise RuntimeError("no such network")


class Rejecting(nn.Module):
    """Always answers class 0, without parameters."""

    def __init__(self, task, config):
        super().__init__()
        self.outputs = task.outputs
        self.register_buffer("zero", torch.zeros(()))

    def forward(self, batch):
        return self.zero.expand(len(batch.symbols), self.outputs)


@hookimpl
def formalbench_models():
    networks = (Bag, Stumbling, NotANumber, Hungry, Unspeakable, Quitting, Slow, Dying, Unbuildable)
    for network in networks:
        name = "not-a-number" if network is NotANumber else network.__name__.lower()
        yield ModelSpec(name, 1, "for tests", network, config=BagConfig)
    yield ModelSpec(
        "rejecting", 1, "for tests", Rejecting, BagConfig, kind="exact", objectives=("classify",)
    )
