"""Rotary positions: queries and keys are turned by angles proportional to their position.

Source: Su et al., "RoFormer: enhanced transformer with rotary position embedding" (2021),
§3.2.

Legend: B batch, N keys, Q queries, H heads, E width of a head, F = E/2 pairs.
"""

from __future__ import annotations

import torch
from torch import Tensor

from formalbench_models.attention import Attention, Span
from formalbench_models.positions import sinusoids


class RotaryAttention(Attention):
    """Attention whose scores depend on positions only through their difference."""

    def place(self, query_BHQE: Tensor, key_BHNE: Tensor, span: Span) -> tuple[Tensor, Tensor]:
        """Rotate queries and keys by their positions."""
        angles_NE = sinusoids(
            torch.arange(key_BHNE.shape[2], device=key_BHNE.device),
            key_BHNE.shape[3],
            key_BHNE.dtype,
        )
        turned_BHQE = rotate(query_BHQE, angles_NE[span.first : span.stop])
        return turned_BHQE, rotate(key_BHNE, angles_NE)


def rotate(x_BHNE: Tensor, angles_NE: Tensor) -> Tensor:
    """Turn each pair of neighbouring coordinates by its angle, given as (sin, cos)."""
    sine_NF, cosine_NF = angles_NE[:, 0::2], angles_NE[:, 1::2]
    first, second = x_BHNE[..., 0::2], x_BHNE[..., 1::2]
    turned = (first * cosine_NF - second * sine_NF, first * sine_NF + second * cosine_NF)
    return torch.stack(turned, dim=-1).flatten(-2)
