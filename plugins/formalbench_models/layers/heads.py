"""Splitting a width among heads, and back. Legend: B batch, T symbols, H heads, E width of one."""

from __future__ import annotations

import torch
from torch import Tensor


def split(x_BTW: Tensor, heads: int) -> Tensor:
    """Return (B, H, T, E) of (B, T, H·E)."""
    return torch.unflatten(x_BTW, -1, (heads, -1)).transpose(1, 2)


def merge(x_BHTE: Tensor) -> Tensor:
    """Return (B, T, H·E) of (B, H, T, E)."""
    return x_BHTE.transpose(1, 2).flatten(2)
