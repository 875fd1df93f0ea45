"""PaTH: positions as products of reflections that depend on the data.

Source: Yang et al., "PaTH attention: position encoding via accumulating Householder
transformations" (2025), §2 and §3.1. The logit from i to j ≤ i is, over sqrt(E),

    k_jᵀ H_{j+1} ⋯ H_i q_i,    H_t = I - β_t w_t w_tᵀ,

β_t = 2·sigmoid(u·x_t + b) and w_t of length 1, from x by a map of rank 32, a causal convolution
over three positions and SiLU, as in the authors' code. By their UT transform, with L the part of a
matrix below the diagonal and Λ that with it,

    logits = Λ(Q Kᵀ) - Λ(Q Wᵀ) (I + D L(W Wᵀ))⁻¹ D L(W Kᵀ),    D = diag(β).

Legend: B batch, N keys, Q queries, D width, H heads, E width of a head, T taps.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from formalbench_models.attention import Attention, Span, Terms

RANK = 32
TAPS = 3


class PathAttention(Attention):
    """Attention with accumulated Householder transformations; only under a mask."""

    pairwise = True
    learned_bias = True

    def __init__(self, width: int, heads: int, **options: bool) -> None:
        super().__init__(width, heads, **options)
        rank = min(RANK, width)
        self.narrow = nn.Linear(width, rank, bias=False)
        self.widen = nn.Linear(rank, width, bias=False)
        self.tap_TD = nn.Parameter((torch.rand(TAPS, width) * 2 - 1) / TAPS**0.5)
        self.strength = nn.Linear(width, heads)

    def seen(self, x_BND: Tensor) -> tuple[Tensor, ...]:
        """Return what the base class does, then w (B, H, N, E) and β (B, H, N, 1)."""
        direction_BND = functional.silu(convolved(self.widen(self.narrow(x_BND)), self.tap_TD))
        direction_BHNE = functional.normalize(self._split(direction_BND), dim=-1)
        strength_BHN1 = 2 * self.strength(x_BND).sigmoid().transpose(1, 2)[..., None]
        return (*super().seen(x_BND), direction_BHNE, strength_BHN1)

    def terms(self, query_BHQE: Tensor, key_BHNE: Tensor, span: Span) -> Terms:
        """Add what the reflections take away, (B, H, Q, N)."""
        terms = super().terms(query_BHQE, key_BHNE, span)
        direction_BHNE, strength_BHN1 = span.seen[-2:]
        # No solver takes bf16.
        exact = torch.promote_types(query_BHQE.dtype, torch.float32)
        query, key, w, beta = (
            x.to(exact) for x in (terms.query, key_BHNE, direction_BHNE, strength_BHN1)
        )
        system_BHNN = (beta * (w @ w.mT)).tril(-1)
        wanted_BHNN = (beta * (w @ key.mT)).tril(-1)
        # From the left: of a query alone that is a row, and not a matrix.
        solved_BHQN = torch.linalg.solve_triangular(
            system_BHNN,
            (query @ w.mT).tril(span.first),
            upper=False,
            left=False,
            unitriangular=True,
        )
        taken_BHQN = solved_BHQN @ wanted_BHNN
        return terms._replace(bias=-taken_BHQN.to(query_BHQE.dtype))


def convolved(x_BND: Tensor, tap_TD: Tensor) -> Tensor:
    """Return weighted sums of the last T states, (B, N, D); the last tap is for the present one."""
    taps, length = len(tap_TD), x_BND.shape[1]
    before_BND = functional.pad(x_BND, (0, 0, taps - 1, 0))
    parts = [before_BND[:, tap : tap + length] * tap_TD[tap] for tap in range(taps)]
    return torch.stack(parts).sum(0)
