"""The library's fused attention, which never holds all N·N weights.

It is many times faster on long strings when nothing is trained, and up to four times where
gradients are asked for. On a CPU `torch.func.vmap` has no rule for it. The rule is below: runs are
merged into the batch.

Legend: R runs, B batch, H heads, Q queries, N keys, E width of a head.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

TRAINED_FROM = 128
"""Keys from which on training is faster without the weights; 0.7 times as fast with 41."""

_forward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward


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
        answer: Tensor = _Fused.apply(  # type: ignore[no-untyped-call]
            *_merged(info, in_dims, inputs)
        )
        return answer.reshape(info.batch_size, -1, *answer.shape[1:]), 0


class _Trained(torch.autograd.Function):
    """The same on a CPU, with gradients for all but the bias.

    The library's own entry has them, too, but leaves the kernel as soon as `vmap` is about.
    """

    @staticmethod
    def forward(
        query_BHQE: Tensor,
        key_BHNE: Tensor,
        value_BHNE: Tensor,
        bias_BHQN: Tensor | None,
        causal: bool,
    ) -> tuple[Tensor, Tensor]:
        """Return the mixture, (B, H, Q, E), and the log of what each query's weights add up to."""
        parts = (query_BHQE, key_BHNE, value_BHNE)
        return _forward(*parts, 0.0, causal, attn_mask=bias_BHQN, scale=1.0)  # type: ignore[no-any-return]

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        """Keep what goes in and what comes out: weights are made again, some at a time."""
        if ctx.needs_input_grad[3]:
            raise ValueError("the bias of fused attention cannot be trained")
        *tensors, ctx.causal = inputs
        ctx.save_for_backward(*tensors, *output)
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, bias, mixed, log_sum = ctx.saved_tensors
        found = _backward(
            *(gradients[0], query, key, value, mixed, log_sum, 0.0, ctx.causal),
            attn_mask=bias,
            scale=1.0,
        )
        return (*found, None, None)

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], *inputs: Any
    ) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        *tensors, causal = inputs
        outputs = _Trained.apply(  # type: ignore[no-untyped-call]
            *_merged(info, in_dims[:-1], tensors), causal
        )
        return tuple(x.reshape(info.batch_size, -1, *x.shape[1:]) for x in outputs), (0, 0)


def _merged(
    info: Any, in_dims: tuple[int | None, ...], inputs: Sequence[Tensor | None]
) -> list[Tensor | None]:
    """Return the inputs with the runs merged into the batch."""
    pairs = list(zip(inputs, in_dims, strict=True))
    batch = max(batch_of(x, dim) for x, dim in pairs)
    return [merge_runs(x, dim, info.batch_size, batch) for x, dim in pairs]


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


def fused_training(
    query_BHQE: Tensor,
    key_BHNE: Tensor,
    value_BHNE: Tensor,
    bias_BHQN: Tensor | None,
    *,
    causal: bool = False,
) -> Tensor:
    """Return the same with gradients, on a CPU; of the bias there are none.

    Args:
        query_BHQE: queries, scaled already.
        key_BHNE: keys.
        value_BHNE: values.
        bias_BHQN: as in `fused_attention`.
        causal: whether each query sees its own key and those before it alone, without a bias for
            it; there are then as many keys as queries.

    Raises:
        ValueError: if the bias has a gradient.
    """
    wide = value_BHNE.dtype  # which autocast may have made narrower than the rest
    query, key = query_BHQE.to(wide), key_BHNE.to(wide)
    bias = None if bias_BHQN is None else bias_BHQN.to(wide)
    parts = (query, key, value_BHNE, bias, causal)
    mixed_BHQE, _ = _Trained.apply(*parts)  # type: ignore[no-untyped-call]
    return mixed_BHQE  # type: ignore[no-any-return]
