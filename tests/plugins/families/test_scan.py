"""Scans in chunks give what the definitions give, symbol by symbol."""

from __future__ import annotations

import pytest
import torch
from formalbench_models.layers.scan import matrix_scan, scan

LENGTHS = [(1, 4), (7, 4), (37, 16), (33, 5), (9, 64)]


def numbers(length: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(length)
    factor = torch.randn(2, length, 3, dtype=dtype)
    factor[:, length // 2] = 0  # what cannot be divided by
    return factor, torch.randn(2, length, 3, dtype=dtype), torch.randn(2, 3, dtype=dtype)


def matrices(length: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(length)
    matrix = 0.5 * torch.randn(2, length, 3, 4, 4, dtype=torch.float64)
    matrix[:, length // 2] = 0
    added = torch.randn(2, length, 3, 4, dtype=torch.float64)
    return matrix, added, torch.randn(2, 3, 4, dtype=torch.float64)


def of_kind(kind, length):
    if kind == "matrix":
        return matrix_scan, matrices(length)
    dtype = torch.complex128 if kind == "complex" else torch.float64
    return scan, numbers(length, dtype)


@pytest.mark.parametrize("kind", ["real", "complex", "matrix"])
@pytest.mark.parametrize(("length", "chunk"), LENGTHS)
def test_chunks_give_the_same_states_and_gradients(kind, length, chunk):
    run, inputs = of_kind(kind, length)
    for part in inputs:
        part.requires_grad_()
    found = []
    for size in (chunk, 1):
        states = run(*inputs, size)
        weights = torch.linspace(-1, 1, states.numel(), dtype=torch.float64).reshape(states.shape)
        loss = (states * weights).abs().square().sum()
        found.append((states, *torch.autograd.grad(loss, inputs)))
    torch.testing.assert_close(found[0][0], found[1][0], rtol=1e-10, atol=1e-10)
    for mine, other in zip(*found, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kind", ["real", "complex", "matrix"])
def test_gradients_are_those_of_finite_differences(kind):
    run, inputs = of_kind(kind, 5)
    inputs = [part[:1].clone().requires_grad_() for part in inputs]
    assert torch.autograd.gradcheck(lambda *parts: run(*parts, 2), inputs, fast_mode=True)


@pytest.mark.parametrize("kind", ["real", "matrix"])
def test_a_scan_goes_on_where_it_stopped(kind):
    run, (factor, added, start) = of_kind(kind, 23)
    whole = run(factor, added, start, 4)
    first = run(factor[:, :9], added[:, :9], start, 4)
    rest = run(factor[:, 9:], added[:, 9:], first[:, -1], 4)
    torch.testing.assert_close(torch.cat((first, rest), 1), whole, rtol=1e-10, atol=1e-10)
