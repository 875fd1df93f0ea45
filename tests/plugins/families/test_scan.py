"""Scans in chunks give what the definitions give, symbol by symbol."""

from __future__ import annotations

import pytest
import torch
from formalbench_models.layers.scan import (
    block_scan,
    by_place,
    by_string,
    matrix_scan,
    of_size_one,
    scan,
)
from torch.nn.functional import normalize

LENGTHS = [(1, 4), (7, 4), (37, 16), (33, 5), (9, 64)]


def numbers(length: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(length)
    factor = torch.randn(2, length, 3, dtype=dtype)
    factor[:, length // 2] = 0  # what cannot be divided by
    return factor, torch.randn(2, length, 3, dtype=dtype), torch.randn(2, 3, dtype=dtype)


def matrices(length: int, size: int = 4) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(length)
    matrix = torch.randn(2, length, 3, size, size, dtype=torch.float64)
    return matrix, torch.randn(2, 3, size, dtype=torch.float64)


def directions(matrix, state, chunk):
    """Return the states that a scan of matrices gives, each of length 1."""
    return direction(matrix_scan(matrix, state, chunk).flatten(2))


def direction(states):
    return normalize(of_size_one(states, over=[-1]), dim=-1)


def of_kind(kind, length):
    if kind == "matrix":
        return directions, matrices(length)
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


@pytest.mark.parametrize("chunk", [1, 4, 16])
@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_states_neither_overflow_nor_vanish(scale, chunk):
    """Products of 200 such matrices are beyond what a double holds; their directions are not."""
    matrix, start = matrices(200)
    wanted = directions(matrix, start, 1)
    found = matrix_scan(scale * matrix, start, chunk)
    assert found.isfinite().all()
    torch.testing.assert_close(direction(found.flatten(2)), wanted, rtol=1e-8, atol=1e-8)


def test_what_a_matrix_of_zeros_leaves_is_zero():
    matrix, start = matrices(23)
    matrix[:, 11] = 0
    for chunk in (1, 4):
        states = matrix_scan(matrix, start, chunk)
        assert states[:, :11].abs().sum((2, 3)).gt(0).all()
        assert not states[:, 11:].any()


@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize(("length", "chunk"), [(7, 4), (37, 16), (33, 5)])
def test_strings_innermost_gives_the_same_directions_and_gradients(size, length, chunk):
    inputs = [part.requires_grad_() for part in matrices(length, size)]

    def innermost(matrix_BTMEE, state_BME):
        placed = by_place(matrix_BTMEE.flatten(2), chunk).unbind()
        matrices = [
            part.mT.view(3, size, size, -1, 2)  # a row for each entry, a column for each string
            for part in placed
        ]
        states_MECNB = block_scan(matrices, state_BME.permute(1, 2, 0))
        found = by_string(states_MECNB.flatten(0, 1).flatten(1).mT, 2, length, chunk)
        return direction(found)

    found = []
    for states in (innermost(*inputs), directions(*inputs, 1)):
        weights = torch.linspace(-1, 1, states.numel(), dtype=torch.float64).reshape(states.shape)
        found.append((states, *torch.autograd.grad((states * weights).square().sum(), inputs)))
    torch.testing.assert_close(found[0][0], found[1][0], rtol=1e-10, atol=1e-10)
    for mine, other in zip(*found, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-8, atol=1e-8)
