"""Linear recurrences of numbers and of vectors: h_t = A_t h_{t-1} + b_t.

`scan` has a factor for every number of the state, real or complex (diagonal A); `matrix_scan` a
matrix for every block of the state (block-diagonal A, dense if there is one block). Symbol by
symbol they are `scan_by_symbol` and `matrix_scan_by_symbol`, the references.

The string is cut into chunks. Inside, all chunks go on together, and the product of A goes along;
then the states at the chunks' ends follow from one another. For T symbols in chunks of C that
takes C + T/C steps in the place of T, with time and memory linear in T, and no division: A may be
0, negative, or not invertible.

Legend: B batch, T symbols, N chunks, C symbols of a chunk, E size of a block. ... any dimensions.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

Product = Callable[[Tensor, Tensor], Tensor]


def scan(factor: Tensor, added: Tensor, state: Tensor | None, chunk: int) -> Tensor:
    """Return the state after each symbol, (B, T, ...).

    Args:
        factor: A's diagonal, (B, T, ...).
        added: b, (B, T, ...), as large.
        state: before the first symbol, (B, ...); None for zero.
        chunk: C; 1 for symbol by symbol.
    """
    if state is None:
        state = torch.zeros_like(added[:, 0])
    chunk = min(chunk, added.shape[1])
    if chunk == 1:
        return scan_by_symbol(factor, added, state)
    return _by_chunk(torch.mul, torch.mul, factor, added, state, chunk)


def scan_by_symbol(factor: Tensor, added: Tensor, state: Tensor) -> Tensor:
    """Return what `scan` does: the definition."""
    states = []
    for time in range(added.shape[1]):
        state = factor[:, time] * state + added[:, time]
        states.append(state)
    return torch.stack(states, dim=1)


def matrix_scan(matrix: Tensor, added: Tensor, state: Tensor, chunk: int) -> Tensor:
    """Return the state after each symbol, (B, T, ..., E).

    Args:
        matrix: A, (B, T, ..., E, E).
        added: b, (B, T, ..., E).
        state: before the first symbol, (B, ..., E).
        chunk: C; 1 for symbol by symbol.
    """
    chunk = min(chunk, matrix.shape[1])
    if chunk == 1:
        return matrix_scan_by_symbol(matrix, added, state)
    return _by_chunk(torch.matmul, _apply, matrix, added, state, chunk)


def matrix_scan_by_symbol(matrix: Tensor, added: Tensor, state: Tensor) -> Tensor:
    """Return what `matrix_scan` does: the definition."""
    states = []
    for time in range(matrix.shape[1]):
        state = _apply(matrix[:, time], state) + added[:, time]
        states.append(state)
    return torch.stack(states, dim=1)


def _apply(matrix: Tensor, vector: Tensor) -> Tensor:
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def _by_chunk(
    compose: Product, apply: Product, factor: Tensor, added: Tensor, state: Tensor, chunk: int
) -> Tensor:
    """Scan in chunks.

    Args:
        compose: the product of two of A.
        apply: the product of A and a state.
        factor: A.
        added: b.
        state: before the first symbol.
        chunk: C.
    """
    length = added.shape[1]
    factor, added = _cut(factor, chunk), _cut(added, chunk)
    product, inner = factor[:, :, 0], added[:, :, 0]
    products, inners = [product], [inner]
    for time in range(1, chunk):
        step = factor[:, :, time]
        product, inner = compose(step, product), apply(step, inner) + added[:, :, time]
        products.append(product)
        inners.append(inner)
    starts = []
    for index in range(added.shape[1]):
        starts.append(state)
        state = apply(product[:, index], state) + inner[:, index]
    begun = torch.stack(starts, dim=1).unsqueeze(2)
    states = apply(torch.stack(products, dim=2), begun) + torch.stack(inners, dim=2)
    return states.flatten(1, 2)[:, :length]


def _cut(part: Tensor, chunk: int) -> Tensor:
    """Cut (B, T, ...) into chunks, the last one filled up: (B, N, C, ...)."""
    missing = -part.shape[1] % chunk
    # What it is filled up with comes after all that is read.
    padding = (0, 0) * (part.ndim - 2) + (0, missing)
    return torch.unflatten(functional.pad(part, padding), 1, (-1, chunk))
