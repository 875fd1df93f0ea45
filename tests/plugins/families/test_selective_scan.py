"""Mamba's scan, whose way back is written by hand, against finite differences."""

from __future__ import annotations

import pytest
import torch
from formalbench_models.families.mamba import selective_scan

SYMBOLS, CHANNELS, STATES = 7, 3, 2


def inputs(strings: int = 2) -> tuple[torch.Tensor, ...]:
    """Return x, the steps, the rates, B, C and the state from before."""
    torch.manual_seed(0)
    shapes = [
        (strings, SYMBOLS, CHANNELS),
        (strings, SYMBOLS, CHANNELS),
        (CHANNELS, STATES),
        *[(strings, SYMBOLS, STATES)] * 2,
        (strings, CHANNELS, STATES),
    ]
    x, step, rate, write, read, state = (torch.randn(s, dtype=torch.float64) for s in shapes)
    found = (x, step.exp(), -rate.exp(), write, read, state)
    return tuple(part.requires_grad_() for part in found)


@pytest.mark.slow
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("chunk", [1, 3, 64])
@pytest.mark.parametrize("given", [False, True], ids=["from nothing", "from a state"])
def test_gradients_are_those_of_finite_differences(signed, chunk, given):
    *parts, state = inputs()

    def run(*parts):
        given = parts if len(parts) == 6 else (*parts, None)
        return selective_scan(*given, chunk=chunk, signed=signed)  # the answers and the last state

    assert torch.autograd.gradcheck(run, (*parts, state) if given else tuple(parts))


@pytest.mark.parametrize("signed", [False, True])
def test_gradients_under_vmap_are_those_of_each_run(signed):
    """Runs have rates of their own, which the merged batch holds once a string."""
    runs = [inputs(strings) for strings in (2, 2)]
    with torch.no_grad():
        for part in runs[1]:
            part.mul_(0.7)

    def loss(*parts):
        answers, last = selective_scan(*parts, chunk=3, signed=signed)
        return answers.square().sum() + last.sin().sum()

    stacked = [torch.stack(p).detach().requires_grad_() for p in zip(*runs, strict=True)]
    found = torch.autograd.grad(torch.func.vmap(loss)(*stacked).sum(), stacked)
    for index, run in enumerate(runs):
        alone = torch.autograd.grad(loss(*run), run)
        for mine, other in zip(found, alone, strict=True):
            torch.testing.assert_close(mine[index], other, rtol=1e-10, atol=1e-10)
