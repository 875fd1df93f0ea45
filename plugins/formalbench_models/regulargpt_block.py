"""One RegularGPT block: attention over a chunk of C keys, then a feed-forward network.

Source: Chi et al., "Transformer Working Memory Enables Regular Language Reasoning and
Natural Language Length Extrapolation" (2023), §3.1 and eq. 1.

Legend: ... any leading dimensions, B batch, N positions, C keys per query (the chunk),
D width, H heads, E width of a head. Keys are in reading order: the query's own position
is the last of its C keys.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from formalbench_models.configs.regulargpt import RegularGptConfig
from formalbench_models.feed_forward import PositionWise
from formalbench_models.regulargpt_bands import LEAST, attend_in_bands

Trace = dict[str, Tensor]
"""Named tensors collected on the way, when somebody looks inside."""


class RegularGptBlock(nn.Module):
    """A Transformer block whose queries see C keys each.

    The scores of a head are its scaled dot products plus its scalars r_0 … r_{C-1},
    one per distance in steps of the level's dilation (eq. 1).
    """

    def __init__(self, config: RegularGptConfig) -> None:
        super().__init__()
        width = config.width
        self.heads = config.heads
        self.chunk = config.chunk
        self.pre_norm = config.norm == "pre"
        self.norm_attention = nn.LayerNorm(width)
        self.norm_feed_forward = nn.LayerNorm(width)
        self.query = nn.Linear(width, width, bias=config.bias)
        self.key_value = nn.Linear(width, 2 * width, bias=config.bias)
        self.merge_heads = nn.Linear(width, width, bias=config.bias)
        self.feed_forward = PositionWise(
            width, config.feed_forward, config.activation, hidden=config.hidden
        )
        self.relative_CH = nn.Parameter(torch.zeros(config.chunk, config.heads))

    def keep_last(self, x_CD: Tensor, trace: Trace | None = None, name: str = "") -> Tensor:
        """Update only the last position of each group of C: (..., C, D) to (..., D)."""
        normed_CD = self.norm_attention(x_CD) if self.pre_norm else x_CD
        query_D = self.query(normed_CD[..., -1, :])
        key_CD, value_CD = self.key_value(normed_CD).chunk(2, dim=-1)
        attended_D, weights_CH = self.attend(query_D, key_CD, value_CD)
        if trace is not None:
            trace[f"{name}.attention"] = weights_CH
        return self.finish(x_CD[..., -1, :], attended_D, trace, name)

    def keep_all(
        self,
        x_BND: Tensor,
        pad_D: Tensor | None,
        dilation: int,
        trace: Trace | None = None,
        name: str = "",
    ) -> Tensor:
        """Update every position m from the positions m - j·dilation, j < C: (B, N, D).

        Positions before the first are all in the state `pad_D`; if it is None, they are masked.
        """
        normed_BND = self.norm_attention(x_BND) if self.pre_norm else x_BND
        key_BND, value_BND = self.key_value(normed_BND).chunk(2, dim=-1)
        query_BND = self.query(normed_BND)
        pads = None if pad_D is None else self._pad_key_value(pad_D).chunk(2, dim=-1)
        if self.chunk >= LEAST and trace is None:
            both = (key_BND, value_BND)
            attended_BND = attend_in_bands(query_BND, both, pads, self.relative_CH, dilation)
            return self.finish(x_BND, attended_BND)
        nothing_D = key_BND.new_zeros(key_BND.shape[-1])
        pad_key_D, pad_value_D = pads or (nothing_D, nothing_D)
        key_BNCD = windows(key_BND, pad_key_D, self.chunk, dilation)
        value_BNCD = windows(value_BND, pad_value_D, self.chunk, dilation)
        there_NC = None
        if pads is None:
            place_N = torch.arange(x_BND.shape[1], device=x_BND.device)
            back_C = torch.arange(self.chunk - 1, -1, -1, device=x_BND.device) * dilation
            there_NC = place_N[:, None] >= back_C
        attended_BND, weights_BNCH = self.attend(query_BND, key_BNCD, value_BNCD, there_NC)
        if trace is not None:
            trace[f"{name}.attention"] = weights_BNCH
        return self.finish(x_BND, attended_BND, trace, name)

    def update_pad(self, pad_D: Tensor) -> Tensor:
        """Return the next state of a position that has only padding at and before it.

        All its C keys and values are equal, so that what it attends to is its value,
        whatever the weights.
        """
        _, value_D = self._pad_key_value(pad_D).chunk(2, dim=-1)
        return self.finish(pad_D, value_D)

    def attend(
        self, query_D: Tensor, key_CD: Tensor, value_CD: Tensor, there_C: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Attend from (..., D) to (..., C, D): the mixture (..., D), the weights (..., C, H).

        Keys that `there_C` (..., C) says are not there are masked.

        Products of a vector with C vectors are too small for matrix kernels: they are
        written elementwise.
        """
        split = (self.heads, query_D.shape[-1] // self.heads)
        products_CHE = (query_D.unsqueeze(-2) * key_CD).reshape(*key_CD.shape[:-1], *split)
        scores_CH = products_CHE.sum(-1) / math.sqrt(split[1]) + self.relative_CH.flip(0)
        if there_C is not None:
            scores_CH = scores_CH.where(there_C.unsqueeze(-1), -math.inf)
        weights_CH = scores_CH.softmax(dim=-2)
        value_CHE = value_CD.reshape(*value_CD.shape[:-1], *split)
        mixed_HE = (weights_CH.unsqueeze(-1) * value_CHE).sum(-3)
        return mixed_HE.flatten(-2), weights_CH

    def finish(
        self, x_D: Tensor, attended_D: Tensor, trace: Trace | None = None, name: str = ""
    ) -> Tensor:
        """Do the rest of the block at the positions that are kept: (..., D)."""
        x_D = x_D + self.merge_heads(attended_D)
        if not self.pre_norm:
            x_D = self.norm_attention(x_D)
        normed_D = self.norm_feed_forward(x_D) if self.pre_norm else x_D
        change_D: Tensor = self.feed_forward(normed_D)
        x_D = x_D + change_D
        if not self.pre_norm:
            x_D = self.norm_feed_forward(x_D)
        if trace is not None:
            trace |= {f"{name}.feed_forward": change_D, f"{name}.state": x_D}
        return x_D

    def _pad_key_value(self, pad_D: Tensor) -> Tensor:
        normed_D = self.norm_attention(pad_D) if self.pre_norm else pad_D
        key_value: Tensor = self.key_value(normed_D)
        return key_value


def windows(x_BND: Tensor, pad_D: Tensor, chunk: int, dilation: int) -> Tensor:
    """Return x at m - j·dilation for every position m, j = C-1 … 0: (B, N, C, D)."""
    batch, length, width = x_BND.shape
    shifted = []
    for j in reversed(range(chunk)):
        missing = min(j * dilation, length)
        front = pad_D.expand(batch, missing, width)
        shifted.append(torch.cat((front, x_BND[:, : length - missing]), dim=1))
    return torch.stack(shifted, dim=2)
