"""DeltaNet, Gated DeltaNet and DeltaProduct.

A head's state S is a matrix. With a key k of length 1, a value v and a rate β, a step of the delta
rule replaces what stands at k by v, as far as β says:

    S = S - β k (kᵀS - vᵀ) = (I - β k kᵀ) S + β k vᵀ.

* DeltaNet: one step a symbol (Schlag, Irie and Schmidhuber 2021, Linear transformers are secretly
  fast weight programmers; Yang et al. 2024, Parallelizing linear transformers with the delta rule).
* Gated DeltaNet: before it the state decays by α = exp(-exp(A) softplus(W x + c)) (Yang, Kautz and
  Hatamizadeh 2025, Gated delta networks, eq. 10), and the answer passes a gate.
* DeltaProduct: n steps a symbol, each with a key, value and rate of its own (Siems et al. 2025,
  DeltaProduct, eq. 3), with or without a decay before the first.

I - β k kᵀ has the eigenvalue 1 - β at k, else 1. With β = σ(·) that is in [0, 1]; with β = 2σ(·) in
[-1, 1], down to a reflection: so parity can be had (Grazzi et al. 2024, Unlocking state-tracking
in linear RNNs through negative eigenvalues, section 4), and products of n of them make the
permutations of n + 1 things.

As in the papers, queries, keys and values pass a short convolution (none with ``convolution=0``, as
in DeltaProduct's state tracking) and SiLU, queries and keys are normalised, and so is each head's
answer. The blocks are those of `layers/residual.py`, two of width 64 with one head; the settings of
Grazzi et al. have width 128 and four heads.

Legend: B batch, T symbols, W width, H heads, E width of a head, R steps a symbol.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from formalbench import Task
from torch import Tensor, nn
from torch.nn import functional

from formalbench_models.catalogue.linear_recurrences import DeltaConfig
from formalbench_models.catalogue.options import in_theory
from formalbench_models.layers.gates import HeadDecay, ShortConvolution, naive_convolution
from formalbench_models.layers.matrix_memory import Steps, remember
from formalbench_models.layers.residual import EPSILON, Backbone, Mixer, State
from formalbench_models.layers.tensors import merge, split


class DeltaMixer(Mixer):
    """A matrix memory that is written by the delta rule."""

    def __init__(self, config: DeltaConfig) -> None:
        super().__init__()
        width, self.heads = config.width, config.heads
        self.reflections, self.chunk = config.reflections, config.chunk
        self.most = 2.0 if config.eigenvalues == "-1..1" else 1.0
        inputs = width * (1 + 2 * self.reflections)
        self.project = nn.Linear(width, inputs, bias=False)
        self.convolution = (
            ShortConvolution(inputs, config.convolution, bias=False) if config.convolution else None
        )
        self.rate = nn.Linear(width, self.heads * self.reflections)
        self.decay = HeadDecay(width, self.heads) if config.gate else None
        self.gate = nn.Linear(width, width, bias=False) if config.gate else None
        self.norm = nn.RMSNorm(width // self.heads, eps=EPSILON)
        self.merge = nn.Linear(width, width, bias=False)

    def forward(self, x_BTW: Tensor, state: State = None) -> tuple[Tensor, State]:
        *past, state_BHEE = state or (None,)
        inputs = self.project(x_BTW)
        if self.convolution is not None:
            inputs, *past = self.convolution(inputs, *(past or (None,)))
        answers_BHTE, state_BHEE = remember(self.steps(x_BTW, inputs), state_BHEE, self.chunk)
        last = answers_BHTE[:, :, self.reflections - 1 :: self.reflections]
        mixed_BTW = merge(self.norm(last))
        if self.gate is not None:
            mixed_BTW = mixed_BTW * functional.silu(self.gate(x_BTW))
        return self.merge(mixed_BTW), (*past, state_BHEE)

    def steps(self, x_BTW: Tensor, inputs: Tensor) -> Steps:
        """Return the steps of the memory, R per symbol, the last of which is read."""
        width = x_BTW.shape[-1]
        sizes = [width, width * self.reflections, width * self.reflections]
        query, key, value = torch.split(functional.silu(inputs), sizes, dim=-1)
        query = functional.normalize(split(query, self.heads), dim=-1, eps=EPSILON)
        key = functional.normalize(self._spread(key), dim=-1, eps=EPSILON)
        rate = self.most * self._spread(self.rate(x_BTW)).sigmoid()
        decay = None
        if self.decay is not None:
            decay = functional.pad(self.decay(x_BTW), (0, self.reflections - 1), value=1.0)
            decay = decay.flatten(2, 3)[..., None]
        query = query.repeat_interleave(self.reflections, dim=2)
        # The state decays before it is read.
        read = -key if decay is None else -decay * key
        return Steps(query, rate * key, self._spread(value), decay, read=read)

    def _spread(self, part: Tensor) -> Tensor:
        """Reorder the R parts of each symbol: (B, T, R·H·E) to (B, H, T·R, E)."""
        parts = torch.unflatten(part, -1, (self.reflections, self.heads, -1))
        return parts.permute(0, 3, 1, 2, 4).flatten(2, 3)


DEVIATION = 0.02
"""Standard deviation of flash-linear-attention's initial weights."""


