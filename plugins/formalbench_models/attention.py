"""Multi-head attention whose scores can be told about positions.

Source: Vaswani et al., "Attention is all you need" (2017), §3.2; log-length scaling:
Chiang & Cholak, "Overcoming a theoretical limitation of self-attention" (2022), §4.3.

The scores are written out instead of calling the library's fused kernel, which cannot be
batched by `torch.func.vmap` on a CPU and has no place for relative positions. Long
sequences are done a block of queries at a time, so that memory stays bounded.

Legend: B batch, N positions (keys), Q queries, D width, H heads, E width of a head.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

_MOST_SCORES = 1 << 26
"""How many scores one block of queries may have: 256 MiB in fp32."""


class Span(NamedTuple):
    """A run of query positions.

    Attributes:
        first: the position of the first query.
        stop: one past the position of the last.
    """

    first: int
    stop: int

    def blocks(self, most: int) -> list[Span]:
        """Cut into spans of at most `most` queries."""
        cuts = range(self.first, self.stop, most)
        return [Span(cut, min(cut + most, self.stop)) for cut in cuts]


class Attention(nn.Module):
    """Attention without positions; subclasses change `place` or `scores`.

    Args:
        width: D.
        heads: H.
        causal: whether a query sees only its own position and those before it.
        log_length: whether logits are multiplied by ln n, n the number of attended
            positions (under a causal mask that is 1 + the query's position).
    """

    def __init__(self, width: int, heads: int, *, causal: bool, log_length: bool) -> None:
        super().__init__()
        self.heads = heads
        self.causal = causal
        self.log_length = log_length
        self.query = nn.Linear(width, width)
        self.key_value = nn.Linear(width, 2 * width)
        self.merge_heads = nn.Linear(width, width)

    def forward(
        self, x_BND: Tensor, span: Span, lengths_B: Tensor | None = None
    ) -> tuple[Tensor, list[Tensor]]:
        """Attend from the positions in `span` to all that they may see.

        Args:
            x_BND: the sequence.
            span: the positions to answer for.
            lengths_B: how many positions of each string are real, if not all.

        Returns:
            (B, Q, D), and the weights of each block of queries, (B, H, block, keys).
        """
        query_BHQE = self._split(self.query(x_BND[:, span.first : span.stop]))
        key_BND, value_BND = self.key_value(x_BND).chunk(2, dim=-1)
        query_BHQE, key_BHNE = self.place(query_BHQE, self._split(key_BND), span)
        value_BHNE = self._split(value_BND)
        most = max(1, _MOST_SCORES // max(1, key_BHNE.shape[:-1].numel()))
        mixed, weights = [], []
        for block in span.blocks(most):
            # Under a causal mask keys behind the block's last query are never seen.
            seen = block.stop if self.causal else x_BND.shape[1]
            block_BHQE = query_BHQE[:, :, block.first - span.first : block.stop - span.first]
            scores_BHQN = self.scores(block_BHQE, key_BHNE[:, :, :seen], block)
            weights_BHQN = self._adjust(scores_BHQN, block, lengths_B).softmax(dim=-1)
            mixed.append(weights_BHQN @ value_BHNE[:, :, :seen])
            weights.append(weights_BHQN)
        mixed_BHQE = mixed[0] if len(mixed) == 1 else torch.cat(mixed, dim=2)
        answer_BQD: Tensor = self.merge_heads(mixed_BHQE.transpose(1, 2).flatten(2))
        return answer_BQD, weights

    def place(self, query_BHQE: Tensor, key_BHNE: Tensor, span: Span) -> tuple[Tensor, Tensor]:
        """Put positions into queries (those of `span`) and keys; here not at all."""
        return query_BHQE, key_BHNE

    def scores(self, query_BHQE: Tensor, key_BHNE: Tensor, span: Span) -> Tensor:
        """Return the logits before length scaling and masks, (B, H, Q, N)."""
        return (query_BHQE / math.sqrt(query_BHQE.shape[-1])) @ key_BHNE.transpose(-2, -1)

    def _adjust(self, scores_BHQN: Tensor, span: Span, lengths_B: Tensor | None) -> Tensor:
        """Scale logits by ln n, if asked for, and mask what must not be seen."""
        keys = scores_BHQN.shape[-1]
        query_Q1 = torch.arange(span.first, span.stop, device=scores_BHQN.device)[:, None]
        key_N = torch.arange(keys, device=scores_BHQN.device)
        if self.log_length:
            scores_BHQN = scores_BHQN * self._log_attended(scores_BHQN, query_Q1, lengths_B)
        if self.causal:
            return scores_BHQN.masked_fill(key_N > query_Q1, -math.inf)
        if lengths_B is None:
            return scores_BHQN
        return scores_BHQN.masked_fill(key_N >= lengths_B[:, None, None, None], -math.inf)

    def _log_attended(
        self, scores_BHQN: Tensor, query_Q1: Tensor, lengths_B: Tensor | None
    ) -> Tensor | float:
        """Return ln n, with shapes that go with (B, H, Q, N)."""
        if self.causal:
            return (query_Q1 + 1).to(_exact(scores_BHQN)).log().to(scores_BHQN.dtype)
        if lengths_B is None:
            return math.log(scores_BHQN.shape[-1])
        count_B111 = lengths_B[:, None, None, None].to(_exact(scores_BHQN))
        return count_B111.log().to(scores_BHQN.dtype)

    def _split(self, x_BND: Tensor) -> Tensor:
        """Split among the heads: (B, N, D) to (B, H, N, E)."""
        batch, length, width = x_BND.shape
        split_BNHE = x_BND.reshape(batch, length, self.heads, width // self.heads)
        return split_BNHE.transpose(1, 2)


def _exact(like: Tensor) -> torch.dtype:
    """Return a type that holds position numbers exactly: bf16 stops at 256."""
    return torch.promote_types(like.dtype, torch.float32)
