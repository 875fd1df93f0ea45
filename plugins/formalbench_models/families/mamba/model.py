"""Mamba: a state space whose step, input and output a symbol chooses.

Source: Gu and Dao (2024), Mamba: Linear-time sequence modeling with selective state spaces,
section 3 and algorithm 2. Each of the D = 2W channels keeps N numbers:

    h_t = exp(Δ_t A) h_{t-1} + Δ_t B_t x_t,      y_t = C_tᵀ h_t + d x_t,

with A = -exp(·) learned (at first -1, …, -N), Δ = softplus(·) for each channel, B and C for all
channels, all three functions of x_t. x has passed a short convolution and SiLU, y is multiplied by
SiLU(z), a second projection of the symbol.

The transitions are in (0, 1). With ``eigenvalues=-1..1`` they are 2 exp(Δ A) - 1 (Grazzi et al.
2024, Unlocking state-tracking in linear RNNs through negative eigenvalues, section 4).

The blocks are those of `layers/residual.py`, without MLPs, as in the paper.

Legend: B batch, T symbols, W width, D channels, N numbers a channel, R rank of the step.
"""

from __future__ import annotations

import torch
from formalbench import Task
from torch import Tensor, nn
from torch.nn import functional

from formalbench_models.families.mamba.config import MambaConfig
from formalbench_models.layers.convolution import ShortConvolution
from formalbench_models.layers.gates import first_steps
from formalbench_models.layers.matrix_memory import wide
from formalbench_models.layers.options import in_theory
from formalbench_models.layers.residual import Backbone, Memory, Mixer
from formalbench_models.layers.selective_scan import selective_scan


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

    def forward(self, x_BTW: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        """Return the change to x, (B, T, W), and what to keep."""
        past, state_BDN = memory or (None, None)
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


def build(task: Task, config: MambaConfig) -> Backbone:
    """Build the network for a task."""
    mechanisms = ("diagonal-recurrence", "input-dependent-gates")
    eigenvalues = in_theory(config.eigenvalues)
    return Backbone(task, config, lambda _: MambaMixer(config), mechanisms, eigenvalues)
