"""LRU: a complex diagonal recurrence, the same at every symbol.

Source: Orvieto et al. (2023), Resurrecting recurrent neural networks for long sequences, section 3
and appendix A:

    h_t = Λ h_{t-1} + exp(γ) ⊙ (B x_t),      y_t = Re(C h_t) + d x_t,

with the diagonal Λ = exp(-exp(ν) + i exp(θ)), so |Λ| < 1 whatever is learned. At first the moduli
are uniform on a ring (0.9 to 0.999), the phases on the circle, and γ = log √(1 - |Λ|²) keeps the
state's size.

The blocks are those of `layers/residual.py`. Legend: B batch, T symbols, W width, S numbers.
"""

from __future__ import annotations

import math

import torch
from formalbench import Task
from torch import Tensor, nn

from formalbench_models.families.lru.config import LruConfig
from formalbench_models.layers.matrix_memory import wide
from formalbench_models.layers.residual import Backbone, Memory, Mixer
from formalbench_models.layers.scan import scan


class LruMixer(Mixer):
    """A linear recurrent unit."""

    def __init__(self, config: LruConfig) -> None:
        super().__init__()
        width, states, self.chunk = config.width, config.states, config.chunk
        modulus = torch.empty(states).uniform_(config.fastest**2, config.slowest**2).sqrt()
        self.log_decay = nn.Parameter((-modulus.log()).log())
        self.log_turn = nn.Parameter((2 * math.pi * (1 - torch.rand(states))).log())
        self.log_scale = nn.Parameter((1 - modulus.square()).sqrt().log())
        self.write = nn.Parameter(torch.randn(states, width, 2) * (2 * width) ** -0.5)
        self.read = nn.Parameter(torch.randn(width, states, 2) * states**-0.5)
        self.skip = nn.Parameter(torch.randn(width))

    def forward(self, x_BTW: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        """Return the change to x, (B, T, W), and what to keep."""
        with torch.autocast(x_BTW.device.type, enabled=False):
            decay, turn = wide(self.log_decay).exp(), wide(self.log_turn).exp()
            factor_S = torch.complex(-decay, turn).exp()
            write_SW = torch.complex(wide(self.write[..., 0]), wide(self.write[..., 1]))
            read_WS = torch.complex(wide(self.read[..., 0]), wide(self.read[..., 1]))
            added_BTS = wide(x_BTW).to(factor_S.dtype) @ write_SW.mT
            added_BTS = added_BTS * wide(self.log_scale).exp()
            state = memory[0] if memory else None
            states_BTS = scan(factor_S.expand(added_BTS.shape), added_BTS, state, self.chunk)
            mixed_BTW = (states_BTS @ read_WS.mT).real
        return mixed_BTW.to(x_BTW.dtype) + self.skip * x_BTW, (states_BTS[:, -1],)


def build(task: Task, config: LruConfig) -> Backbone:
    """Build the network for a task."""
    return Backbone(task, config, lambda _: LruMixer(config), ("diagonal-recurrence",))
