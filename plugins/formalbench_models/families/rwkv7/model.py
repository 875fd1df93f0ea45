"""RWKV-7: a memory whose rows decay by themselves and which a generalised delta rule writes.

Source: Peng et al. (2025), RWKV-7 "Goose" with expressive dynamic state evolution, section 4.1.
With a receptance r, a decay w, a removal key κ of length 1, an in-context learning rate a, a
replacement key k and a value v for each head,

    S_t = (Diag(w) - (a ⊙ κ) κᵀ) S_{t-1} + k vᵀ,      y_t = S_tᵀ r,

where w = exp(-e^(-1/2) σ(·)) is in (0.545, 1) and a = σ(·) in (0, 1), each for every row. All are
functions of the symbol and the one before it (the token shift). The answer is normalised, gets
the bonus (r · (ρ ⊙ k)) v, and passes a gate. An eigenvalue can be negative, as far down as w - 1.

The blocks are those of `layers/residual.py`, whose MLP stands where the paper has its channel
mixing. Layers above the first take no part of the first one's values.

Legend: B batch, T symbols, W width, H heads, E width of a head, R rank.
"""

from __future__ import annotations

import math

import torch
from formalbench import Task
from torch import Tensor, nn
from torch.nn import functional

from formalbench_models.families.rwkv7.config import Rwkv7Config
from formalbench_models.layers.heads import merge, split
from formalbench_models.layers.low_rank import LowRank
from formalbench_models.layers.matrix_memory import Steps, remember, wide
from formalbench_models.layers.residual import EPSILON, Backbone, Memory, Mixer

FASTEST = -math.exp(-0.5)
"""The logarithm of the fastest decay."""

LEAST_DECAY = 0.54
"""What no decay is below, however it is rounded."""

NORM_EPSILON = 64e-5
"""Added to the variance by the norm of the answers, as in the paper's code."""

SHIFTED = ("receptance", "decay", "key", "value", "rate", "gate")
"""What each sees its own mixture of a symbol and the one before it."""


class Rwkv7Mixer(Mixer):
    """RWKV-7's time mixing."""

    def __init__(self, config: Rwkv7Config) -> None:
        super().__init__()
        width, self.heads, self.chunk = config.width, config.heads, config.chunk
        self.shift = nn.Parameter(torch.rand(len(SHIFTED), width))
        self.receptance, self.key, self.value, self.merge = (
            nn.Linear(width, width, bias=False) for _ in range(4)
        )
        self.decay = LowRank(width, config.rank, torch.tanh)
        self.rate = LowRank(width, config.rank)
        self.gate = LowRank(width, config.rank, torch.sigmoid)
        with torch.no_grad():  # from slow decays to fast ones, as in the paper's code
            self.decay.up.bias.copy_(torch.linspace(-6.5, -1.5, width))
            self.rate.up.bias.zero_()
        self.removal = nn.Parameter(torch.full((width,), 0.85))
        self.replacement = nn.Parameter(torch.ones(width))
        self.bonus = nn.Parameter(torch.full((width,), -0.04))
        self.norm = nn.GroupNorm(self.heads, width, eps=NORM_EPSILON)

    def forward(self, x_BTW: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        """Return the change to x, (B, T, W), and what to keep."""
        last_B1W, state_BHEE = memory or (torch.zeros_like(x_BTW[:, :1]), None)
        before_BTW = torch.cat((last_B1W, x_BTW[:, :-1]), dim=1)
        change_BTW = before_BTW - x_BTW
        seen = [x_BTW.addcmul(change_BTW, share) for share in self.shift]
        parts = dict(zip(SHIFTED, seen, strict=True))
        receptance, value = self.receptance(parts["receptance"]), self.value(parts["value"])
        rate = wide(self.rate(parts["rate"])).sigmoid()
        raw_key = self.key(parts["key"])
        key = raw_key * (1 + (rate - 1) * self.replacement)
        removal = functional.normalize(
            wide(split(raw_key * self.removal, self.heads)), dim=-1, eps=EPSILON
        )
        decay = (FASTEST * wide(self.decay(parts["decay"])).sigmoid()).exp()
        steps = Steps(
            split(receptance, self.heads),
            split(key, self.heads),
            split(value, self.heads),
            split(decay, self.heads),
            -split(rate, self.heads) * removal,
            removal,
        )
        answers, state_BHEE = remember(steps, state_BHEE, self.chunk, least=LEAST_DECAY)
        mixed_BTW = self.norm(merge(answers).flatten(0, 1)).reshape(x_BTW.shape)
        bonus = (split(receptance * key * self.bonus, self.heads)).sum(-1, keepdim=True)
        mixed_BTW = mixed_BTW + merge(bonus * steps.value)
        changed: Tensor = self.merge((mixed_BTW * self.gate(parts["gate"])).to(x_BTW.dtype))
        return changed, (x_BTW[:, -1:], state_BHEE)


def build(task: Task, config: Rwkv7Config) -> Backbone:
    """Build the network for a task."""
    mechanisms = ("diagonal-plus-low-rank-recurrence", "delta-rule", "input-dependent-gates")
    return Backbone(task, config, lambda _: Rwkv7Mixer(config), mechanisms)
