"""Relative position buckets: a learned bias for each head and bucket of distances.

Source: Raffel et al., "Exploring the limits of transfer learning with a unified text-to-text
transformer" (2020), §2.1. There are 32 buckets, the last one for all distances beyond 128. Those of
the lower half hold one distance each, the others grow by a constant factor. Where a query also
sees what is behind it, half of the buckets are for that. T5 shares the table among its layers, as
here unless asked otherwise, and leaves products unscaled; here they are over sqrt(E).

Legend: B batch, N keys, Q queries, H heads, E width of a head, P distances.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from formalbench_models.attention import Attention, Span, Terms

BUCKETS = 32
FURTHEST = 128


class T5Attention(Attention):
    """Attention with a learned bias for each bucket."""

    learned_bias = True

    def __init__(self, width: int, heads: int, **options: bool) -> None:
        super().__init__(width, heads, **options)
        self.bucket_bias = nn.Embedding(BUCKETS, heads)
        offsets = range(-FURTHEST, FURTHEST + 1)
        self.bucket_P: Tensor
        buckets = torch.tensor([bucket(offset, self.causal) for offset in offsets])
        self.register_buffer("bucket_P", buckets, persistent=False)

    def share_positions(self, first: Attention) -> None:
        """Use the table of another layer."""
        # Not registered once more: it remains one parameter, of the other layer.
        del self.bucket_bias
        self.__dict__["bucket_bias"] = first.bucket_bias

    def terms(self, query_BHQE: Tensor, key_BHNE: Tensor, span: Span) -> Terms:
        """Add the biases, (1 or B, H, Q, N)."""
        place_BQN = span.offsets(key_BHNE)[:, 0].clamp(-FURTHEST, FURTHEST) + FURTHEST
        bias_BHQN = self.bucket_bias(self.bucket_P[place_BQN]).permute(0, 3, 1, 2)
        return super().terms(query_BHQE, key_BHNE, span)._replace(bias=bias_BHQN)


def bucket(offset: int, causal: bool) -> int:
    """Return the bucket of a query's position less a key's, in integers.

    Of b buckets, b/2 + k begins at the least distance d for which
    (2d/b)^(b/2) ≥ (2·128/b)^k: no logarithm, which might be rounded to the wrong side.
    """
    if causal:
        return _one_sided(max(0, offset), BUCKETS)
    half = BUCKETS // 2
    return _one_sided(abs(offset), half) + (half if offset < 0 else 0)


def _one_sided(distance: int, buckets: int) -> int:
    exact = buckets // 2
    if distance < exact:
        return distance
    grown = 0
    while (
        grown + 1 < buckets - exact
        and distance**exact * exact ** (grown + 1) >= FURTHEST ** (grown + 1) * exact**exact
    ):
        grown += 1
    return exact + grown
