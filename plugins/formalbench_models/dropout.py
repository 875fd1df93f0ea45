"""Dropout (Srivastava et al. 2014), where a network has any.

A network with dropout draws random numbers, so its `Traits` must say that it is not for `vmap`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


def make_dropout(share: float) -> nn.Module:
    """Return what leaves out so much in training; for 0 it draws no random numbers."""
    return nn.Dropout(share) if share else nn.Identity()


class WordDropout(nn.Module):
    """Replaces symbols in training by one that says nothing (Sennrich et al. 2016, §2.3).

    Args:
        share: of the symbols that is replaced.
        unknown: what stands in their place.
    """

    def __init__(self, share: float, unknown: int) -> None:
        super().__init__()
        self.share, self.unknown = share, unknown

    def forward(self, symbols_BN: Tensor) -> Tensor:
        """Return the symbols, (B, N), some of them replaced."""
        if not self.training:
            return symbols_BN
        gone_BN = torch.rand(symbols_BN.shape, device=symbols_BN.device) < self.share
        return symbols_BN.masked_fill(gone_BN, self.unknown)
