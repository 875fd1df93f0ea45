"""Constructions in the network class that is trained, and training from them."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from exact_helpers import NORMS, ask, hard_strings, is_right, make
from formalbench.contracts.network import Batch

every_network = pytest.mark.parametrize("network", ["hand-written", "transformer"])


@pytest.mark.parametrize(("language", "options"), list(product(("parity", "first"), NORMS)))
def test_the_network_that_is_trained_gives_the_same_logits(language, options):
    model = f"exact-{language}"
    for more in ({}, {"log_length": True}) if language == "first" else ({},):
        own, task = make(model, language, options | more)
        loaded, _ = make(model, language, {**options, **more, "network": "transformer"})
        assert type(loaded).__name__ == "Transformer"
        assert loaded.traits.constants == own.traits.constants
        for length in (1, 2, 5, 40):
            strings = hard_strings(task, length)
            with torch.no_grad():
                want, got = own(Batch(strings)), loaded(Batch(strings))
            torch.testing.assert_close(got, want, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"norm": True}, {"eps": 0.0, "eta": 0.1}, {}])
@every_network
def test_training_recovers_from_a_small_push(options, network):
    exact, task = make("exact-first", "first", {**options, "network": network, "log_length": True})
    strings = hard_strings(task, 20, count=40)
    example = ask(task, strings)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in exact.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
            parameter.add_(0.3 * noise)
    optimiser = torch.optim.Adam(exact.parameters(), lr=0.01)
    losses = []
    for _ in range(60):
        loss = task.objective.loss(exact(Batch(strings)), example)
        optimiser.zero_grad()
        loss.backward()
        assert all(p.grad is None or p.grad.isfinite().all() for p in exact.parameters())
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
    with torch.no_grad():
        assert is_right(task, exact(Batch(strings)), example).all()
