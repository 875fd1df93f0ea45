"""The position-wise feed-forward network of a Transformer block (Vaswani et al. 2017, §3.3).

Legend: ... any leading dimensions, D width.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn
from torch.nn import functional

_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": functional.gelu,
    "relu": functional.relu,
}


class FeedForward(nn.Module):
    """Two linear maps with a nonlinearity between them: (..., D) to (..., D).

    Args:
        width: D.
        factor: hidden units per unit of width.
        activation: ``gelu`` or ``relu``.
    """

    def __init__(self, width: int, factor: int, activation: str) -> None:
        super().__init__()
        self.up = nn.Linear(width, width * factor)
        self.activation = _ACTIVATIONS[activation]
        self.down = nn.Linear(width * factor, width)

    def forward(self, x_D: Tensor) -> Tensor:
        """Return the change to x: (..., D)."""
        change_D: Tensor = self.down(self.activation(self.up(x_D)))
        return change_D
