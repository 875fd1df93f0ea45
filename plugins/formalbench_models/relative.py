"""Relative positions of Transformer-XL.

Source: Dai et al., "Transformer-XL: attentive language models beyond a fixed-length
context" (2019), §3.3. The logit from i to j is

    (q_i + u)·k_j + (q_i + v)·(W_R R_{i-j}),   over sqrt(E),

R sinusoidal in the signed distance; u and v belong to each layer and head. Distances are
shared by all pairs, so that nothing of size N·N·D is ever made: the second product is
taken with every distance, then each row is shifted to its own.

With random positions r_0 < r_1 < … a pair d apart has the distance ±r_d, as in the code of Ruoss et
al. (2023): all pairs equally far apart have the same one, so that rows can still be shifted.

Legend: B batch, N keys, Q queries, P distances, D width, H heads, E width of a head.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from formalbench_models.attention import Attention, Span, Terms
from formalbench_models.positions import sinusoids


class RelativeAttention(Attention):
    """Attention with the content and position terms of Transformer-XL."""

    pairwise = True
    learned_bias = True

    def __init__(self, width: int, heads: int, **options: bool) -> None:
        super().__init__(width, heads, **options)
        self.distance = nn.Linear(width, width, bias=False)
        self.content_bias_HE = nn.Parameter(torch.zeros(heads, width // heads))
        self.position_bias_HE = nn.Parameter(torch.zeros(heads, width // heads))

    def terms(self, query_BHQE: Tensor, key_BHNE: Tensor, span: Span) -> Terms:
        """Return the content term as query and key, the position term as bias."""
        keys = key_BHNE.shape[2]
        scale = 1 / math.sqrt(query_BHQE.shape[-1])
        about_content_BHQE = (query_BHQE + self.content_bias_HE[:, None]) * scale
        about_position_BHQE = (query_BHQE + self.position_bias_HE[:, None]) * scale
        distance_BHEP = self._distances(span, keys, query_BHQE)
        bias_BHQN = shift(about_position_BHQE @ distance_BHEP, keys)
        return Terms(about_content_BHQE, key_BHNE, bias_BHQN)

    def _distances(self, span: Span, keys: int, like: Tensor) -> Tensor:
        """Return W_R R for each distance from a query to a key, then 0: (1 or B, H, E, P+1).

        Distances fall. The zero is the room that `shift` needs.
        """
        greatest, least = span.stop - 1, span.first - keys + 1
        distance_BP = torch.arange(greatest, least - 1, -1, device=like.device)[None]
        if span.places is not None:
            distance_BP = distance_BP.sign() * span.places[:, distance_BP[0].abs()]
        code_BPD = sinusoids(distance_BP, self.distance.in_features, like.dtype)
        projected_BPD = functional.pad(self.distance(code_BPD), (0, 0, 0, 1))
        apart_BPHE = torch.unflatten(projected_BPD, -1, (self.heads, -1))
        return apart_BPHE.permute(0, 2, 3, 1)


def shift(scores_BHQP: Tensor, keys: int) -> Tensor:
    """Move every query's row to its own distances: (B, H, Q, P+1) to (B, H, Q, N).

    Column c stands for the distance of the last query to key 0, less c; the last column is
    not read. Query q (of Q) and key j need column Q-1-q+j: in memory those entries begin at
    Q-1 and lie P apart from row to row, one less than the rows are wide.
    """
    queries, wide = scores_BHQP.shape[-2:]
    flat = scores_BHQP.flatten(-2)
    rows = flat[..., queries - 1 : queries - 1 + queries * (wide - 1)]
    return rows.reshape(*rows.shape[:-1], queries, wide - 1)[..., :keys]
