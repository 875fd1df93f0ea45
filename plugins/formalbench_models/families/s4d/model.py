"""S4D: a diagonal state space, the same at every symbol.

Source: Gu, Gupta, Goel and Ré (2022), On the parameterization and initialization of diagonal state
space models, section 3. Each channel keeps N complex numbers, half of a set of conjugate pairs:

    h_t = exp(Δ A) h_{t-1} + x_t,      y_t = 2 Re Σ C (exp(Δ A) - 1)/A h_t + d x_t

(zero-order hold, B = 1), A = -exp(·) + i·, Δ = exp(·), all learned; at first A_n = -1/2 + i π n
(S4D-Lin) and Δ from 0.001 to 0.1. Then GELU, and a gated linear unit, as in the paper's code.

The blocks are those of `layers/residual.py`, without MLPs.

Legend: B batch, T symbols, W width, N complex numbers a channel.
"""

from __future__ import annotations

import math

import torch
from formalbench import Task
from torch import Tensor, nn
from torch.nn import functional

from formalbench_models.families.s4d.config import S4dConfig
from formalbench_models.layers.gates import GREATEST_STEP, LEAST_STEP
from formalbench_models.layers.matrix_memory import wide
from formalbench_models.layers.residual import Backbone, Memory, Mixer
from formalbench_models.layers.scan import scan


class S4dMixer(Mixer):
    """A state space for every channel."""

    def __init__(self, config: S4dConfig) -> None:
        super().__init__()
        width, states, self.chunk = config.width, config.states, config.chunk
        low, high = math.log(LEAST_STEP), math.log(GREATEST_STEP)
        self.log_step = nn.Parameter(torch.empty(width).uniform_(low, high))
        self.log_decay = nn.Parameter(torch.full((width, states), math.log(0.5)))
        turns = math.pi * torch.arange(states, dtype=torch.get_default_dtype())
        self.turn = nn.Parameter(turns.repeat(width, 1))
        self.read = nn.Parameter(torch.randn(width, states, 2) * 0.5**0.5)
        self.skip = nn.Parameter(torch.randn(width))
        self.merge = nn.Linear(width, 2 * width)

    def forward(self, x_BTW: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        """Return the change to x, (B, T, W), and what to keep."""
        with torch.autocast(x_BTW.device.type, enabled=False):
            rate_WN = torch.complex(-wide(self.log_decay).exp(), wide(self.turn))
            factor_WN = (wide(self.log_step).exp()[:, None] * rate_WN).exp()
            read_WN = (
                torch.complex(wide(self.read[..., 0]), wide(self.read[..., 1]))
                * (factor_WN - 1)
                / rate_WN
            )
            added = wide(x_BTW)[..., None].to(factor_WN.dtype)
            state = memory[0] if memory else None
            factor = factor_WN.expand(*x_BTW.shape, -1)
            states = scan(factor, added.expand(factor.shape), state, self.chunk)
            mixed_BTW = 2 * (states * read_WN).sum(-1).real
        mixed_BTW = mixed_BTW.to(x_BTW.dtype) + self.skip * x_BTW
        changed: Tensor = functional.glu(self.merge(functional.gelu(mixed_BTW)), dim=-1)
        return changed, (states[:, -1],)


def build(task: Task, config: S4dConfig) -> Backbone:
    """Build the network for a task."""
    return Backbone(task, config, lambda _: S4dMixer(config), ("diagonal-recurrence",))
