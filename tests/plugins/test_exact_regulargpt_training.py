"""A RegularGPT written by hand, perturbed, and trained as any other."""

from __future__ import annotations

import torch
from formalbench.contracts.batch import Batch
from formalbench.contracts.stream import Stream
from formalbench.host import PluginHost
from formalbench_models.constructions.exact_regulargpt import build

HOST = PluginHost.load()


def test_a_perturbed_construction_can_be_trained_back():
    task = HOST.task("parity")
    exact = build(task)
    network = HOST.network(
        "regulargpt",
        task,
        {"heads": 2, "width": 8, "hidden": 32, "activation": "relu", "bias": False},
    )
    network.load_state_dict(exact.state_dict())
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += 0.03 * torch.randn(parameter.shape, generator=generator)
    far = task.sample(Stream("far"), 300, 200)

    def accuracy():
        symbols, targets = map(torch.from_numpy, far)
        with torch.no_grad():
            return task.objective.score(network(Batch(symbols)), targets)[0].double().mean().item()

    before = accuracy()
    optimiser = torch.optim.Adam(network.parameters(), lr=3e-3)
    for step in range(200):
        drawn = task.sample(Stream("train", step), 1 + step % 40, 64)
        symbols, targets = map(torch.from_numpy, drawn)
        loss = task.objective.loss(network(Batch(symbols)), targets)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
    assert before < 0.7
    assert accuracy() > 0.95
