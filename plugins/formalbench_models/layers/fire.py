"""FIRE: a small network of the distance, relative to how far a query could look.

Source: Li et al., "Functional interpolation for relative positions improves long context
transformers" (2024), §3 (eq. 4 to 6). To the logit from i to j each head adds

    f( ψ(|i-j|) / ψ(max(L, i)) ),    ψ(x) = log(1 + |c|·x),

f a network of one hidden layer with 32 ReLU units, c and L learned, at first 0.1 and, for training
strings of 2,048 tokens, 512. A query
that also sees what is behind it takes max(L, i, j), which under a mask is the same.

Legend: B batch, N keys, Q queries, H heads, E width of a head, U hidden units.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from formalbench_models.attention import Attention, Span, Terms

HIDDEN = 32
SLOPE = 0.1
THRESHOLD = 512.0
_TINY = 1e-6


class FireAttention(Attention):
    """Attention with functional interpolation."""

    learned_bias = True

    def __init__(self, width: int, heads: int, **options: bool) -> None:
        super().__init__(width, heads, **options)
        self.first_threshold = THRESHOLD
        self.slope = nn.Parameter(torch.tensor(SLOPE))
        self.threshold = nn.Parameter(torch.ones(()))  # times the first one, so that rates fit
        self.up = nn.Linear(1, HIDDEN)
        self.down = nn.Linear(HIDDEN, heads)

    def begin_at(self, threshold: float) -> None:
        """Let L begin at another number than `THRESHOLD`."""
        self.first_threshold = threshold

    def terms(self, query_BHQE: Tensor, key_BHNE: Tensor, span: Span) -> Terms:
        """Add the biases, (1 or B, H, Q, N)."""
        query_BQ, key_BN = span.numbers(key_BHNE)
        furthest_BQN = torch.maximum(query_BQ[:, :, None], key_BN[:, None])
        share_BQN = self.share(span.offsets(key_BHNE)[:, 0].abs(), furthest_BQN)
        hidden_BQNU = functional.relu(self.up(share_BQN.to(query_BHQE.dtype)[..., None]))
        bias_BHQN = self.down(hidden_BQNU).permute(0, 3, 1, 2)
        return super().terms(query_BHQE, key_BHNE, span)._replace(bias=bias_BHQN)

    def share(self, distance: Tensor, furthest: Tensor) -> Tensor:
        """Return ψ(distance) / ψ(max(L, furthest)), in fp32 at least."""
        exact = torch.promote_types(self.slope.dtype, torch.float32)
        slope = self.slope.to(exact).abs()
        threshold = (self.threshold.to(exact) * self.first_threshold).abs()
        whole = (slope * torch.maximum(furthest.to(exact), threshold)).log1p()
        return (slope * distance.to(exact)).log1p() / (whole + _TINY)
