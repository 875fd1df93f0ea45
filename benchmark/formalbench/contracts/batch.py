"""A batch: what a network's `forward` is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor


class Batch(NamedTuple):
    """Strings of one length, or padded ones with their lengths.

    A named tuple, so that `torch.func.vmap` and `torch.utils._pytree` see its tensors.

    Attributes:
        symbols: (B, N) int64, ids 0 … S-1. Positions at or past a string's own
            length hold 0 and must not change its outputs.
        lengths: (B,) int64 if the strings were padded on the right, else None. Only
            networks whose traits say ``padding`` are given padded strings.
        decoded: (B, M) int64, the answers that have been said so far; only for networks
            whose traits say ``encoder_decoder``, under the layout ``decoded``.
        asked: (B, N) bool, which answers count, where few do and the layout is ``each``. A
            network may leave it aside, or give zeros for the others (`formalbench.read_asked`):
            with many tokens to choose from, reading an answer costs as much as the layers below.
            Given in training alone, and never under `vmap`: a test that told which tokens are
            asked for would tell which of those that look untouched are.
    """

    symbols: Tensor
    lengths: Tensor | None = None
    decoded: Tensor | None = None
    asked: Tensor | None = None
