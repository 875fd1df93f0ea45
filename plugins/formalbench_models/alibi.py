"""Linear biases: a logit falls with distance, at a slope of its head's own.

Source: Press et al., "Train short, test long: attention with linear biases enables input
length extrapolation" (2022), §3. Their slopes are 2^(-8h/H), h = 1 … H, which is used for
every H here; without a causal mask the distance is |i - j|.

Legend: B batch, N keys, Q queries, H heads, E width of a head.
"""

from __future__ import annotations

import torch
from torch import Tensor

from formalbench_models.attention import Attention, Span, Terms


class AlibiAttention(Attention):
    """Attention with linear biases."""

    def terms(self, query_BHQE: Tensor, key_BHNE: Tensor, span: Span) -> Terms:
        """Add the biases, (1 or B, H, Q, N)."""
        # Not in bf16, which cannot tell 257 from 256: rounded once, at the end.
        exact = torch.promote_types(query_BHQE.dtype, torch.float32)
        distance_B1QN = span.offsets(key_BHNE).abs().to(exact)
        head_H11 = torch.arange(1, self.heads + 1, device=key_BHNE.device, dtype=exact)
        slope_H11 = torch.exp2(head_H11[:, None, None] * (-8 / self.heads))
        bias_BHQN = (-slope_H11 * distance_B1QN).to(query_BHQE.dtype)
        return super().terms(query_BHQE, key_BHNE, span)._replace(bias=bias_BHQN)
