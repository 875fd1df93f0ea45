"""torch's fused attention, which never stores all N·N weights.

It is many times faster on long strings when nothing is trained, and up to four times where
gradients are asked for. On a CPU `torch.func.vmap` has no rule for it. The rule is below: runs are
merged into the batch.

Legend: R runs, B batch, H heads, Q queries, N keys, E width of a head.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from formalbench_models.layers.tensors import merge_runs

TRAINED_FROM = 128
"""Minimum keys for training without stored weights; it is 0.7 times as fast with 41."""

_forward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward


class _FlashAttention(torch.autograd.Function):
    """`apply(query, key, value, bias, causal)`; gradients on a CPU only, and none of the bias.

    The library's own entry leaves its kernel, or goes run by run, under `vmap`.
    """

    @staticmethod
    def forward(
        query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, causal: bool
    ) -> tuple[Tensor, Tensor]:
        """Return the mixture and the log of each query's sum of weights."""
        if query.device.type == "cpu":
            return _forward(query, key, value, 0.0, causal, attn_mask=bias, scale=1.0)  # type: ignore[no-any-return]
        mixed = functional.scaled_dot_product_attention(
            query, key, value, bias, is_causal=causal, scale=1.0
        )
        return mixed, mixed.new_zeros(len(mixed))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        """Save inputs and outputs; weights are recomputed in parts."""
        if ctx.needs_input_grad[3]:
            raise ValueError("the bias of fused attention cannot be trained")
        *tensors, ctx.causal = inputs
        ctx.save_for_backward(*tensors, *output)
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, bias, mixed, log_sum = ctx.saved_tensors
        saved = (query, key, value, mixed, log_sum, 0.0, ctx.causal)
        return (*_backward(gradients[0], *saved, attn_mask=bias, scale=1.0), None, None)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> Any:
        *tensors, causal = inputs
        merged = merge_runs(info, in_dims, tensors)
        outputs = _FlashAttention.apply(*merged, causal)  # type: ignore[no-untyped-call]
        return tuple(x.unflatten(0, (info.batch_size, -1)) for x in outputs), (0, 0)


def fused_attention(
    query_BHQE: Tensor,
    key_BHNE: Tensor,
    value_BHNE: Tensor,
    bias_BHQN: Tensor | None,
    causal: bool = False,
) -> Tensor:
    """Return softmax(q·k + bias)·v, (B, H, Q, E); with gradients on a CPU, but not of the bias.

    Args:
        query_BHQE: queries, scaled already.
        key_BHNE: keys.
        value_BHNE: values.
        bias_BHQN: added to the logits, -inf for masked keys; its first three dimensions may be 1.
        causal: whether each query sees its own key and those before it alone, without a bias for
            it; there are then as many keys as queries.

    Raises:
        ValueError: if the bias has a gradient.
    """
    wide = value_BHNE.dtype  # which autocast may have made narrower than the rest
    if not query_BHQE.numel():  # torch's kernel divides by zero
        return query_BHQE.to(wide)
    query, key = query_BHQE.to(wide), key_BHNE.to(wide)
    bias = None if bias_BHQN is None else bias_BHQN.to(wide)
    parts = (query, key, value_BHNE, bias, causal)
    mixed_BHQE: Tensor = _FlashAttention.apply(*parts)[0]  # type: ignore[no-untyped-call]
    return mixed_BHQE
