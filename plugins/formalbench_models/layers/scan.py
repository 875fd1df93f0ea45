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

from collections.abc import Callable, Sequence
from itertools import accumulate

import torch
from torch import Tensor
from torch.nn import functional

COMPOSED = 8
"""The size of the largest blocks that a CPU multiplies with each other inside chunks.

That costs E times as much as to apply one to the state, which only a GPU has to spare."""

Compose = Callable[[Tensor, Tensor], Tensor]
"""The product of two of A."""

Advance = Callable[[Tensor, Tensor, Tensor | None], Tensor]
"""The next state, from A, a state and b; None for no b."""


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
    return _by_chunk(torch.mul, _scaled, factor, added, state, chunk)


def scan_by_symbol(factor: Tensor, added: Tensor, state: Tensor) -> Tensor:
    """Return what `scan` does: the definition."""
    states = []
    for time in range(added.shape[1]):
        state = factor[:, time] * state + added[:, time]
        states.append(state)
    return torch.stack(states, dim=1)


def matrix_scan(matrix: Tensor, added: Tensor | None, state: Tensor, chunk: int) -> Tensor:
    """Return the state after each symbol, (B, T, ..., E).

    Args:
        matrix: A, (B, T, ..., E, E).
        added: b, (B, T, ..., E); None for zero.
        state: before the first symbol, (B, ..., E).
        chunk: C; 1 for symbol by symbol.
    """
    chunk = min(chunk, matrix.shape[1])
    if chunk == 1:
        return matrix_scan_by_symbol(matrix, added, state)
    if matrix.shape[-1] > COMPOSED and matrix.device.type == "cpu":
        return _one_by_one(matrix, added, state)
    return _by_chunk(torch.matmul, _applied, matrix, added, state, chunk)


def matrix_scan_by_symbol(matrix: Tensor, added: Tensor | None, state: Tensor) -> Tensor:
    """Return what `matrix_scan` does: the definition."""
    states = []
    for time in range(matrix.shape[1]):
        state = _applied(matrix[:, time], state, None if added is None else added[:, time])
        states.append(state)
    return torch.stack(states, dim=1)


def _one_by_one(matrix: Tensor, added: Tensor | None, state: Tensor) -> Tensor:
    """Return what `matrix_scan` does, symbol by symbol, unbound at once (see `_by_chunk`)."""
    count = matrix.shape[1]
    states = []
    for factor, more in zip(
        matrix.unbind(1), [None] * count if added is None else added.unbind(1), strict=True
    ):
        state = _applied(factor, state, more)
        states.append(state)
    return torch.stack(states, dim=1)


def _scaled(factor: Tensor, state: Tensor, added: Tensor | None) -> Tensor:
    return factor * state if added is None else torch.addcmul(added, factor, state)


def _applied(matrix: Tensor, state: Tensor, added: Tensor | None) -> Tensor:
    moved = (matrix @ state.unsqueeze(-1)).squeeze(-1)
    return moved if added is None else moved + added


def _by_chunk(
    compose: Compose,
    advance: Advance,
    factor: Tensor,
    added: Tensor | None,
    state: Tensor,
    chunk: int,
) -> Tensor:
    """Scan in chunks.

    Args:
        compose: how to make one A of two.
        advance: how to make the next state.
        factor: A.
        added: b; None for zero.
        state: before the first symbol.
        chunk: C.
    """
    length = factor.shape[1]
    # Unbound at once: going back, each symbol picked out alone would fill a gradient for all.
    factors = _cut(factor, chunk).unbind(2)
    products = list(accumulate(factors, lambda product, step: compose(step, product)))
    wholes, inner = products[-1].unbind(1), None
    ends: Sequence[Tensor | None] = [None] * len(wholes)
    if added is not None:
        inners = _inners(advance, factors, _cut(added, chunk).unbind(2))
        inner, ends = torch.stack(inners, dim=2), inners[-1].unbind(1)
    starts = []
    for whole, end in zip(wholes, ends, strict=True):
        starts.append(state)
        state = advance(whole, state, end)
    begun = torch.stack(starts, dim=1).unsqueeze(2)
    return advance(torch.stack(products, dim=2), begun, inner).flatten(1, 2)[:, :length]


def _inners(advance: Advance, factors: Sequence[Tensor], addeds: Sequence[Tensor]) -> list[Tensor]:
    """Return the states inside chunks that begin with 0, a symbol of all chunks each."""
    inners = [addeds[0]]
    for factor, added in zip(factors[1:], addeds[1:], strict=True):
        inners.append(advance(factor, inners[-1], added))
    return inners


def _cut(part: Tensor, chunk: int) -> Tensor:
    """Cut (B, T, ...) into chunks, the last one filled up: (B, N, C, ...)."""
    missing = -part.shape[1] % chunk
    if missing:  # what it is filled up with comes after all that is read
        part = functional.pad(part, (0, 0) * (part.ndim - 2) + (0, missing))
    return torch.unflatten(part, 1, (-1, chunk))
