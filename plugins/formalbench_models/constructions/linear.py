"""Forms on the residual stream as a dense linear map.

Legend: D inputs (coordinates), K outputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from formalbench_models.constructions.vocabulary import ONE, Form


class Linear(nn.Module):
    """A linear map with a bias, made in fp64 and zero until it is written to.

    The library's draws random weights first, and warns if there is nothing to draw.

    Args:
        inputs: D, may be 0.
        outputs: K, may be 0.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(outputs, inputs, dtype=torch.float64))
        self.bias = nn.Parameter(torch.zeros(outputs, dtype=torch.float64))

    @classmethod
    def of(cls, forms: Sequence[Form], place: Mapping[str, int]) -> Linear:
        """Return forms as a linear map, an output for each.

        Args:
            forms: what to compute.
            place: the index of each coordinate.
        """
        layer = cls(len(place), len(forms))
        with torch.no_grad():
            for row, form in enumerate(forms):
                for name, factor in form.items():
                    if name == ONE:
                        layer.bias[row] = factor
                    else:
                        layer.weight[row, place[name]] = factor
        return layer

    def forward(self, x_D: Tensor) -> Tensor:
        """Return (..., K) for (..., D)."""
        return functional.linear(x_D, self.weight, self.bias)
