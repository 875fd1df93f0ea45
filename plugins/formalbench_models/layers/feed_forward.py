"""The feed-forward network of a block, layer norm, dropout.

A network with dropout draws random numbers, so its `Traits` must say that it is not for `vmap`.

Source: Ba et al. (2016), in the form of Chiang & Cholak (2022), §3: γ = 1, β = 0 and the variance
of the elements (not its unbiased estimate).

Legend: D width, ... any leading dimensions.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from formalbench_models.layers.tensors import wide


def make_dropout(share: float) -> nn.Module:
    """Return a dropout module; for 0 it draws no random numbers."""
    return nn.Dropout(share) if share else nn.Identity()


class WordDropout(nn.Module):
    """Replaces a share of symbols in training by an unknown one (Sennrich et al. 2016, §2.3)."""

    def __init__(self, share: float, unknown: int) -> None:
        super().__init__()
        self.share, self.unknown = share, unknown

    def forward(self, symbols_BN: Tensor) -> Tensor:
        """Replace some symbols, (B, N)."""
        if not self.training:
            return symbols_BN
        gone_BN = torch.rand(symbols_BN.shape, device=symbols_BN.device) < self.share
        return symbols_BN.masked_fill(gone_BN, self.unknown)


def layer_norm(x_D: Tensor, epsilon: float) -> Tensor:
    """Return (x - mean) / √(var + ε), (..., D); 0 where that is 0/0.

    Statistics are computed in fp32 at least. The mean is taken over two halves: of a vector
    (x, -x) it is 0, and not a rounding error that a later layer would take for a signal.
    """
    wide_D = wide(x_D)
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
    """torch's layer norm (with γ and β), which also supports ε = 0."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalised vectors, (..., D)."""
        return layer_norm(input, self.eps) * self.weight + self.bias


_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": functional.gelu,
    "relu": functional.relu,
}


class PositionWise(nn.Module):
    """Two linear maps with a nonlinearity between them: (..., D) to (..., D).

    Args:
        width: D.
        factor: hidden units per unit of width.
        activation: ``gelu`` or ``relu``.
        hidden: the number of hidden units, exactly; 0 for `factor` per unit of width.
        dropout: dropout probability of hidden units.
    """

    def __init__(
        self, width: int, factor: int, activation: str, *, hidden: int = 0, dropout: float = 0.0
    ) -> None:
        super().__init__()
        hidden = hidden or width * factor
        self.up = nn.Linear(width, hidden)
        self.activation = _ACTIVATIONS[activation]
        self.drop = make_dropout(dropout)
        self.down = nn.Linear(hidden, width)

    def forward(self, x_D: Tensor) -> Tensor:
        """Return the change to x: (..., D)."""
        change_D: Tensor = self.down(self.drop(self.activation(self.up(x_D))))
        return change_D
