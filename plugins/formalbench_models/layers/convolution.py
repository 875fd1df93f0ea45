"""The short convolution in front of a recurrence: each channel by itself, over the last symbols.

Source: Fu et al. (2023), H3; Gu and Dao (2024), Mamba. Legend: B batch, T symbols, W channels,
F symbols that it sees.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional


class ShortConvolution(nn.Module):
    """A causal convolution with a filter for each channel.

    Args:
        channels: W.
        size: F, the symbol itself and those just before it; 1 scales each channel.
        bias: whether a number is added to each channel.
    """

    def __init__(self, channels: int, size: int, *, bias: bool = True) -> None:
        super().__init__()
        bound = size**-0.5  # as the library's convolutions begin
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
        seen = torch.cat((past_BFW, x_BTW), dim=1)
        mixed_BTW: Tensor = _Filtered.apply(seen, self.weight)  # type: ignore[no-untyped-call]
        if self.bias is not None:
            mixed_BTW = mixed_BTW + self.bias
        return mixed_BTW, seen[:, length:]


class _Filtered(torch.autograd.Function):
    """The sums over the symbols seen; going back by the library, each term would fill a gradient.

    Legend: S = T + F - 1 symbols.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(seen_BSW: Tensor, weight_FW: Tensor) -> Tensor:
        return _filtered(seen_BSW, weight_FW)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient_BTW: Tensor) -> tuple[Tensor, Tensor]:
        seen_BSW, weight_FW = ctx.saved_tensors
        length, rest = gradient_BTW.shape[1], len(weight_FW) - 1
        of_seen = _filtered(functional.pad(gradient_BTW, (0, 0, rest, rest)), weight_FW.flip(0))
        of_weight = [
            (gradient_BTW * seen_BSW[:, place : place + length]).sum((0, 1))
            for place in range(rest + 1)
        ]
        return of_seen, torch.stack(of_weight)


def _filtered(seen_BSW: Tensor, weight_FW: Tensor) -> Tensor:
    """Return the sums, (B, T, W). Nothing in place: `torch.func.vmap` has no rule for that."""
    length = seen_BSW.shape[1] - len(weight_FW) + 1
    mixed_BTW = seen_BSW[:, :length] * weight_FW[0]
    for place in range(1, len(weight_FW)):
        mixed_BTW = mixed_BTW.addcmul(seen_BSW[:, place : place + length], weight_FW[place])
    return mixed_BTW
