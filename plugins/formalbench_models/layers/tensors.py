"""Precision, heads, chunks and the runs of a cohort, as dimensions and types of tensors.

Legend: B batch, T symbols, W width, H heads, E width of a head, N chunks, C symbols of a chunk, R
runs.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional


def wide(x: Tensor) -> Tensor:
    """Convert to at least fp32: half precision rounds gates near 1 to 1, and cannot hold 257."""
    return x.to(wide_type(x.dtype))


def wide_type(dtype: torch.dtype) -> torch.dtype:
    """Return a type, or fp32 if that holds more."""
    return torch.promote_types(dtype, torch.float32)


def split(x_BTW: Tensor, heads: int) -> Tensor:
    """Return (B, H, T, E) of (B, T, H·E)."""
    return torch.unflatten(x_BTW, -1, (heads, -1)).transpose(1, 2)


def merge(x_BHTE: Tensor) -> Tensor:
    """Return (B, T, H·E) of (B, H, T, E)."""
    return x_BHTE.transpose(1, 2).flatten(2)


def cut(part: Tensor, chunk: int, fill: float = 0.0) -> Tensor:
    """Cut (B, T, …) into chunks of C symbols, the last one filled up: (B, N, C, …)."""
    missing = -part.shape[1] % chunk
    if missing:  # what it is filled up with comes after all that is read
        part = functional.pad(part, (0, 0) * (part.ndim - 2) + (0, missing), value=fill)
    return torch.unflatten(part, 1, (-1, chunk))


def merge_runs(info: Any, in_dims: Any, tensors: Any) -> list[Tensor | None]:
    """Return tensors with the runs of a cohort merged into the batch, (R·B, …).

    One with a batch of 1 that all runs share stays as it is.
    """
    pairs = list(zip(tensors, in_dims, strict=False))
    batch = max(
        x.shape[0] if dim is None or dim else x.shape[1] for x, dim in pairs if x is not None
    )

    def merged(x: Tensor | None, dim: int | None) -> Tensor | None:
        if x is None or (dim is None and x.shape[0] == 1):
            return x
        every = x[None] if dim is None else x.movedim(dim, 0)
        return every.expand(info.batch_size, batch, *every.shape[2:]).flatten(0, 1)

    return [merged(x, dim) for x, dim in pairs]
