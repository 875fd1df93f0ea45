"""sLSTM against its equations, a head and a symbol at a time."""

from __future__ import annotations

import pytest
import torch
from formalbench_models.catalogue.linear_recurrences import SlstmConfig
from formalbench_models.families import xlstm
from formalbench_models.families.xlstm import SlstmMixer
from model_helpers import shaken


def mixer(**options):
    torch.manual_seed(0)
    return shaken(SlstmMixer(SlstmConfig(**{"width": 6, "heads": 2} | options), 0.5))


@pytest.mark.parametrize("heads", [1, 2, 3])
@pytest.mark.parametrize("convolution", [0, 1, 4])
@pytest.mark.parametrize("length", [1, 2, 9])
def test_states_and_gradients_are_those_of_the_equations(heads, convolution, length):
    network = mixer(heads=heads, convolution=convolution)
    x = torch.randn(3, length, 6, dtype=torch.float64, requires_grad=True)
    fast, _ = network(x, ())
    slow = torch.stack([xlstm.naive_slstm(network, one) for one in x])
    torch.testing.assert_close(fast, slow, rtol=0, atol=1e-10)
    weight, wanted = torch.randn_like(slow), [x, *network.parameters()]
    for mine, other in zip(
        *(
            torch.autograd.grad((y * weight).sum(), wanted, materialize_grads=True)
            for y in (fast, slow)
        ),
        strict=True,
    ):
        torch.testing.assert_close(mine, other, rtol=1e-8, atol=1e-8)


def test_exponentials_of_a_thousand_stay_within_range():
    network = mixer().float()
    with torch.no_grad():
        network.bias[:, :3] += torch.tensor([1000.0, -1000.0, 0.0])
    x = torch.randn(2, 50, 6, requires_grad=True)
    answer, _ = network(x, ())
    answer.square().sum().backward()
    assert answer.isfinite().all()
    assert all(p.grad.isfinite().all() for p in network.parameters())
