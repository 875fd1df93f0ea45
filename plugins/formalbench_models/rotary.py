"""Rotary positions: queries and keys are turned by angles proportional to their position.

Source: Su et al., "RoFormer: enhanced transformer with rotary position embedding" (2021),
§3.2.

Legend: B batch, N keys, Q queries, H heads, E width of a head, F = E/2 pairs.
"""

from __future__ import annotations

import torch
from torch import Tensor

from formalbench_models.attention import Attention, Span, Terms
from formalbench_models.positions import sinusoids


class RotaryAttention(Attention):
    """Attention whose scores depend on positions only through their difference."""

    def terms(self, query_BHQE: Tensor, key_BHNE: Tensor, span: Span) -> Terms:
        """Rotate queries and keys by their positions."""
        query_BQ, key_BN = span.numbers(key_BHNE)
        width, dtype = key_BHNE.shape[3], key_BHNE.dtype
        turned_BHQE = rotate(query_BHQE, sinusoids(query_BQ, width, dtype)[:, None])
        return super().terms(
            turned_BHQE, rotate(key_BHNE, sinusoids(key_BN, width, dtype)[:, None]), span
        )


def rotate(x_BHNE: Tensor, angles_NE: Tensor) -> Tensor:
    """Turn each pair of neighbouring coordinates by its angle, given as (sin, cos)."""
    sine_NF, cosine_NF = angles_NE[..., 0::2], angles_NE[..., 1::2]
    first, second = x_BHNE[..., 0::2], x_BHNE[..., 1::2]
    turned = (first * cosine_NF - second * sine_NF, first * sine_NF + second * cosine_NF)
    return torch.stack(turned, dim=-1).flatten(-2)
