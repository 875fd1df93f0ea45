"""Layer norm with any ε, 0 included.

Source: Ba et al. (2016), in the form of Chiang & Cholak (2022), §3: γ = 1, β = 0 and the variance
of the elements (not its unbiased estimate).

Legend: D width.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


def layer_norm(x_D: Tensor, epsilon: float) -> Tensor:
    """Return (x - mean) / √(var + ε), (..., D); 0 where that is 0/0.

    Statistics are computed in fp32 at least. The mean is taken over two halves: of a vector
    (x, -x) it is 0, and not a rounding error that a later layer would take for a signal.
    """
    wide_D = x_D.to(torch.promote_types(x_D.dtype, torch.float32))
    centred_D = wide_D - _mean(wide_D)
    spread_1 = centred_D.square().mean(-1, keepdim=True) + epsilon
    # Not a where around the quotient: the gradient of 0/0 would be NaN all the same.
    divisor_1 = torch.where(spread_1 == 0, 1.0, spread_1).sqrt()
    return (centred_D / divisor_1).to(x_D.dtype)


def _mean(x_D: Tensor) -> Tensor:
    """Return the mean, (..., 1)."""
    width = x_D.shape[-1]
    if width % 2:
        return x_D.sum(-1, keepdim=True) / width
    first_E, second_E = x_D[..., : width // 2], x_D[..., width // 2 :]
    return (first_E.sum(-1, keepdim=True) + second_E.sum(-1, keepdim=True)) / width


class LayerNorm(nn.LayerNorm):
    """The library's layer norm (with γ and β), for ε = 0 too."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalised vectors, (..., D)."""
        return layer_norm(input, self.eps) * self.weight + self.bias
