"""RegularGPT straight from the paper: full T×T masks on an explicitly padded string.

Slow and obvious, with the parameters of a `RegularGPT`: tests compare its two fast forms
with it. Source: Chi et al. (2023), eq. 1 and §3.2.

Legend: B batch, N positions, D width, H heads, E width of a head, C chunk, K outputs.
"""

from __future__ import annotations

import math
from itertools import count

import torch
from torch import Tensor

from formalbench_models.families.regulargpt import RegularGPT, RegularGptBlock


def mask(block: RegularGptBlock, length: int, dilation: int) -> Tensor:
    """Return M of eq. 1, (H, N, N): r_j at distance j·dilation, j < C, else -inf."""
    mask_HNN = block.relative_CH.new_full((block.heads, length, length), -math.inf)
    place = torch.arange(length, device=mask_HNN.device)
    distance_NN = place[:, None] - place
    for j in range(block.chunk):
        mask_HNN[:, distance_NN == j * dilation] = block.relative_CH[j][:, None]
    return mask_HNN


def apply_block(block: RegularGptBlock, x_BND: Tensor, dilation: int) -> Tensor:
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


def reference(network: RegularGPT, symbols_BN: Tensor) -> Tensor:
    """Return the logits for every prefix, the empty one first: (B, N+1, K); a text has no such.

    Each prefix is given to the network on its own, and has the levels of its own length or, if the
    network says so, those of the whole string.
    """
    length = symbols_BN.shape[1]
    every = [
        answer(network, symbols_BN[:, :end], length if network.as_string else end)
        for end in range(int(network.of_text), length + 1)
    ]
    return torch.stack(every, dim=1)


def answer(network: RegularGPT, symbols_BN: Tensor, length: int | None = None) -> Tensor:
    """Return the logits for whole strings of one length, (B, K).

    Args:
        network: lends its parameters.
        symbols_BN: the strings.
        length: that decides how many levels there are; None for their own.
    """
    length = symbols_BN.shape[1] if length is None else length
    levels = next(level for level in count(1) if network.chunk**level >= length)
    vectors_VD, pad_D = network.vectors()
    # So much padding that its beginning is out of reach of what is answered; a text has none.
    reach = sum((network.chunk - 1) * network.chunk**level for level in range(levels))
    front = 0 if network.of_text else reach * len(network.blocks) + 1
    symbols_BN = network.alphabet.prepend(symbols_BN, "pad", front)
    x_BND = vectors_VD[symbols_BN]
    is_pad_N = torch.arange(symbols_BN.shape[1]) < front
    for level in range(levels):
        x_BND = torch.where(is_pad_N[:, None], pad_D, x_BND)
        for block in network.blocks:
            assert isinstance(block, RegularGptBlock)
            x_BND = apply_block(block, x_BND, network.chunk**level)
    return network.answer(network.norm(x_BND[:, -1]))
