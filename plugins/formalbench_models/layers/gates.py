"""Short convolutions, low-rank maps, and decays that a symbol chooses.

Source: Fu et al. (2023), H3; Gu and Dao (2024), Mamba. Legend: B batch, T symbols, W channels,
F symbols that it sees.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from formalbench_models.layers.tensors import wide


class ShortConvolution(nn.Module):
    """A causal convolution with a filter for each channel.

    Args:
        channels: W.
        size: F, the symbol itself and those just before it; 1 scales each channel.
        bias: whether a number is added to each channel.
    """

    def __init__(self, channels: int, size: int, *, bias: bool = True) -> None:
        super().__init__()
        bound = size**-0.5  # as torch initialises convolutions
        self.weight = nn.Parameter(torch.empty(size, channels).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(channels).uniform_(-bound, bound)) if bias else None

    def forward(self, x_BTW: Tensor, past_BFW: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return (B, T, W), and the last F - 1 inputs, which the next symbols will see.

        Args:
            x_BTW: the inputs.
            past_BFW: the F - 1 inputs before them; None at the start of a string.
        """
        size, length = self.weight.shape[0], x_BTW.shape[1]
        if past_BFW is None:
            past_BFW = x_BTW.new_zeros(x_BTW.shape[0], size - 1, x_BTW.shape[2])
        padded = torch.cat((past_BFW, x_BTW), dim=1)
        mixed_BTW: Tensor = _CausalFilter.apply(padded, self.weight)  # type: ignore[no-untyped-call]
        if self.bias is not None:
            mixed_BTW = mixed_BTW + self.bias
        return mixed_BTW, padded[:, length:]


class _CausalFilter(torch.autograd.Function):
    """The sums over the symbols seen; going back by the library, each term would fill a gradient.

    Legend: S = T + F - 1 symbols.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(padded_BSW: Tensor, weight_FW: Tensor) -> Tensor:
        return _filtered(padded_BSW, weight_FW)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient_BTW: Tensor) -> tuple[Tensor, Tensor]:
        padded_BSW, weight_FW = ctx.saved_tensors
        length, rest = gradient_BTW.shape[1], len(weight_FW) - 1
        d_padded = _filtered(functional.pad(gradient_BTW, (0, 0, rest, rest)), weight_FW.flip(0))
        d_weight = [
            (gradient_BTW * padded_BSW[:, place : place + length]).sum((0, 1))
            for place in range(rest + 1)
        ]
        return d_padded, torch.stack(d_weight)


def _filtered(padded_BSW: Tensor, weight_FW: Tensor) -> Tensor:
    """Return the sums, (B, T, W). Nothing in place: `torch.func.vmap` has no rule for that."""
    length = padded_BSW.shape[1] - len(weight_FW) + 1
    mixed_BTW = padded_BSW[:, :length] * weight_FW[0]
    for place in range(1, len(weight_FW)):
        mixed_BTW = mixed_BTW.addcmul(padded_BSW[:, place : place + length], weight_FW[place])
    return mixed_BTW


def naive_convolution(convolution: ShortConvolution, x_TW: Tensor) -> Tensor:
    """Return each channel of a string filtered over the last symbols, (T, W), one by one."""
    rows = []
    for time in range(len(x_TW)):
        row = torch.zeros_like(x_TW[0]) if convolution.bias is None else convolution.bias
        for back, weight in enumerate(convolution.weight.flip(0)[: time + 1]):
            row = row + weight * x_TW[time - back]
        rows.append(row)
    return torch.stack(rows)


class LowRank(nn.Module):
    """A map of low rank with an activation inside: (..., W) to (..., W)."""

    def __init__(
        self,
        width: int,
        rank: int,
        activation: Callable[[Tensor], Tensor] | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.down = nn.Linear(width, rank, bias=False)
        self.activation = activation
        self.up = nn.Linear(rank, width, bias=bias)

    def forward(self, x_W: Tensor) -> Tensor:
        """Return the map of x, (..., W)."""
        inner = self.down(x_W)
        mapped_W: Tensor = self.up(inner if self.activation is None else self.activation(inner))
        return mapped_W


LEAST_STEP, GREATEST_STEP = 0.001, 0.1
"""Range of the initial steps Δ (Gu and Dao 2024, appendix E.2)."""


def first_steps(count: int) -> Tensor:
    """Return initial biases of Δ, for which softplus gives log-uniform steps."""
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
