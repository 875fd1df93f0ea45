"""Products of decays between the symbols of a chunk, and inner products under them.

Whatever is asked of a chunk is x_i · (d_{j+1} … d_i ⊙ y_j) for a later symbol i and an earlier one
j. Where all rows decay alike the products are numbers, made once. Where each has its own decay,
the product is split where two blocks of symbols meet, so that every pair of blocks is one matrix
product and no C·C·K numbers are ever held; blocks are joined two by two.

Products are made by multiplying, and not as quotients, since decays may be 0 or negative. Where
they are known not to fall below some number, the smallest blocks are as long as the quotient of
two products can be trusted: x_i d_1 … d_i is multiplied by y_j / (d_1 … d_j).

Legend: C symbols of a chunk, K rows (or 1 if all decay alike), s symbols of a block, M things asked
or written at a symbol, ... any.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

LEAST_PRODUCT = 1e-18
"""No smaller one is divided by: what is masked, since it is no answer, stays within range, too."""


class Decays:
    """The decays of chunks.

    Attributes:
        since: the product from the chunk's beginning up to and with each decay, (..., C, K).
        before: the same without each decay itself.
        until: the product after each symbol, to the chunk's end.
    """

    since: Tensor
    before: Tensor
    until: Tensor

    def scores(self, laters: Sequence[Tensor], earliers: Sequence[Tensor]) -> Tensor:
        """Return x_i · (d_{j+1} … d_i ⊙ y_j) at (i, j), (..., MC, MC); 0 for i < j.

        Args:
            laters: x, (..., C, K). The first comes after its symbol's decay, a second one before
                it; that one's scores are 0 for i = j, too.
            earliers: y, likewise; all come after their symbol's decay.
        """
        raise NotImplementedError


def decays_of(decay_CK: Tensor, least: float) -> Decays:
    """Return the decays of chunks.

    Args:
        decay_CK: the decays, (..., C, K).
        least: what none of them is below; 0 if that is not known.
    """
    return _Alike(decay_CK) if decay_CK.shape[-1] == 1 else _Rows(decay_CK, least)


class _Alike(Decays):
    """Decays of all rows together, (..., C, 1)."""

    def __init__(self, decay_C1: Tensor) -> None:
        self._after = products(decay_C1.squeeze(-1))
        self.since = self._after[..., :1] * decay_C1[..., :1, :]
        self.before = functional.pad(self.since[..., :-1, :], (0, 0, 1, 0), value=1.0)
        self.until = self._after[..., -1:, :].mT

    def scores(self, laters: Sequence[Tensor], earliers: Sequence[Tensor]) -> Tensor:
        after = self._after
        if len(laters) > 1:
            after = torch.cat((after, functional.pad(after[..., :-1, :], (0, 0, 1, 0))), -2)
            after = torch.cat((after, after), -1)
        return (torch.cat(tuple(laters), -2) @ torch.cat(tuple(earliers), -2).mT) * after


class _Level(NamedTuple):
    """Of blocks of one size, (..., C, K): as in `Decays`, with blocks in the place of chunks."""

    since: Tensor
    before: Tensor
    until: Tensor


class _Rows(Decays):
    """Decays of every row, (..., C, K)."""

    def __init__(self, decay_CK: Tensor, least: float) -> None:
        self.chunk = decay_CK.shape[-2]
        decay_CK = _filled(decay_CK, 1.0)
        size = 1
        while size < decay_CK.shape[-2] and least ** (2 * size) >= LEAST_PRODUCT:
            size *= 2
        self.size = size
        self._levels = _levels(decay_CK, size)
        self.since, self.before, self.until = (
            part[..., : self.chunk, :] for part in self._levels[-1]
        )

    def scores(self, laters: Sequence[Tensor], earliers: Sequence[Tensor]) -> Tensor:
        many = len(laters)
        laters = [_filled(part, 0.0) for part in laters]
        earliers = [_filled(part, 0.0) for part in earliers]
        blocks = self._smallest(laters, earliers)
        for level in self._levels[:-1]:
            size = blocks.shape[-1]
            late = [_pairs(part, size, 1) for part in _after(level, laters)]
            early = [_pairs(part * level.until, size, 0) for part in earliers]
            blocks = _joined(blocks, _apart(torch.cat(late, -2) @ torch.cat(early, -2).mT, many))
        scores = blocks[..., 0, : self.chunk, : self.chunk]
        if many == 1:
            return scores[..., 0, 0, :, :]
        return scores.transpose(-3, -2).flatten(-2).flatten(-3, -2)

    def _smallest(self, laters: Sequence[Tensor], earliers: Sequence[Tensor]) -> Tensor:
        """Return the scores inside the smallest blocks, (..., M, M, blocks, s, s)."""
        level, size, many = self._levels[0], self.size, len(laters)
        late = [torch.unflatten(part, -2, (-1, size)) for part in _after(level, laters)]
        early = [torch.unflatten(part, -2, (-1, size)) for part in earliers]
        if size > 1:
            inverse = torch.unflatten(level.since.reciprocal(), -2, (-1, size))
            early = [part * inverse for part in early]
        else:
            late[0] = torch.unflatten(laters[0], -2, (-1, 1))
        found = _apart(torch.cat(late, -2) @ torch.cat(early, -2).mT, many)
        ones = torch.ones(size, size, dtype=torch.bool, device=found.device)
        seen = torch.stack([ones.tril(-place) for place in range(many)])
        return torch.where(seen[:, None, None], found, 0.0)


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


def _levels(decay_CK: Tensor, size: int) -> list[_Level]:
    """Return the products within blocks of s, 2s, … C symbols; s is `size`."""
    levels = [_smallest_level(decay_CK, size)]
    while size < decay_CK.shape[-2]:
        since, before, until = levels[-1]
        totals = torch.unflatten(since, -2, (-1, size))[..., -1:, :]  # (..., blocks, 1, K)
        ones = torch.ones_like(totals[..., 0::2, :, :])
        of_early = torch.stack((ones, totals[..., 0::2, :, :]), dim=-3)
        of_late = torch.stack((totals[..., 1::2, :, :], ones), dim=-3)
        since, before = (_times(part, of_early, size) for part in (since, before))
        levels.append(_Level(since, before, _times(until, of_late, size)))
        size *= 2
    return levels


def _smallest_level(decay_CK: Tensor, size: int) -> _Level:
    """Return the products within blocks of s symbols; if s > 1, decays are far from 0."""
    if size == 1:
        ones = torch.ones_like(decay_CK)
        return _Level(decay_CK, ones, ones)
    logs = torch.unflatten(decay_CK.log(), -2, (-1, size))
    sums = logs.new_ones(size, size).tril() @ logs
    parts = (sums, sums - logs, sums[..., -1:, :] - sums)
    return _Level._make(part.exp().flatten(-3, -2) for part in parts)


def _times(part_CK: Tensor, factors: Tensor, size: int) -> Tensor:
    """Multiply every block by its factor; factors are (..., pairs, 2, 1, K)."""
    return (torch.unflatten(part_CK, -2, (-1, 2, size)) * factors).flatten(-4, -2)


def _after(level: _Level, laters: Sequence[Tensor]) -> list[Tensor]:
    """Return what comes later, times what decayed since its block began."""
    return [part * factor for part, factor in zip(laters, level, strict=False)]


def _pairs(part_CK: Tensor, size: int, which: int) -> Tensor:
    """Return the earlier (0) or the later (1) blocks of all pairs, (..., pairs, s, K)."""
    return torch.unflatten(part_CK, -2, (-1, 2, size))[..., which, :, :]


def _apart(scores: Tensor, many: int) -> Tensor:
    """Return (..., M, M, blocks, s, s) of (..., blocks, Ms, Ms)."""
    apart = torch.unflatten(torch.unflatten(scores, -1, (many, -1)), -3, (many, -1))
    return apart.movedim((-4, -2), (-5, -4))


def _joined(blocks: Tensor, across: Tensor) -> Tensor:
    """Join pairs of lower triangular blocks by what leads across, from the first to the second."""
    early, late = blocks[..., 0::2, :, :], blocks[..., 1::2, :, :]
    top = functional.pad(early.expand(across.shape), (0, across.shape[-1]))
    return torch.cat((top, torch.cat((across, late.expand(across.shape)), -1)), -2)


def _filled(part_CK: Tensor, value: float) -> Tensor:
    """Fill the symbols up to a power of two."""
    missing = (1 << (part_CK.shape[-2] - 1).bit_length()) - part_CK.shape[-2]
    return functional.pad(part_CK, (0, 0, 0, missing), value=value) if missing else part_CK
