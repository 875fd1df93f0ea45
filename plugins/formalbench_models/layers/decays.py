"""Products of decays between the symbols of a chunk, and inner products under them.

Whatever is asked of a chunk is x_i · (d_{j+1} … d_i ⊙ y_j) for a later symbol i and an earlier one
j. Products are made by multiplying alone, with blocks that are joined two by two: a path from one
to the next is the rest of the first, then the second from its beginning. Where all rows decay
alike the products are numbers, made once; where each has its own decay, they are split where two
blocks meet, so that every pair of blocks is one matrix product and no C·C·K numbers are ever held.

Legend: C symbols of a chunk, K rows (or 1 if all decay alike), s symbols of a block, ... any.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional


class _Level(NamedTuple):
    """Of blocks of one size, (..., C, K).

    Attributes:
        since: the product from the beginning of the symbol's block up to and with its own decay.
        before: without its own.
        until: the product after the symbol, to the end of its block.
    """

    since: Tensor
    before: Tensor
    until: Tensor


class Decays:
    """The decays of chunks, (..., C, K).

    Attributes:
        since: the product from the chunk's beginning up to and with each decay, (..., C, K).
        until: the product after each symbol, to the chunk's end, (..., C, K).
    """

    def __init__(self, decay_CK: Tensor) -> None:
        self.chunk, rows = decay_CK.shape[-2:]
        self._after = products(decay_CK.squeeze(-1)) if rows == 1 else None
        if self._after is not None:
            self.since = self._after[..., :1] * decay_CK[..., :1, :]
            self.until = self._after[..., -1:, :].mT
            return
        self._levels = _levels(_filled(decay_CK, 1.0))
        whole = self._levels.pop()
        self.since, self.until = (part[..., : self.chunk, :] for part in (whole.since, whole.until))

    def scores(self, later_CK: Tensor, earlier_CK: Tensor, *, before: bool = False) -> Tensor:
        """Return x_i · (d_{j+1} … d_i ⊙ y_j) at (i, j), (..., C, C), 0 for i < j.

        Args:
            later_CK: x.
            earlier_CK: y.
            before: whether x_i comes before its symbol's decay; then 0 for i = j, too.
        """
        if self._after is not None:
            after = self._after
            if before:
                after = functional.pad(after[..., :-1, :], (0, 0, 1, 0))
            return (later_CK @ earlier_CK.mT) * after
        later_CK, earlier_CK = _filled(later_CK, 0.0), _filled(earlier_CK, 0.0)
        own = (later_CK * earlier_CK).sum(-1)
        blocks = (torch.zeros_like(own) if before else own)[..., None, None]
        for level in self._levels:
            size = blocks.shape[-1]
            late = _blocks(later_CK * (level.before if before else level.since), size)[1]
            early = _blocks(earlier_CK * level.until, size)[0]
            blocks = _joined(blocks, late @ early.mT)
        return blocks[..., 0, : self.chunk, : self.chunk]


def products(decay_C: Tensor) -> Tensor:
    """Return the products of decays after j up to and with i, (..., C, C); 0 for i < j."""
    chunk = decay_C.shape[-1]
    decay_C = _filled(decay_C.unsqueeze(-1), 1.0).squeeze(-1)
    blocks = torch.ones_like(decay_C)[..., None, None]  # (..., blocks, s, s)
    while blocks.shape[-3] > 1:
        early, late = blocks[..., 0::2, :, :], blocks[..., 1::2, :, :]
        entry = torch.unflatten(decay_C, -1, (-1, early.shape[-1]))[..., 1::2, :1, None]
        blocks = _joined(blocks, (late[..., :, :1] * entry) * early[..., -1:, :])
    return blocks[..., 0, :chunk, :chunk]


def _levels(decay_CK: Tensor) -> list[_Level]:
    """Return the products within blocks of 1, 2, 4, … C symbols."""
    since, before = decay_CK, torch.ones_like(decay_CK)
    until, size = before, 1
    levels = [_Level(since, before, until)]
    while size < decay_CK.shape[-2]:
        totals = torch.unflatten(since, -2, (-1, size))[..., -1:, :]  # (..., blocks, 1, K)
        ones = torch.ones_like(totals[..., 0::2, :, :])
        of_early = torch.stack((ones, totals[..., 0::2, :, :]), dim=-3)
        of_late = torch.stack((totals[..., 1::2, :, :], ones), dim=-3)
        since, before = (_times(part, of_early, size) for part in (since, before))
        until = _times(until, of_late, size)
        size *= 2
        levels.append(_Level(since, before, until))
    return levels


def _times(part_CK: Tensor, factors: Tensor, size: int) -> Tensor:
    """Multiply every block by its factor; factors are (..., pairs, 2, 1, K)."""
    return (torch.unflatten(part_CK, -2, (-1, 2, size)) * factors).flatten(-4, -2)


def _blocks(part_CK: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Return the earlier and the later blocks of all pairs, (..., pairs, s, K) each."""
    pairs = torch.unflatten(part_CK, -2, (-1, 2, size))
    return pairs[..., 0, :, :], pairs[..., 1, :, :]


def _joined(blocks: Tensor, across: Tensor) -> Tensor:
    """Join pairs of lower triangular blocks by what leads across, from the first to the second."""
    early, late = blocks[..., 0::2, :, :], blocks[..., 1::2, :, :]
    top = functional.pad(early.expand(across.shape), (0, across.shape[-1]))
    return torch.cat((top, torch.cat((across, late.expand(across.shape)), -1)), -2)


def _filled(part_CK: Tensor, value: float) -> Tensor:
    """Fill the symbols up to a power of two."""
    chunk = part_CK.shape[-2]
    return functional.pad(part_CK, (0, 0, 0, (1 << (chunk - 1).bit_length()) - chunk), value=value)
