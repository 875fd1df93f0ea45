"""Symbols a model adds to a task's alphabet: CLS, BOS, PAD and the like."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


class ExtendedAlphabet:
    """A task's alphabet with extra symbols after its own.

    Args:
        size: the number of the task's own symbols (ids 0 … size-1).
        *extra: names of the added symbols, which get the next ids in order.

    Example:
        >>> ExtendedAlphabet(2, "cls", "pad")["pad"]
        3
    """

    def __init__(self, size: int, *extra: str) -> None:
        self._ids = {name: size + index for index, name in enumerate(extra)}
        self.size = size + len(extra)

    def __getitem__(self, name: str) -> int:
        """Return the id of an added symbol."""
        return self._ids[name]

    def prepend(self, symbols_BN: Tensor, name: str, count: int = 1) -> Tensor:
        """Return (B, count+N) ids with `count` copies of an added symbol in front."""
        front = symbols_BN.new_full((symbols_BN.shape[0], count), self._ids[name])
        return _concatenate(front, symbols_BN)

    def append(self, symbols_BN: Tensor, name: str, count: int = 1) -> Tensor:
        """Return (B, N+count) ids with `count` copies of an added symbol behind."""
        back = symbols_BN.new_full((symbols_BN.shape[0], count), self._ids[name])
        return _concatenate(symbols_BN, back)


def _concatenate(left: Tensor, right: Tensor) -> Tensor:
    import torch  # here, so that listing plugins does not import it

    return torch.cat((left, right), dim=1)
