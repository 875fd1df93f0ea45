"""A state under small matrices, all strings at once: h_t = A_t h_{t-1}, A_t block-diagonal.

What `scan.matrix_scan` does with a library's products of matrices, which for blocks of 4 × 4 cost
more in calls than in arithmetic. Here the strings are innermost: an entry of a block is a row with
a number for each string and chunk, and a product is a few sums of products of rows.

Legend: B batch, T symbols, N chunks, C symbols of a chunk, W width, M blocks, E size of a block.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from formalbench_models.layers.scan import of_size_one

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
        return (
            _product(gradient, right.transpose(1, 2)),
            _product(left.transpose(1, 2), gradient),
        )
