"""Mamba with its selective scan, and Mamba-2.

All states of a string are N times as large as what goes in and comes out, and to write and read
them takes longer than to compute them. So the state stays in the cache from symbol to symbol, and
only that at the beginning of every chunk is kept; going back, those inside are computed again, a
chunk at a time (Gu and Dao 2024, section 3.3.2, do so on GPUs). Time and memory are linear in T.

Under `torch.func.vmap` the runs of a cohort are merged into the batch.

Source: Gu and Dao (2024), Mamba: Linear-time sequence modeling with selective state spaces,
section 3 and algorithm 2. Each of the D = 2W channels keeps N numbers:

    h_t = exp(Δ_t A) h_{t-1} + Δ_t B_t x_t,      y_t = C_tᵀ h_t + d x_t,

with A = -exp(·) learned (at first -1, …, -N), Δ = softplus(·) for each channel, B and C for all
channels, all three functions of x_t. x has passed a short convolution and SiLU, y is multiplied by
SiLU(z), a second projection of the symbol.

The transitions are in (0, 1). With ``eigenvalues=-1..1`` they are 2 exp(Δ A) - 1 (Grazzi et al.
2024, Unlocking state-tracking in linear RNNs through negative eigenvalues, section 4).

The blocks of both are those of `layers/residual.py`, without MLPs, as in the papers.

Source: Dao and Gu (2024), Transformers are SSMs, sections 6 and 7. With D = 2W channels in H heads
of P each, a head keeps a matrix of N rows and P columns:

    S_t = a_t S_{t-1} + Δ_t B_t x_tᵀ,      y_t = S_tᵀ C_t + d x_t,      a_t = exp(-exp(A) Δ_t),

Δ = softplus(·) for each head, B and C for all heads. x, B and C pass a short convolution and SiLU;
y is multiplied by SiLU(z), a second projection of the symbol, and normalised.

The transitions a_t are in (0, 1), with ``eigenvalues=-1..1`` they are 2 a_t - 1.

Legend: B batch, T symbols, D channels, N numbers a channel, C symbols of a chunk, W width, R rank
of the step, H heads, P channels of a head.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from formalbench_models.catalogue.linear_recurrences import Mamba2Config, MambaConfig
from formalbench_models.layers.gates import (
    HeadDecay,
    ShortConvolution,
    first_steps,
    naive_convolution,
)
from formalbench_models.layers.matrix_memory import Steps, remember
from formalbench_models.layers.residual import EPSILON, GATED, Mixer, State, backbone_of
from formalbench_models.layers.tensors import merge, merge_runs, split, wide


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
        inputs = (added_BTD, step_BTD, write_BTN, read_BTN)
        parts = [torch.split(x.transpose(0, 1), chunk) for x in inputs]
        answers, starts = [], []
        for added, step, write, read in zip(*parts, strict=True):
            starts.append(state_BDN)
            *_, states = _chunk_states(state_BDN, added, step, rate_BDN, write, signed)
            answers.append((states[1:] @ read[..., None]).squeeze(-1))
            state_BDN = states[-1].clone()
        return torch.cat(answers).transpose(0, 1), state_BDN, torch.stack(starts, dim=1)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        """Keep what goes in, and the states that chunks begin with."""
        added, step, rate, write, read, _, ctx.chunk, ctx.signed = inputs
        ctx.save_for_backward(added, step, write, read, rate, output[2])
        ctx.mark_non_differentiable(output[2])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        answer_BTD, state_BDN, _ = gradients
        *inputs, rate_BDN, starts = ctx.saved_tensors
        parts = [torch.split(x.transpose(0, 1), ctx.chunk) for x in (*inputs, answer_BTD)]
        rate_gradient = torch.zeros_like(state_BDN)
        chunk_gradients: list[tuple[Tensor, ...]] = []
        for index, part in reversed(list(enumerate(zip(*parts, strict=True)))):
            added, step, write, read, answer = part
            power, factor, states = _chunk_states(
                starts[:, index], added, step, rate_BDN, write, ctx.signed
            )
            d_states = answer[..., None] * read[..., None, :]  # dL/dh, to be summed backwards
            for time in range(len(added) - 1, -1, -1):
                d_states[time] += state_BDN
                state_BDN = d_states[time] * factor[time]
            d_read = (states[1:].mT @ answer[..., None]).squeeze(-1)
            d_added = (d_states @ write[..., None]).squeeze(-1)
            d_write = (d_states.mT @ added[..., None]).squeeze(-1)
            exponent = d_states.mul_(states[:-1]).mul_(power)
            if ctx.signed:
                exponent.mul_(2)
            d_step = (exponent * rate_BDN).sum(-1)
            rate_gradient += (exponent * step[..., None]).sum(0)
            chunk_gradients.append((d_added, d_step, d_write, d_read))
        d_added, d_step, d_write, d_read = (
            torch.cat(parts[::-1]).transpose(0, 1) for parts in zip(*chunk_gradients, strict=True)
        )
        if len(rate_BDN) == 1:
            rate_gradient = rate_gradient.sum(0, keepdim=True)
        return d_added, d_step, rate_gradient, d_write, d_read, state_BDN, None, None

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], *inputs: Any
    ) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        *tensors, chunk, signed = inputs
        merged = merge_runs(info, in_dims, tensors)
        outputs = _Scan.apply(*merged, chunk, signed)  # type: ignore[no-untyped-call]
        parted = tuple(x.unflatten(0, (info.batch_size, -1)) for x in outputs)
        return parted, (0,) * len(parted)


class MambaMixer(Mixer):
    """A selective state space for every channel."""

    def __init__(self, config: MambaConfig) -> None:
        super().__init__()
        channels, states = config.width * config.expansion, config.states
        rank = -(-config.width // 16)
        self.sizes = [rank, states, states]
        self.chunk, self.signed = config.chunk, config.eigenvalues == "-1..1"
        self.project = nn.Linear(config.width, 2 * channels, bias=False)
        self.convolution = ShortConvolution(channels, config.convolution)
        self.select = nn.Linear(channels, sum(self.sizes), bias=False)
        self.step = nn.Linear(rank, channels)
        nn.init.uniform_(self.step.weight, -(rank**-0.5), rank**-0.5)
        with torch.no_grad():
            self.step.bias.copy_(first_steps(channels))
        rates = torch.arange(1, states + 1, dtype=torch.get_default_dtype())
        self.log_rate = nn.Parameter(rates.log().repeat(channels, 1))
        self.skip = nn.Parameter(torch.ones(channels))
        self.merge = nn.Linear(channels, config.width, bias=False)

    def forward(self, x_BTW: Tensor, state: State = None) -> tuple[Tensor, State]:
        past, state_BDN = state or (None, None)
        inputs_BTD, gate_BTD = self.project(x_BTW).chunk(2, dim=-1)
        inputs_BTD, past = self.convolution(inputs_BTD, past)
        inputs_BTD = functional.silu(inputs_BTD)
        step_BTR, write_BTN, read_BTN = torch.split(self.select(inputs_BTD), self.sizes, dim=-1)
        step_BTD = functional.softplus(wide(self.step(step_BTR)))
        mixed_BTD, state_BDN = selective_scan(
            inputs_BTD,
            step_BTD,
            -self.log_rate.exp(),
            write_BTN,
            read_BTN,
            state_BDN,
            chunk=self.chunk,
            signed=self.signed,
        )
        mixed_BTD = mixed_BTD + self.skip * inputs_BTD
        return self.merge(mixed_BTD * functional.silu(gate_BTD)), (past, state_BDN)


build_mamba = backbone_of(MambaMixer, *GATED)


def naive_mamba(mixer: MambaMixer, x_TW: Tensor) -> Tensor:
    """Return the change to each symbol of a string, (T, W)."""
    channels, states = mixer.log_rate.shape
    inputs_TD, gates_TD = torch.split(x_TW @ mixer.project.weight.T, channels, dim=1)
    sums_TD = naive_convolution(mixer.convolution, inputs_TD)
    state_DN = x_TW.new_zeros(channels, states)
    changes = []
    for sums, gate_D in zip(sums_TD, gates_TD, strict=True):
        x_D = sums / (1 + torch.exp(-sums))
        chosen = mixer.select.weight @ x_D
        step_R, write_N, read_N = torch.split(chosen, mixer.sizes)
        step_D = torch.log1p(torch.exp(mixer.step.weight @ step_R + mixer.step.bias))
        factor_DN = torch.exp(step_D[:, None] * -torch.exp(mixer.log_rate))
        if mixer.signed:
            factor_DN = 2 * factor_DN - 1
        state_DN = factor_DN * state_DN + torch.outer(step_D * x_D, write_N)
        answer_D = (state_DN @ read_N + mixer.skip * x_D) * gate_D / (1 + torch.exp(-gate_D))
        changes.append(mixer.merge.weight @ answer_D)
    return torch.stack(changes)


class Mamba2Mixer(Mixer):
    """A selective state space for every head."""

    def __init__(self, config: Mamba2Config) -> None:
        super().__init__()
        channels, states = config.width * config.expansion, config.states
        self.heads, self.chunk = config.heads, config.chunk
        self.signed = config.eigenvalues == "-1..1"
        self.sizes = [channels, states, states]
        self.project = nn.Linear(config.width, sum(self.sizes), bias=False)
        self.gate = nn.Linear(config.width, channels, bias=False)
        self.convolution = ShortConvolution(sum(self.sizes), config.convolution)
        self.decay = HeadDecay(config.width, config.heads)
        self.skip = nn.Parameter(torch.ones(config.heads))
        self.norm = nn.RMSNorm(channels, eps=EPSILON)
        self.merge = nn.Linear(channels, config.width, bias=False)

    def forward(self, x_BTW: Tensor, state: State = None) -> tuple[Tensor, State]:
        past, state_BHNP = state or (None, None)
        inputs, past = self.convolution(self.project(x_BTW), past)
        value, write, read = torch.split(functional.silu(inputs), self.sizes, dim=-1)
        value_BHTP = split(value, self.heads)
        step_BHT1 = self.decay.steps(x_BTW)
        decay_BHT1 = self.decay.of(step_BHT1)
        if self.signed:
            decay_BHT1 = 2 * decay_BHT1 - 1
        write_BHTN = step_BHT1 * write[:, None]
        read_BHTN = read[:, None].expand(write_BHTN.shape)
        steps = Steps(read_BHTN, write_BHTN, value_BHTP, decay_BHT1)
        answers_BHTP, state_BHNP = remember(steps, state_BHNP, self.chunk)
        mixed_BTD = merge(answers_BHTP + self.skip[:, None, None] * value_BHTP)
        mixed_BTD = self.norm(mixed_BTD * functional.silu(self.gate(x_BTW)))
        return self.merge(mixed_BTD), (past, state_BHNP)


build_mamba2 = backbone_of(Mamba2Mixer, *GATED)


def naive_mamba2(mixer: Mamba2Mixer, x_TW: Tensor) -> Tensor:
    """Return the change to each symbol of a string, (T, W)."""
    channels, states, _ = mixer.sizes
    size = channels // mixer.heads
    sums_TD = naive_convolution(mixer.convolution, x_TW @ mixer.project.weight.T)
    memory = [x_TW.new_zeros(states, size) for _ in range(mixer.heads)]
    changes = []
    for x, sums in zip(x_TW, sums_TD, strict=True):
        value_D, write_N, read_N = torch.split(sums / (1 + torch.exp(-sums)), mixer.sizes)
        answers = []
        for head in range(mixer.heads):
            value_P = value_D[head * size : (head + 1) * size]
            step = torch.log1p(
                torch.exp(mixer.decay.step.weight[head] @ x + mixer.decay.bias[head])
            )
            decay = torch.exp(-torch.exp(mixer.decay.log_rate[head]) * step)
            if mixer.signed:
                decay = 2 * decay - 1
            memory[head] = decay * memory[head] + step * torch.outer(write_N, value_P)
            answers.append(memory[head].T @ read_N + mixer.skip[head] * value_P)
        gate_D = mixer.gate.weight @ x
        answer_D = torch.cat(answers) * gate_D / (1 + torch.exp(-gate_D))
        answer_D = answer_D / torch.sqrt(answer_D.square().mean() + 1e-6) * mixer.norm.weight
        changes.append(mixer.merge.weight @ answer_D)
    return torch.stack(changes)
