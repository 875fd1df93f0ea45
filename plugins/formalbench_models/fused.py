"""The library's fused attention, for answering without gradients.

It never holds all N·N weights and is many times faster on long strings, but on a CPU
`torch.func.vmap` has no rule for it. The rule is below: runs are merged into the batch.

Legend: R runs, B batch, H heads, Q queries, N keys, E width of a head.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional


class _Fused(torch.autograd.Function):
    """Attention by the library, with a rule for `vmap` and none for gradients."""

    @staticmethod
    def forward(
        query_BHQE: Tensor, key_BHNE: Tensor, value_BHNE: Tensor, bias_BHQN: Tensor | None
    ) -> Tensor:
        return functional.scaled_dot_product_attention(
            query_BHQE, key_BHNE, value_BHNE, attn_mask=bias_BHQN, scale=1.0
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Keep nothing: there is no backward pass."""

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], *inputs: Tensor | None
    ) -> tuple[Tensor, int]:
        runs = info.batch_size
        batches = [batch_of(x, dim) for x, dim in zip(inputs, in_dims, strict=True)]
        merged = [
            merge_runs(x, dim, runs, max(batches)) for x, dim in zip(inputs, in_dims, strict=True)
        ]
        answer: Tensor = _Fused.apply(*merged)  # type: ignore[no-untyped-call]
        return answer.reshape(runs, answer.shape[0] // runs, *answer.shape[1:]), 0


def batch_of(x: Tensor | None, dim: int | None) -> int:
    """Return B of an input, which has the runs at `dim` or not at all."""
    if x is None:
        return 0
    return x.shape[0] if dim is None or dim > 0 else x.shape[1]


def merge_runs(x: Tensor | None, dim: int | None, runs: int, batch: int) -> Tensor | None:
    """Merge runs into the batch: (R, B, …) or, if all runs share it, (B, …) to (R·B, …)."""
    if x is None or (dim is None and x.shape[0] == 1):
        return x
    every = x[None] if dim is None else x.movedim(dim, 0)
    return every.expand(runs, batch, *every.shape[2:]).flatten(0, 1)


def fused_attention(
    query_BHQE: Tensor, key_BHNE: Tensor, value_BHNE: Tensor, bias_BHQN: Tensor | None
) -> Tensor:
    """Return softmax(q·k + bias)·v, (B, H, Q, E), when no gradient is needed.

    Args:
        query_BHQE: queries, scaled already.
        key_BHNE: keys.
        value_BHNE: values.
        bias_BHQN: added to the logits, -inf where nothing may be seen; its first three
            dimensions may be 1.
    """
    inputs = (query_BHQE, key_BHNE, value_BHNE, bias_BHQN)
    mixed_BHQE: Tensor = _Fused.apply(*inputs)  # type: ignore[no-untyped-call]
    return mixed_BHQE
