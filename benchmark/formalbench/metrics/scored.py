"""Sums and means over the answers that are scored; where all are, over all at no cost.

Legend: B strings, A answers of each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def spread_scored(scored: Tensor, values: Tensor) -> Tensor:
    """Return which values count, in their shape.

    Args:
        scored: (B,) or (B, A) bool.
        values: (B,), (B, A) or (B, A, …), of an answer several if it consists of several.
    """
    return scored.view(*scored.shape, *[1] * (values.ndim - scored.ndim)).expand_as(values)


def mean_scored(values: Tensor, scored: Tensor | None) -> Tensor:
    """Return the mean of what counts, a scalar; 0 if nothing does."""
    if scored is None:
        return values.mean()
    counts = spread_scored(scored, values)
    return values.where(counts, 0.0).sum() / counts.sum().clamp(min=1)


def sum_scored(values: Tensor, scored: Tensor | None) -> Tensor:
    """Return the sum of what counts, in double precision, and how many values that are; (2,)."""
    import torch  # here: to list or to draw strings needs none

    if scored is None:
        total, count = values.sum(dtype=torch.float64), values.numel()
        return torch.cat((total.view(1), total.new_full((1,), count)))
    counts = spread_scored(scored, values)
    total = values.where(counts, 0).sum(dtype=torch.float64)
    return torch.stack((total, counts.sum(dtype=torch.float64)))
