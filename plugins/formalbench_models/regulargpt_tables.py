"""The first levels of RegularGPT by table: each possible chunk is computed once.

RegularGPT has no position codes, so that a position's state after level l depends only
on the C^(l+1) symbols that feed it. Over a small alphabet far fewer such chunks exist
than a batch has positions: the state of every possible chunk is computed once, and
positions carry the number of their chunk. This changes no result and saves most of the
work: over a binary alphabet with padding there are 9 chunks of two and 81 of four.

Legend: B batch, N positions, G groups, V rows of a table, C chunk, D width.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from formalbench_models.regulargpt_block import RegularGptBlock


class Table:
    """Every state that a position can be in at one level.

    Attributes:
        states_VD: the states.
        pad: the row of a position with only padding at and before it.
        chunk: C.
    """

    def __init__(self, states_VD: Tensor, pad: int, chunk: int) -> None:
        self.states_VD = states_VD
        self.pad = pad
        self.chunk = chunk

    def pays(self, positions: int) -> bool:
        """Say whether the next level has far fewer chunks than positions to compute."""
        rows: int = len(self.states_VD) ** self.chunk
        return 2 * rows <= positions

    def grow(self, block: RegularGptBlock) -> Table:
        """Return the next level's table, V^C rows: all chunks of this level's states.

        A row's number has C digits in base V, the leftmost first.
        """
        size, places = len(self.states_VD), range(self.chunk)
        rows = torch.arange(size**self.chunk, device=self.states_VD.device)
        digits_VC = torch.stack([rows // size**j % size for j in reversed(places)], dim=1)
        pad = sum(self.pad * size**j for j in places)
        states_VD = block.keep_last(self.look_up(digits_VC))
        # Every level pads with the same vector.
        states_VD = torch.where((rows == pad)[:, None], self.states_VD[self.pad], states_VD)
        return Table(states_VD, pad, self.chunk)

    def look_up(self, rows: Tensor) -> Tensor:
        """Return the states in these rows: (...) to (..., D)."""
        return functional.embedding(rows, self.states_VD)

    def group(self, rows_BN: Tensor) -> Tensor:
        """Return the next level's rows of groups of C positions from the right: (B, G)."""
        batch, length = rows_BN.shape
        missing = -length % self.chunk
        padded_BN = functional.pad(rows_BN, (missing, 0), value=self.pad)
        return self._number(
            padded_BN.reshape(batch, (length + missing) // self.chunk, self.chunk).unbind(-1)
        )

    def slide(self, rows_BN: Tensor, dilation: int) -> Tensor:
        """Return the next level's rows of the chunks that end at each position: (B, N)."""
        length = rows_BN.shape[1]
        shifts = [min(j * dilation, length) for j in reversed(range(self.chunk))]
        return self._number(
            [functional.pad(rows_BN[:, : length - s], (s, 0), value=self.pad) for s in shifts]
        )

    def _number(self, digits: tuple[Tensor, ...] | list[Tensor]) -> Tensor:
        number = digits[0]
        for digit in digits[1:]:
            number = number * len(self.states_VD) + digit
        return number
