"""Maps of low rank, by which symbols choose gates. Legend: ... any dimensions, W width."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn


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
