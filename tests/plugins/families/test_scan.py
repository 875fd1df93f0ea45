"""Scans in chunks give what the definitions give, symbol by symbol."""

from __future__ import annotations

import pytest
import torch
from formalbench_models.layers.scan import matrix_scan, scan
from formalbench_models.layers.small_blocks import block_scan, by_place, by_string

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


@pytest.mark.parametrize("with_added", [True, False])
def test_large_blocks_give_the_same_states_and_gradients(with_added):
    torch.manual_seed(0)
    matrix = 0.3 * torch.randn(2, 11, 1, 9, 9, dtype=torch.float64)
    added = torch.randn(2, 11, 1, 9, dtype=torch.float64) if with_added else None
    start = torch.randn(2, 1, 9, dtype=torch.float64)
    inputs = [part.requires_grad_() for part in (matrix, added, start) if part is not None]
    found = []
    for chunk in (4, 1):
        states = matrix_scan(matrix, added, start, chunk)
        loss = (states * torch.linspace(-1, 1, 9, dtype=torch.float64)).square().sum()
        found.append((states, *torch.autograd.grad(loss, inputs)))
    for mine, other in zip(*found, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize(("length", "chunk"), [(7, 4), (37, 16), (33, 5)])
def test_strings_innermost_gives_the_same_states_and_gradients(size, length, chunk):
    torch.manual_seed(length)
    matrix = torch.randn(2, length, 3, size, size, dtype=torch.float64)
    matrix[:, length // 2] = 0
    inputs = (matrix.requires_grad_(), torch.randn(2, 3, size, dtype=torch.float64))
    inputs[1].requires_grad_()

    def innermost(matrix_BTMEE, state_BME):
        placed = by_place(matrix_BTMEE.flatten(2), chunk).unbind()
        matrices = [
            part.mT.view(3, size, size, -1, 2)  # a row for each entry, a column for each string
            for part in placed
        ]
        states_MECNB = block_scan(matrices, state_BME.permute(1, 2, 0))
        found = by_string(states_MECNB.flatten(0, 1).flatten(1).mT, 2, length, chunk)
        return found.unflatten(-1, (3, size))

    found = []
    for states in (innermost(*inputs), matrix_scan(inputs[0], None, inputs[1], 1)):
        weights = torch.linspace(-1, 1, states.numel(), dtype=torch.float64).reshape(states.shape)
        found.append((states, *torch.autograd.grad((states * weights).square().sum(), inputs)))
    torch.testing.assert_close(found[0][0], found[1][0], rtol=1e-10, atol=1e-10)
    for mine, other in zip(*found, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-8, atol=1e-8)
