"""h = A h + b by chunks: numbers and matrices, each beside its definition.

`scan` has a factor for every number of the state, real or complex (diagonal A); `matrix_scan` a
matrix for every block of the state (block-diagonal A, dense if there is one block), and gives the
directions of its states. Symbol by symbol they are `scan_by_symbol` and `matrix_scan_by_symbol`,
the references.

The string is cut into chunks. All chunks are processed together, with the product of A; then the
states at the chunks' ends follow from one another. For T symbols in chunks of C that takes C + T/C
steps in the place of T, with time and memory linear in T, and no division: A may be 0, negative, or
not invertible.

Legend: B batch, T symbols, N chunks, C symbols of a chunk, E size of a block, ... any dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

import torch
from torch import Tensor

from formalbench_models.layers.tensors import cut

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
    for one, other in zip(factor.unbind(1), added.unbind(1), strict=True):
        state = one * state + other
        states.append(state)
    return torch.stack(states, dim=1)


def matrix_scan(matrix: Tensor, state: Tensor, chunk: int, *, apart: bool = False) -> Tensor:
    """Return the state after each symbol but for its size, (B, T, ..., E).

    No b: so the size of a state is a factor of all that follow, and is reset after every chunk
    (`of_size_one`), or after every symbol, to keep them finite. Inside a chunk products can still
    overflow, if matrices are large. Who reads the states has to read their directions alone.

    Args:
        matrix: A, (B, T, ..., E, E).
        state: before the first symbol, (B, ..., E).
        chunk: C; 1 for symbol by symbol.
        apart: whether the size of each vector of a state is free by itself.
    """
    chunk = min(chunk, matrix.shape[1])

    def rescale(state: Tensor) -> Tensor:
        return of_size_one(state, [-1] if apart else range(1, state.ndim))

    if chunk == 1:
        return matrix_scan_by_symbol(matrix, state, rescale)

    def advance(matrix: Tensor, state: Tensor, added: Tensor | None) -> Tensor:
        return _applied(matrix, state)

    return _by_chunk(torch.matmul, advance, matrix, None, state, chunk, rescale)


def matrix_scan_by_symbol(
    matrix: Tensor, state: Tensor, rescale: Callable[[Tensor], Tensor]
) -> Tensor:
    """Return what `matrix_scan` does: the definition."""
    states = []
    for one in matrix.unbind(1):  # at once, as in `_by_chunk`
        state = rescale(_applied(one, state))
        states.append(state)
    return torch.stack(states, dim=1)


def of_size_one(state: Tensor, over: Sequence[int]) -> Tensor:
    """Return a state whose largest number is 1 or -1; of zeros, the same.

    Args:
        state: of several strings.
        over: the dimensions of a string's state. No gradient goes through its size: nothing that
            reads its direction alone has one.
    """
    largest = state.detach().abs().amax(tuple(over), keepdim=True)
    return state / torch.where(largest > 0, largest, 1.0)


def _scaled(factor: Tensor, state: Tensor, added: Tensor | None) -> Tensor:
    return factor * state if added is None else torch.addcmul(added, factor, state)


def _applied(matrix: Tensor, state: Tensor) -> Tensor:
    return (matrix @ state.unsqueeze(-1)).squeeze(-1)


def _by_chunk(
    compose: Compose,
    advance: Advance,
    factor: Tensor,
    added: Tensor | None,
    state: Tensor,
    chunk: int,
    resize: Callable[[Tensor], Tensor] | None = None,
) -> Tensor:
    """Scan in chunks.

    Args:
        compose: how to make one A of two.
        advance: how to make the next state.
        factor: A.
        added: b; None for zero.
        state: before the first symbol.
        chunk: C.
        resize: what is made of a state before the next chunk; None for nothing.
    """
    length = factor.shape[1]
    # Unbound at once: going back, each symbol picked out alone would fill a gradient for all.
    factors = cut(factor, chunk).unbind(2)
    products = list(accumulate(factors, lambda product, step: compose(step, product)))
    wholes, inner = products[-1].unbind(1), None
    ends: Sequence[Tensor | None] = [None] * len(wholes)
    if added is not None:
        inners = _inners(advance, factors, cut(added, chunk).unbind(2))
        inner, ends = torch.stack(inners, dim=2), inners[-1].unbind(1)
    starts = []
    for whole, end in zip(wholes, ends, strict=True):
        starts.append(state)
        state = advance(whole, state, end)
        if resize is not None:
            state = resize(state)
    begun = torch.stack(starts, dim=1).unsqueeze(2)
    return advance(torch.stack(products, dim=2), begun, inner).flatten(1, 2)[:, :length]


def _inners(advance: Advance, factors: Sequence[Tensor], inputs: Sequence[Tensor]) -> list[Tensor]:
    """Return the states inside chunks that begin with 0, a symbol of all chunks each."""
    inners = [inputs[0]]
    for factor, added in zip(factors[1:], inputs[1:], strict=True):
        inners.append(advance(factor, inners[-1], added))
    return inners
