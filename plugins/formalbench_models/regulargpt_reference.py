"""RegularGPT straight from the paper: full T×T masks on an explicitly padded string.

Slow and obvious, with the parameters of a `RegularGPT`: tests compare its two fast forms
with it. Source: Chi et al. (2023), eq. 1 and §3.2.

Legend: B batch, N positions, D width, H heads, E width of a head, C chunk, K outputs.
"""

from __future__ import annotations

import math

from torch import Tensor

from formalbench_models.regulargpt import RegularGPT
from formalbench_models.regulargpt_block import Block


def mask(block: Block, length: int, dilation: int) -> Tensor:
    """Return M of eq. 1, (H, N, N): r_j at distance j·dilation, j < C, else -inf."""
    mask_HNN = block.relative_CH.new_full((block.heads, length, length), -math.inf)
    for m in range(length):
        for j in range(block.chunk):
            if m - j * dilation >= 0:
                mask_HNN[:, m, m - j * dilation] = block.relative_CH[j]
    return mask_HNN


def apply_block(block: Block, x_BND: Tensor, dilation: int) -> Tensor:
    """Apply one block to all positions, with a full mask."""
    batch, length, width = x_BND.shape
    normed_BND = block.norm_attention(x_BND) if block.pre_norm else x_BND
    key_BND, value_BND = block.key_value(normed_BND).chunk(2, dim=-1)
    query_BHNE, key_BHNE, value_BHNE = (
        y.reshape(batch, length, block.heads, width // block.heads).transpose(1, 2)
        for y in (block.query(normed_BND), key_BND, value_BND)
    )
    scores_BHNN = query_BHNE @ key_BHNE.mT / math.sqrt(width // block.heads)
    weights_BHNN = (scores_BHNN + mask(block, length, dilation)).softmax(dim=-1)
    mixed_BND = (weights_BHNN @ value_BHNE).transpose(1, 2).reshape(batch, length, width)
    x_BND = x_BND + block.merge_heads(mixed_BND)
    if block.pre_norm:
        change_BND: Tensor = block.feed_forward(block.norm_feed_forward(x_BND))
        return x_BND + change_BND
    x_BND = block.norm_attention(x_BND)
    after_BND: Tensor = block.norm_feed_forward(x_BND + block.feed_forward(x_BND))
    return after_BND


def reference(network: RegularGPT, symbols_BN: Tensor, count: int) -> Tensor:
    """Return logits at every position, the last of the padding first: (B, N+1, K).

    Args:
        network: whose parameters to use.
        symbols_BN: strings of one length.
        count: the number of levels.
    """
    # So much padding that its beginning is out of reach of everything that is answered.
    reach = sum((network.chunk - 1) * network.chunk**level for level in range(count))
    front = reach * len(network.blocks) + 1
    x_BND: Tensor = network.embedding(network.alphabet.prepend(symbols_BN, "pad", front))
    for level in range(count):
        for block in network.blocks:
            assert isinstance(block, Block)
            x_BND = apply_block(block, x_BND, network.chunk**level)
    logits: Tensor = network.readout(network.norm(x_BND[:, front - 1 :]))
    return logits
