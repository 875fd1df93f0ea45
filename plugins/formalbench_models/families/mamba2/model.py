"""Mamba-2: a state space with one decay for a head.

Source: Dao and Gu (2024), Transformers are SSMs, sections 6 and 7. With D = 2W channels in H heads
of P each, a head keeps a matrix of N rows and P columns:

    S_t = a_t S_{t-1} + Δ_t B_t x_tᵀ,      y_t = S_tᵀ C_t + d x_t,      a_t = exp(-exp(A) Δ_t),

Δ = softplus(·) for each head, B and C for all heads. x, B and C pass a short convolution and SiLU;
y is multiplied by SiLU(z), a second projection of the symbol, and normalised.

The transitions a_t are in (0, 1), with ``eigenvalues=-1..1`` they are 2 a_t - 1 (Grazzi et al.
2024, Unlocking state-tracking in linear RNNs through negative eigenvalues, section 4).

The blocks are those of `layers/residual.py`, without MLPs, as in the paper.

Legend: B batch, T symbols, W width, D channels, H heads, P channels of a head, N numbers a channel.
"""

from __future__ import annotations

import torch
from formalbench import Task
from torch import Tensor, nn
from torch.nn import functional

from formalbench_models.families.mamba2.config import Mamba2Config
from formalbench_models.layers.convolution import ShortConvolution
from formalbench_models.layers.gates import HeadDecay
from formalbench_models.layers.heads import merge, split
from formalbench_models.layers.matrix_memory import Steps, remember
from formalbench_models.layers.options import in_theory
from formalbench_models.layers.residual import EPSILON, Backbone, Memory, Mixer


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

    def forward(self, x_BTW: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        """Return the change to x, (B, T, W), and what to keep."""
        past, state_BHNP = memory or (None, None)
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


def build(task: Task, config: Mamba2Config) -> Backbone:
    """Build the network for a task."""
    mechanisms = ("diagonal-recurrence", "input-dependent-gates")
    eigenvalues = in_theory(config.eigenvalues)
    return Backbone(task, config, lambda _: Mamba2Mixer(config), mechanisms, eigenvalues)
