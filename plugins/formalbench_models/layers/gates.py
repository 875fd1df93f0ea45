"""Decays that a symbol chooses. Legend: B batch, T symbols, W width, H heads."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from formalbench_models.layers.matrix_memory import wide

LEAST_STEP, GREATEST_STEP = 0.001, 0.1
"""Between which the steps Δ begin (Gu and Dao 2024, appendix E.2)."""


def first_steps(count: int) -> Tensor:
    """Return what softplus turns into steps drawn log-uniformly: initial biases of Δ."""
    low, high = math.log(LEAST_STEP), math.log(GREATEST_STEP)
    step = torch.empty(count).uniform_(low, high).exp()
    return step + (-torch.expm1(-step)).log()


class HeadDecay(nn.Module):
    """One decay for each head: α = exp(-exp(A) softplus(W x + c)), in (0, 1).

    Source: Dao and Gu (2024), Mamba-2; Yang et al. (2025), Gated delta networks.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.step = nn.Linear(width, heads, bias=False)
        self.bias = nn.Parameter(first_steps(heads))
        self.log_rate = nn.Parameter(torch.empty(heads).uniform_(1, 16).log())

    def forward(self, x_BTW: Tensor) -> Tensor:
        """Return the decays, (B, H, T, 1), in fp32 at least."""
        return self.of(self.steps(x_BTW))

    def steps(self, x_BTW: Tensor) -> Tensor:
        """Return the steps Δ = softplus(W x + c), (B, H, T, 1), in fp32 at least."""
        step_BTH = functional.softplus(wide(self.step(x_BTW)) + self.bias)
        return step_BTH.transpose(1, 2)[..., None]

    def of(self, step_BHT1: Tensor) -> Tensor:
        """Return the decays of steps, (B, H, T, 1)."""
        return (-self.log_rate.exp()[:, None, None] * step_BHT1).exp()
