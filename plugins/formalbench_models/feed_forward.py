"""The position-wise feed-forward network of a Transformer block (Vaswani et al. 2017, §3.3).

Legend: ... any leading dimensions, D width.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn
from torch.nn import functional

from formalbench_models.dropout import make_dropout

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
        dropout: share of the hidden units that is left out in training.
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
