"""h = A h + b by chunks: numbers, matrices and small blocks, each beside its definition.

`scan` has a factor for every number of the state, real or complex (diagonal A); `matrix_scan` a
matrix for every block of the state (block-diagonal A, dense if there is one block), and gives the
directions of its states. Symbol by symbol they are `scan_by_symbol` and `matrix_scan_by_symbol`,
the references.

The string is cut into chunks. All chunks are processed together, with the product of A; then the
states at the chunks' ends follow from one another. For T symbols in chunks of C that takes C + T/C
steps in the place of T, with time and memory linear in T, and no division: A may be 0, negative, or
not invertible.

What `matrix_scan` does with a library's products of matrices, which for blocks of 4 × 4 cost
more in calls than in arithmetic. Here the strings are innermost: an entry of a block is a row with
a number for each string and chunk, and a product is a few sums of products of rows.

Legend: B batch, T symbols, N chunks, C symbols of a chunk, E size of a block, ... any dimensions, W
width, M blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

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

    if chunk == 1 or (matrix.shape[-1] > COMPOSED and matrix.device.type == "cpu"):
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
        if resize is not None:
            state = resize(state)
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


LARGEST = 8
"""The largest block for which this is the faster form on a CPU."""


def by_place(x_BTW: Tensor, chunk: int) -> Tensor:
    """Return the symbols by their place in a chunk, then by chunk, then by string: (C, N·B, W).

    The last chunk is filled up with zeros.
    """
    missing = -x_BTW.shape[1] % chunk
    filled = functional.pad(x_BTW, (0, 0, 0, missing)) if missing else x_BTW
    return torch.unflatten(filled, 1, (-1, chunk)).permute(2, 1, 0, 3).flatten(1, 2)


def by_string(x_PW: Tensor, batch: int, length: int, chunk: int) -> Tensor:
    """Return what was sorted so, (C·N·B, W), as it was: (B, T, W)."""
    x_CNBW = torch.unflatten(x_PW, 0, (chunk, -(-length // chunk), batch))
    return x_CNBW.permute(2, 1, 0, 3).flatten(1, 2)[:, :length]


def block_scan(matrices: Sequence[Tensor], state_MEB: Tensor, *, apart: bool = False) -> Tensor:
    """Return the state after each symbol but for its size, as `matrix_scan`: (M, E, C, N, B).

    Args:
        matrices: A at each place of a chunk, C of (M, E, E, N, B).
        state_MEB: before the first symbol.
        apart: whether the size of each block's vector is free by itself.
    """
    products = list(accumulate(matrices, lambda product, step: _product(step, product)))
    state, starts = state_MEB.unsqueeze(2), []
    for whole in products[-1].unbind(3):
        starts.append(state)
        state = of_size_one(_product(whole, state), over=(1, 2) if apart else (0, 1, 2))
    begun = torch.stack(starts, dim=3)
    return torch.stack([_product(product, begun).squeeze(2) for product in products], dim=2)


def _product(left: Tensor, right: Tensor) -> Tensor:
    """Return the products of (M, I, J, ...) and (M, J, K, ...): (M, I, K, ...)."""
    product: Tensor = _Product.apply(left, right)  # type: ignore[no-untyped-call]
    return product


class _Product(torch.autograd.Function):
    """A product whose gradients are products, too: the library's would be four sums a term."""

    generate_vmap_rule = True

    @staticmethod
    def forward(left: Tensor, right: Tensor) -> Tensor:
        total = left[:, :, 0, None] * right[:, None, 0]
        for term in range(1, left.shape[2]):
            total = total.addcmul(left[:, :, term, None], right[:, None, term])
        return total

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        left, right = ctx.saved_tensors
        return (_product(gradient, right.transpose(1, 2)), _product(left.transpose(1, 2), gradient))
