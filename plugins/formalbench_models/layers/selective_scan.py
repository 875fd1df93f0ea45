"""The selective scan of Mamba, h_t = exp(Δ_t A) h_{t-1} + Δ_t B_t x_t, y_t = C_tᵀ h_t.

All states of a string are N times as large as what goes in and comes out, and to write and read
them takes longer than to compute them. So the state stays in the cache from symbol to symbol, and
only that at the beginning of every chunk is kept; going back, those inside are computed again, a
chunk at a time (Gu and Dao 2024, section 3.3.2, do so on GPUs). Time and memory are linear in T.

Under `torch.func.vmap` the runs of a cohort are merged into the batch.

Legend: B batch, T symbols, D channels, N numbers a channel, C symbols of a chunk.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from formalbench_models.fused import batch_of, merge_runs
from formalbench_models.layers.matrix_memory import wide


def selective_scan(
    x_BTD: Tensor,
    step_BTD: Tensor,
    rate_DN: Tensor,
    write_BTN: Tensor,
    read_BTN: Tensor,
    state_BDN: Tensor | None,
    *,
    chunk: int,
    signed: bool,
) -> tuple[Tensor, Tensor]:
    """Return y, (B, T, D), in x's dtype, and the state after the last symbol.

    Args:
        x_BTD: what is written.
        step_BTD: Δ.
        rate_DN: A, negative.
        write_BTN: B.
        read_BTN: C.
        state_BDN: what is kept from before; None for nothing.
        chunk: symbols between two states that are kept.
        signed: whether transitions are 2 exp(Δ A) - 1, in [-1, 1].
    """
    with torch.autocast(x_BTD.device.type, enabled=False):
        step, rate = wide(step_BTD), wide(rate_DN)
        if state_BDN is None:
            state_BDN = step.new_zeros(len(step), *rate.shape)
        inputs = (step * wide(x_BTD), step, rate[None], wide(write_BTN), wide(read_BTN), state_BDN)
        mixed_BTD, state_BDN, _ = _Scan.apply(*inputs, chunk, signed)  # type: ignore[no-untyped-call]
    return mixed_BTD.to(x_BTD.dtype), state_BDN


def _chunk_states(
    state_BDN: Tensor,
    added_CBD: Tensor,
    step_CBD: Tensor,
    rate_BDN: Tensor,
    write_CBN: Tensor,
    signed: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return exp(Δ A), the factors, and the states, (C+1, B, D, N) with the one before."""
    power_CBDN = (step_CBD[..., None] * rate_BDN).exp_()
    factor_CBDN = 2 * power_CBDN - 1 if signed else power_CBDN
    states = state_BDN.new_empty(len(added_CBD) + 1, *state_BDN.shape)
    states[0] = state_BDN
    torch.mul(added_CBD[..., None], write_CBN[..., None, :], out=states[1:])
    for time, factor in enumerate(factor_CBDN):
        states[time + 1].addcmul_(factor, states[time])
    return power_CBDN, factor_CBDN, states


class _Scan(torch.autograd.Function):
    """`apply(added_BTD, step_BTD, rate_BDN, write_BTN, read_BTN, state_BDN, chunk, signed)`.

    `rate_BDN` may have B = 1. Returns y, the last state, and those that chunks begin with.
    """

    @staticmethod
    def forward(
        added_BTD: Tensor,
        step_BTD: Tensor,
        rate_BDN: Tensor,
        write_BTN: Tensor,
        read_BTN: Tensor,
        state_BDN: Tensor,
        chunk: int,
        signed: bool,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Compute the answers."""
        inputs = (added_BTD, step_BTD, write_BTN, read_BTN)
        parts = [torch.split(x.transpose(0, 1), chunk) for x in inputs]
        answers, kept = [], []
        for added, step, write, read in zip(*parts, strict=True):
            kept.append(state_BDN)
            *_, states = _chunk_states(state_BDN, added, step, rate_BDN, write, signed)
            answers.append((states[1:] @ read[..., None]).squeeze(-1))
            state_BDN = states[-1].clone()
        return torch.cat(answers).transpose(0, 1), state_BDN, torch.stack(kept, dim=1)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        """Keep what goes in, and the states that chunks begin with."""
        *tensors, _, ctx.chunk, ctx.signed = inputs
        ctx.save_for_backward(*tensors, output[2])
        ctx.mark_non_differentiable(output[2])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Go back, chunk by chunk."""
        answer_BTD, state_BDN, _ = gradients
        *inputs, rate_BDN, kept = _ordered(ctx.saved_tensors)
        parts = [torch.split(x.transpose(0, 1), ctx.chunk) for x in (*inputs, answer_BTD)]
        rate_gradient = torch.zeros_like(state_BDN)
        found: list[tuple[Tensor, ...]] = []
        for index, part in reversed(list(enumerate(zip(*parts, strict=True)))):
            added, step, write, read, answer = part
            power, factor, states = _chunk_states(
                kept[:, index], added, step, rate_BDN, write, ctx.signed
            )
            wanted = answer[..., None] * read[..., None, :]  # dL/dh, to be summed backwards
            for time in range(len(added) - 1, -1, -1):
                wanted[time] += state_BDN
                state_BDN = wanted[time] * factor[time]
            d_read = (states[1:].mT @ answer[..., None]).squeeze(-1)
            d_added = (wanted @ write[..., None]).squeeze(-1)
            d_write = (wanted.mT @ added[..., None]).squeeze(-1)
            exponent = wanted.mul_(states[:-1]).mul_(power)
            if ctx.signed:
                exponent.mul_(2)
            d_step = (exponent * rate_BDN).sum(-1)
            rate_gradient += (exponent * step[..., None]).sum(0)
            found.append((d_added, d_step, d_write, d_read))
        d_added, d_step, d_write, d_read = (
            torch.cat(parts[::-1]).transpose(0, 1) for parts in zip(*found, strict=True)
        )
        if len(rate_BDN) == 1:
            rate_gradient = rate_gradient.sum(0, keepdim=True)
        return d_added, d_step, rate_gradient, d_write, d_read, state_BDN, None, None

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], *inputs: Any
    ) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        """Merge the runs into the batch."""
        *tensors, chunk, signed = inputs
        dims = in_dims[: len(tensors)]
        batch = max(batch_of(x, dim) for x, dim in zip(tensors, dims, strict=True))
        merged = [
            merge_runs(x, dim, info.batch_size, batch) for x, dim in zip(tensors, dims, strict=True)
        ]
        outputs = _Scan.apply(*merged, chunk, signed)  # type: ignore[no-untyped-call]
        parted = tuple(x.reshape(info.batch_size, batch, *x.shape[1:]) for x in outputs)
        return parted, (0,) * len(parted)


def _ordered(saved: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Return what was saved, the rates and the kept states last."""
    added, step, rate, write, read, kept = saved
    return added, step, write, read, rate, kept
