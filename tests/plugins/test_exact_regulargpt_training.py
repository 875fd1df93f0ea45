"""A RegularGPT written by hand, perturbed, and trained as any other."""

from __future__ import annotations

import pytest
import torch
from exact_helpers import is_right
from formalbench.contracts.example import tensors
from formalbench.contracts.source import Stream
from formalbench.host import PluginHost
from formalbench_models.catalogue.constructions import ExactRegularGptConfig
from formalbench_models.constructions.exact_regulargpt import build

HOST = PluginHost.load()


@pytest.mark.slow
def test_a_perturbed_construction_can_be_trained_back():
    task = HOST.task("parity")
    exact = build(task, ExactRegularGptConfig())
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
    far = tensors(task.sample(Stream("far"), 300, 200))

    def accuracy():
        with torch.no_grad():
            return is_right(task, network(far.batch), far).double().mean().item()

    before = accuracy()
    optimiser = torch.optim.Adam(network.parameters(), lr=3e-3)
    for step in range(200):
        example = tensors(task.sample(Stream("train", step), 1 + step % 40, 64))
        loss = task.objective.loss(network(example.batch), example)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
    assert before < 0.7
    assert accuracy() > 0.95
