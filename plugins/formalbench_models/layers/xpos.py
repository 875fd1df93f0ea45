"""xPos: rotary positions whose score also decays with distance.

Source: Sun et al., "A length-extrapolatable transformer" (2023), §3 (algorithm 1). Pair k of a
query at i is turned as in RoPE and multiplied by ζ_k^(i/512), that of a key at j by ζ_k^(-j/512),
with

    ζ_k = (2k/E + γ) / (1 + γ),    γ = 0.4,

so that scores depend on i - j only and fall with it. Of what is behind a query they would grow: a
mask is needed. The factors of a key overflow beyond some 36,000 positions in fp32 and bf16, beyond
some 4,500 in fp16.

Legend: B batch, N keys, Q queries, H heads, E width of a head, F = E/2 pairs.
"""

from __future__ import annotations

import torch
from torch import Tensor

from formalbench_models.attention import Attention, Span, Terms
from formalbench_models.positions import sinusoids
from formalbench_models.rotary import rotate

GAMMA = 0.4
SCALE = 512


class XposAttention(Attention):
    """Attention with rotary positions that decay."""

    def terms(self, query_BHQE: Tensor, key_BHNE: Tensor, span: Span) -> Terms:
        """Rotate and scale queries and keys by their positions."""
        query_BQ, key_BN = span.numbers(key_BHNE)
        return super().terms(
            placed(query_BHQE, query_BQ, 1 / SCALE), placed(key_BHNE, key_BN, -1 / SCALE), span
        )


def placed(x_BHNE: Tensor, number_BN: Tensor, power: float) -> Tensor:
    """Turn pairs by their positions, and multiply them by ζ^(power · position)."""
    width = x_BHNE.shape[3]
    exact = torch.promote_types(x_BHNE.dtype, torch.float32)
    pair_F = torch.arange(0, width, 2, device=x_BHNE.device, dtype=exact)
    decay_F = (pair_F / width + GAMMA) / (1 + GAMMA)
    factor_BNF = decay_F ** (power * number_BN.to(exact))[..., None]
    factor_BNE = factor_BNF.repeat_interleave(2, dim=-1).to(x_BHNE.dtype)
    turned_BHNE = rotate(x_BHNE, sinusoids(number_BN, width, x_BHNE.dtype)[:, None])
    return turned_BHNE * factor_BNE[:, None]
