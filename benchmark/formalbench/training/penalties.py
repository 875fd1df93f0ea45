"""Penalties of this package."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from formalbench.contracts.penalty import Penalty


class L1(Penalty):
    """The sum of the sizes of all parameters (Tibshirani 1996): it makes many of them small."""

    def term(
        self, logits: Tensor, trace: Mapping[str, Tensor], parameters: Mapping[str, Tensor]
    ) -> Tensor:
        return torch.stack([parameter.abs().sum() for parameter in parameters.values()]).sum()
