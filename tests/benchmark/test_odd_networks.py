"""Networks that are legal but unusual: training must take them as they are."""

import pytest
import torch
from formalbench.contracts.protocol import Protocol
from formalbench.training.run_state import Member
from formalbench.training.trainer import Cohort, make_recipe, train_cohort
from torch import nn

PROTOCOL = Protocol.model_validate(
    {
        "name": "tiny",
        "version": 1,
        "steps": 20,
        "batch": 8,
        "evaluate_every": 10,
        "optimiser": {"weight_decay": 0.1},
        "decay": {"steps": 10},
        "validation": {"every": 10, "lengths": 2, "strings": 8},
    }
)


class Sum(nn.Module):
    def __init__(self, task):
        super().__init__()
        self.embed = nn.Embedding(len(task.alphabet), 4)
        self.read = nn.Linear(4, task.outputs)

    def forward(self, batch):
        return self.read(self.embed(batch.symbols).sum(1).tanh())


class Frozen(Sum):
    """Fixed embeddings, as a fixed position code would be."""

    def __init__(self, task):
        super().__init__(task)
        self.embed.weight.requires_grad_(False)


class Tied(Sum):
    """One parameter under two names."""

    def __init__(self, task):
        super().__init__(task)
        self.mix = nn.Linear(4, len(task.alphabet), bias=False)
        self.mix.weight = self.embed.weight

    def forward(self, batch):
        return self.mix(self.embed(batch.symbols).sum(1).tanh())


class Shared(Sum):
    """One layer under two names, as in a network that shares its weights across depth."""

    def __init__(self, task):
        super().__init__(task)
        self.layers = nn.ModuleList([nn.Linear(4, 4)] * 2)

    def forward(self, batch):
        x_BD = self.embed(batch.symbols).sum(1)
        for layer in self.layers:
            x_BD = layer(x_BD).tanh()
        return self.read(x_BD)


class Spare(Sum):
    """A parameter that no answer depends on."""

    def __init__(self, task):
        super().__init__(task)
        self.spare = nn.Parameter(torch.ones(3))


class Buffered(Sum):
    """A constant that is no parameter."""

    def __init__(self, task):
        super().__init__(task)
        self.register_buffer("scale", torch.tensor(2.0))

    def forward(self, batch):
        return super().forward(batch) * self.scale


def train(host, network, seeds):
    task = host.task("first")
    members = [Member(0.01, seed) for seed in range(seeds)]
    device, recipe = torch.device("cpu"), make_recipe(host, PROTOCOL)
    return train_cohort(Cohort(lambda: network(task), task, PROTOCOL, members, device, recipe))


@pytest.mark.parametrize("seeds", [1, 2])
@pytest.mark.parametrize("network", [Sum, Frozen, Tied, Shared, Spare, Buffered])
def test_it_trains(host, network, seeds):
    for done in train(host, network, seeds):
        assert (done.status, done.steps) == ("finished", 20)
        assert done.best is not None


@pytest.mark.parametrize("seeds", [1, 2])
def test_what_is_frozen_stays_as_it_was(host, seeds):
    for seed, done in enumerate(train(host, Frozen, seeds)):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            fresh = Frozen(host.task("first"))
        assert torch.equal(done.network.embed.weight, fresh.embed.weight)
        assert not torch.equal(done.network.read.weight, fresh.read.weight)
