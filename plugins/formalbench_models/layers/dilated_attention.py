"""RegularGPT's dilated attention by matrix products, for chunks that are not small.

At a level of dilation d the positions fall into d *lanes*, every d-th one each, which do not see
one another; within a lane a position attends to itself and the C-1 before it. A lane is cut into
blocks of C positions; the keys of a block are its own and those of the block before: products of
matrices, of which half is masked. Time and memory are linear in T, and memory holds scores, 2C for
each position and head, where `RegularGptBlock.attend`, its reference, holds C keys of width D each.

All positions before a lane's first are padding in one and the same state, so they are one more key,
whose score has the log of the sum of exp r_j over those of them that are still in the chunk.
Masked ones are no key at all.

Legend: B batch, N positions, L lanes (the dilation), G blocks, S positions of a block, K keys of a
block, C chunk, D width, H heads, E width of a head.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

LEAST = 16
"""Minimum chunk for matrix products; with smaller chunks most entries would be masked."""


def attend_in_bands(
    query_BND: Tensor,
    key_value_BND: tuple[Tensor, Tensor],
    pad_D: tuple[Tensor, ...] | None,
    relative_CH: Tensor,
    dilation: int,
) -> Tensor:
    """Attend from every position m to m - j·dilation, j < C: (B, N, D).

    Args:
        query_BND: of all positions.
        key_value_BND: keys and values of all positions.
        pad_D: the key and the value of each position before the first; None if these are masked.
        relative_CH: r_j of each head.
        dilation: C^l.
    """
    batch, length, width = query_BND.shape
    chunk, heads = relative_CH.shape
    size = min(chunk, -(-length // dilation))
    blocks = -(-length // (dilation * size))

    def lanes(x_BND: Tensor) -> Tensor:
        missing = blocks * size * dilation - length
        x_BND = torch.nn.functional.pad(x_BND, (0, 0, 0, missing))  # which nobody attends to
        split = x_BND.reshape(batch, blocks, size, dilation, heads, width // heads)
        return split.permute(0, 3, 4, 1, 2, 5)

    query_BLHGSE = lanes(query_BND) / math.sqrt(width // heads)
    key_BLHGKE, value_BLHGKE = (_with_before(lanes(x_BND)) for x_BND in key_value_BND)
    scores_BLHGSK = query_BLHGSE @ key_BLHGKE.mT + _band(relative_CH, blocks, size)
    if pad_D is None:
        mixed_BLHGSE = scores_BLHGSK.softmax(-1) @ value_BLHGKE
        return _in_order(mixed_BLHGSE)[:, :length]
    pad_key_HGES, pad_value_HGSE = (x_D.reshape(heads, 1, 1, -1) for x_D in pad_D)
    pad_score_BLHGS1 = (query_BLHGSE * pad_key_HGES).sum(-1, keepdim=True)
    pad_score_BLHGS1 = pad_score_BLHGS1 + _beyond(relative_CH, blocks, size)
    weights = torch.cat((scores_BLHGSK, pad_score_BLHGS1), dim=-1).softmax(-1)
    mixed_BLHGSE = weights[..., :-1] @ value_BLHGKE + weights[..., -1:] * pad_value_HGSE
    return _in_order(mixed_BLHGSE)[:, :length]


def _in_order(x_BLHGSE: Tensor) -> Tensor:
    """Put the lanes' positions in order and the heads side by side: (B, N, D)."""
    batch, lanes, heads, blocks, size, share = x_BLHGSE.shape
    return x_BLHGSE.permute(0, 3, 4, 1, 2, 5).reshape(batch, blocks * size * lanes, heads * share)


def _with_before(x_BLHGSE: Tensor) -> Tensor:
    """Return each block with the one before it in front, if there are several."""
    if x_BLHGSE.shape[3] == 1:
        return x_BLHGSE
    before_BLHGSE = torch.cat((torch.zeros_like(x_BLHGSE[:, :, :, :1]), x_BLHGSE[:, :, :, :-1]), 3)
    return torch.cat((before_BLHGSE, x_BLHGSE), dim=4)


def _band(relative_CH: Tensor, blocks: int, size: int) -> Tensor:
    """Return r_j at distance j < C, and -inf elsewhere and before the first block: (H, G, S, K)."""
    place_S = torch.arange(size, device=relative_CH.device)
    front = size if blocks > 1 else 0
    key_K = torch.arange(front + size, device=relative_CH.device) - front
    distance_SK = place_S[:, None] - key_K
    chunk = len(relative_CH)
    near_SK = (distance_SK >= 0) & (distance_SK < chunk)
    band_HSK = relative_CH.T[:, distance_SK.clamp(0, chunk - 1)].where(near_SK, -math.inf)
    block_G = torch.arange(blocks, device=relative_CH.device)
    real_GK = (block_G[:, None] > 0) | (key_K >= 0)
    return band_HSK[:, None].where(real_GK[:, None], -math.inf)


def _beyond(relative_CH: Tensor, blocks: int, size: int) -> Tensor:
    """Return log Σ exp r_j over the padding that a lane's positions see: (H, G, S, 1)."""
    chunk, heads = relative_CH.shape
    seeing = min(chunk - 1, blocks * size)
    place = torch.arange(chunk, device=relative_CH.device)
    outside_PC = place > place[:seeing, None]
    sums_HP = relative_CH.T[:, None].where(outside_PC, -math.inf).logsumexp(-1)
    none_HP = relative_CH.new_full((heads, blocks * size - seeing), -math.inf)
    return torch.cat((sums_HP, none_HP), dim=1).reshape(heads, blocks, size, 1)
