"""Products of decays between the symbols of a chunk, and inner products under them.

Every result of a chunk is of the form x_i · (d_{j+1} … d_i ⊙ y_j) for a later symbol i and an
earlier one j. Where all rows decay alike the products are numbers, made once. Where each has its
own decay, the product is split where two blocks of symbols meet, so that every pair of blocks is
one matrix product and no C·C·K numbers are ever held; blocks are joined two by two.

Products are made by multiplying, and not as quotients, since decays may be 0 or negative. Where
they are known not to fall below some number, the smallest blocks are as long as the quotient of
two products can be trusted: x_i d_1 … d_i is multiplied by y_j / (d_1 … d_j).

Legend: C symbols of a chunk, K rows (or 1 if all decay alike), s symbols of a block, M things asked
and O written at a symbol, ... any.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

LEAST_PRODUCT = 1e-18
"""Lower bound of divisors, so that masked values stay within range."""


class Parts(NamedTuple):
    """Queries and writes of a chunk's symbols.

    Attributes:
        asked: x times the decays since the chunk's beginning, (..., MC, K).
        written: y times the decays to the chunk's end or, without scores, divided by those since
            its beginning, (..., OC, K).
        scores: x_i · (d_{j+1} … d_i ⊙ y_j) at (i, j), (..., MC, OC), 0 for i < j; None where that
            is what is asked times what is written.
        keep: the product of a chunk's decays, (..., K, 1); None without decays.
    """

    asked: Tensor
    written: Tensor
    scores: Tensor | None
    keep: Tensor | None


def parts_of(
    decay_CK: Tensor | None, least: float, laters: Sequence[Tensor], earliers: Sequence[Tensor]
) -> Parts:
    """Return queries and writes under decays.

    Args:
        decay_CK: the decays, (..., C, K), or of all rows together, (..., C, 1); None for none.
        least: what none of them is below; 0 if that is not known.
        laters: x, M of (..., C, K). The first comes after its symbol's decay, a second one before
            it; that one's scores are 0 for i = j, too.
        earliers: y, O of (..., C, K), all after their symbol's decay.
    """
    if decay_CK is None:
        return Parts(_concat(laters), _concat(earliers), None, None)
    if decay_CK.shape[-1] == 1:
        return _alike(decay_CK, laters, earliers)
    return _of_rows(decay_CK, least, laters, earliers)


def _alike(decay_C1: Tensor, laters: Sequence[Tensor], earliers: Sequence[Tensor]) -> Parts:
    """Return queries and writes if all rows have the same decay."""
    after_CC = products(decay_C1.squeeze(-1))
    since_C1, until_C1 = after_CC[..., :1] * decay_C1[..., :1, :], after_CC[..., -1:, :].mT
    after, since = [after_CC], [since_C1]
    if len(laters) > 1:
        after.append(functional.pad(after_CC[..., :-1, :], (0, 0, 1, 0)))
        since.append(functional.pad(since_C1[..., :-1, :], (0, 0, 1, 0), value=1.0))
    factors = _concat(after)
    if len(earliers) > 1:
        factors = torch.cat([factors] * len(earliers), -1)
    scores = (_concat(laters) @ _concat(earliers).mT) * factors
    asked = [part * by for part, by in zip(laters, since, strict=True)]
    left = [part * until_C1 for part in earliers]
    return Parts(_concat(asked), _concat(left), scores, since_C1[..., -1:, :])


class _Level(NamedTuple):
    """Products within blocks of one size, (..., C, K).

    Attributes:
        since: from the block's beginning up to and with each decay.
        before: the same without each decay itself.
        until: after each symbol, to the block's end.
    """

    since: Tensor
    before: Tensor
    until: Tensor


def _of_rows(
    decay_CK: Tensor, least: float, laters: Sequence[Tensor], earliers: Sequence[Tensor]
) -> Parts:
    """Return queries and writes if each row has its own decay."""
    chunk, size = decay_CK.shape[-2], 1
    if least**chunk >= LEAST_PRODUCT:
        size = chunk
    else:
        decay_CK = _filled(decay_CK, 1.0)
        while least ** (2 * size) >= LEAST_PRODUCT:
            size *= 2
    levels = _levels(decay_CK, size)
    whole = _Level._make(part[..., :chunk, :] for part in levels[-1])
    asked, keep = _concat(_after(whole, laters)), whole.since[..., -1, :, None]
    if size == chunk:  # one block, and nothing to join
        inverse = whole.since.reciprocal()
        return Parts(asked, _concat([part * inverse for part in earliers]), None, keep)
    left = _concat([part * whole.until for part in earliers])
    return Parts(asked, left, _scores(levels, size, laters, earliers), keep)


def _scores(
    levels: Sequence[_Level], size: int, laters: Sequence[Tensor], earliers: Sequence[Tensor]
) -> Tensor:
    """Return the scores, made of blocks, the smallest of `size` symbols."""
    chunk, counts = laters[0].shape[-2], (len(laters), len(earliers))
    laters = [_filled(part, 0.0) for part in laters]
    earliers = [_filled(part, 0.0) for part in earliers]
    blocks = _unflatten(_smallest(levels[0], size, laters, earliers), *counts)
    for level in levels[:-1]:
        size = blocks.shape[-1]
        until = _pairs(level.until, size, 0)
        since = [_pairs(part, size, 1) for part in level[: len(laters)]]
        late = [_pairs(part, size, 1) * by for part, by in zip(laters, since, strict=True)]
        early = [_pairs(part, size, 0) * until for part in earliers]
        across = _concat(late) @ _concat(early).mT
        blocks = _joined(blocks, _unflatten(across, *counts))
    scores = blocks[..., 0, :chunk, :chunk]  # (..., M, O, C, C)
    return scores.transpose(-3, -2).flatten(-2).flatten(-3, -2)


def _smallest(
    level: _Level, size: int, laters: Sequence[Tensor], earliers: Sequence[Tensor]
) -> Tensor:
    """Return the scores inside the smallest blocks, (..., blocks, Ms, Os)."""
    late = [torch.unflatten(part, -2, (-1, size)) for part in _after(level, laters)]
    early = [torch.unflatten(part, -2, (-1, size)) for part in earliers]
    if size > 1:
        inverse = torch.unflatten(level.since.reciprocal(), -2, (-1, size))
        early = [part * inverse for part in early]
    else:
        late[0] = torch.unflatten(laters[0], -2, (-1, 1))
    written = _concat(early)
    return (_concat(late) @ written.mT) * sight(written, len(laters), len(earliers))


def _concat(parts: Sequence[Tensor]) -> Tensor:
    """Return (..., MC, K) of M parts, (..., C, K); of one no copy is made."""
    return parts[0] if len(parts) == 1 else torch.cat(tuple(parts), -2)


def sight(written: Tensor, many: int, kinds: int) -> Tensor:
    """Return the mask: 1 where the asking symbol sees the writing one, (MC, OC).

    Args:
        written: (..., OC, K), of which the result has the device and type.
        many: M; the second of them sees earlier symbols only.
        kinds: O.
    """
    place = torch.arange(written.shape[-2] // kinds, device=written.device)
    before = place[:, None] - place
    rows = torch.cat([before >= later for later in range(many)])
    return rows.repeat(1, kinds).to(written.dtype)


def products(decay_C: Tensor) -> Tensor:
    """Return the products of decays after j up to and with i, (..., C, C); 0 for i < j."""
    result: Tensor = _Products.apply(decay_C)  # type: ignore[no-untyped-call]
    return result


class _Products(torch.autograd.Function):
    """`products`, whose gradient is one product of matrices, without the library's divisions."""

    generate_vmap_rule = True

    @staticmethod
    def forward(decay_C: Tensor) -> Tensor:
        chunk = decay_C.shape[-1]
        later = torch.ones(chunk, chunk, dtype=torch.bool, device=decay_C.device).tril(-1)
        return torch.where(later, decay_C[..., None], 1.0).cumprod(-2).tril()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(output)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient_CC: Tensor) -> Tensor:
        (products_CC,) = ctx.saved_tensors
        # For b < i <= a the product at (a, b) is that at (a, i), d_i and that at (i - 1, b).
        before_CC = gradient_CC @ products_CC.mT
        each = products_CC[..., 1:] * before_CC[..., :-1]
        return functional.pad(each.sum(-2), (1, 0))


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


def _unflatten(scores: Tensor, many: int, kinds: int) -> Tensor:
    """Return (..., M, O, blocks, s, s) of (..., blocks, Ms, Os)."""
    blocks = torch.unflatten(torch.unflatten(scores, -1, (kinds, -1)), -3, (many, -1))
    return blocks.movedim((-4, -2), (-5, -4))


def _joined(blocks: Tensor, across: Tensor) -> Tensor:
    """Join pairs of lower triangular blocks by what leads across, from the first to the second."""
    early, late = blocks[..., 0::2, :, :], blocks[..., 1::2, :, :]
    top = functional.pad(early.expand(across.shape), (0, across.shape[-1]))
    return torch.cat((top, torch.cat((across, late.expand(across.shape)), -1)), -2)


def _filled(part_CK: Tensor, value: float) -> Tensor:
    """Fill the symbols up to a power of two."""
    missing = (1 << (part_CK.shape[-2] - 1).bit_length()) - part_CK.shape[-2]
    return functional.pad(part_CK, (0, 0, 0, missing), value=value) if missing else part_CK
