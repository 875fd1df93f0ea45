"""The short convolution in front of a recurrence: each channel by itself, over the last symbols.

Source: Fu et al. (2023), H3; Gu and Dao (2024), Mamba. Legend: B batch, T symbols, W channels,
F symbols that it sees.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


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
        mixed_BTW = seen[:, :length] * self.weight[0]
        for place in range(1, size):
            mixed_BTW = mixed_BTW.addcmul(seen[:, place : place + length], self.weight[place])
        if self.bias is not None:
            mixed_BTW = mixed_BTW + self.bias
        return mixed_BTW, seen[:, length:]