def _begin_small(network: Backbone) -> None:
    """Draw weights as flash-linear-attention's models do; the last map of a branch is divided.

    By the root of the number of branches (Radford et al. 2019, section 2.3), so that their sum
    begins no larger than one of them.
    """
    branches = len(network.blocks) * (2 if network.blocks[0].feed_forward is not None else 1)
    for name, module in network.blocks.named_modules():
        if isinstance(module, (nn.Linear, ShortConvolution)):
            last = name.endswith((".mixer.merge", ".feed_forward.down"))
            nn.init.normal_(module.weight, std=DEVIATION / branches**0.5 if last else DEVIATION)
            if module.bias is not None:
                nn.init.zeros_(module.bias)


def build_deltanet(task: Task, config: DeltaConfig) -> Backbone:
    """Build the network for a task."""
    mechanisms = ["products-of-reflections", "delta-rule", "input-dependent-gates"]
    if config.reflections <= 2:  # a product of two has real eigenvalues, of three perhaps not
        mechanisms.append("two-reflections-at-most")
    eigenvalues = in_theory(config.eigenvalues)
    network = Backbone(task, config, lambda _: DeltaMixer(config), tuple(mechanisms), eigenvalues)
    notes = {"reflections": config.reflections, "state": config.width // config.heads}
    network.traits = replace(network.traits, notes=notes)
    if config.initial == "small":
        _begin_small(network)
    return network


def naive_deltanet(mixer: DeltaMixer, x_TW: Tensor) -> Tensor:
    """Return the change to each symbol of a string, (T, W)."""
    width, heads, steps = x_TW.shape[1], mixer.heads, mixer.reflections
    size = width // heads
    mixed_TI = x_TW @ mixer.project.weight.T
    if mixer.convolution is not None:
        mixed_TI = naive_convolution(mixer.convolution, mixed_TI)
    states = [x_TW.new_zeros(size, size) for _ in range(heads)]
    changes = []
    mixed_TI = mixed_TI / (1 + torch.exp(-mixed_TI))
    for x, mixed in zip(x_TW, mixed_TI, strict=True):
        rates = mixer.most / (1 + torch.exp(-(mixer.rate.weight @ x + mixer.rate.bias)))
        parts = []
        for head in range(heads):
            at = slice(head * size, (head + 1) * size)
            query = mixed[:width][at]
            query = query / query.norm()
            state = states[head]
            if mixer.decay is not None:
                step = torch.log1p(
                    torch.exp(mixer.decay.step.weight[head] @ x + mixer.decay.bias[head])
                )
                state = torch.exp(-torch.exp(mixer.decay.log_rate[head]) * step) * state
            for turn in range(steps):
                begin = width + turn * width
                key = mixed[begin : begin + width][at]
                key = key / key.norm()
                begin = width + (steps + turn) * width
                value = mixed[begin : begin + width][at]
                rate = rates[turn * heads + head]
                state = state - rate * torch.outer(key, key @ state - value)
            states[head] = state
            answer = query @ state
            answer = answer / torch.sqrt(answer.square().mean() + 1e-6)
            parts.append(answer * mixer.norm.weight)
        answer = torch.cat(parts)
        if mixer.gate is not None:
            gate = mixer.gate.weight @ x
            answer = answer * gate / (1 + torch.exp(-gate))
        changes.append(mixer.merge.weight @ answer)
    return torch.stack(changes)
