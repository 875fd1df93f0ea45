"""SLiCE: a state vector that every symbol multiplies by a matrix of its own.

Source: Walker et al. (2025), Structured linear CDEs, sections 3 and 4:

    h_t = (I + A(x_t)) h_{t-1},      A(x) linear in x and a constant (the time channel),

h_0 learned, with A block-diagonal, dense, or a diagonal plus a matrix of low rank. Nothing is
added: what is to be remembered stands in the products of the matrices, which can be those of any
automaton. The answer is tanh of a linear map of h.

The paper scales A by a step of 1/40, and so do we (the initial weights). It does not bound
I + A: at a thousand symbols its products overflow. ``bounded`` divides each block M by
max(1, √(‖M‖₁ ‖M‖∞)), which is at least its spectral norm; the identity and permutations stay
as they are.

The paper computes h_0 from the first symbol, and ends a layer with a layer norm and dropout; here
the blocks of layers are those of `layers/residual.py`. Legend: B batch, T symbols, W width, S
size of the state, M blocks of it, E size of a block, K rank.
"""

from __future__ import annotations

import torch
from formalbench import Task
from torch import Tensor, nn
from torch.nn import functional

from formalbench_models.families.slice.config import SliceConfig
from formalbench_models.layers.matrix_memory import wide
from formalbench_models.layers.residual import Backbone, Memory, Mixer
from formalbench_models.layers.scan import matrix_scan
from formalbench_models.layers.small_blocks import LARGEST, block_scan, by_place, by_string

STEP = 1 / 40
"""The time from a symbol to the next."""


class SliceMixer(Mixer):
    """A state vector under matrices that the symbols choose."""

    def __init__(self, config: SliceConfig) -> None:
        super().__init__()
        states = config.states
        self.chunk, self.bounded = config.chunk, config.bounded
        self.rank = config.rank if config.transitions == "low-rank" else 0
        self.block = config.block if config.transitions == "block-diagonal" else states
        entries = states * (1 + 2 * self.rank) if self.rank else states * self.block
        self.choose = nn.Linear(config.width, entries)
        self.start = nn.Parameter(torch.randn(states // self.block, self.block))
        self.merge = nn.Linear(states, config.width)

    def forward(self, x_BTW: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        """Return the change to x, (B, T, W), and what to keep."""
        with torch.autocast(x_BTW.device.type, enabled=False):
            if memory:
                (state_BME,) = memory
            else:
                state_BME = wide(self.start).expand(len(x_BTW), *self.start.shape)
            chunk = min(self.chunk, x_BTW.shape[1])
            small = chunk > 1 and self.block <= LARGEST and not self.rank
            states, last_BME = (self._small_blocks if small else self._blocks)(
                wide(x_BTW), state_BME, chunk
            )
        change = torch.tanh(self.merge(states.to(x_BTW.dtype)))
        batch, length, _ = x_BTW.shape
        return by_string(change, batch, length, chunk) if small else change, (last_BME,)

    def _blocks(self, x_BTW: Tensor, state_BME: Tensor, chunk: int) -> tuple[Tensor, Tensor]:
        """Return the states, (B, T, S), and the last ones."""
        states_BTME = matrix_scan(self.matrices(x_BTW), None, state_BME, chunk)
        return states_BTME.flatten(2), states_BTME[:, -1]

    def _small_blocks(self, x_BTW: Tensor, state_BME: Tensor, chunk: int) -> tuple[Tensor, Tensor]:
        """Return the states sorted as `by_place` does, (C·N·B, S), and the last ones."""
        batch, length, _ = x_BTW.shape
        weight, begin = self._entries()
        shape = (*self.start.shape, self.block, -(-length // chunk), batch)
        # A place at a time: the matrices of one are few enough to stay in a core's cache.
        matrices = [
            self._within(torch.addmm(begin[:, None], weight, x_PW.mT).view(shape), rows=1)
            for x_PW in by_place(x_BTW, chunk).unbind()
        ]
        states_MECNB = block_scan(matrices, state_BME.permute(1, 2, 0))
        last_MEB = states_MECNB[:, :, (length - 1) % chunk, (length - 1) // chunk]
        return states_MECNB.flatten(0, 1).flatten(1).mT, last_MEB.permute(2, 0, 1)

    def _entries(self) -> tuple[Tensor, Tensor]:
        """Return the map from x to the entries of all blocks of I + A.

        The identity comes with the bias: the matrices are large, and this map makes them.
        """
        blocks, size = self.start.shape
        weight, bias = STEP * wide(self.choose.weight), STEP * wide(self.choose.bias)
        eye = torch.eye(size, dtype=weight.dtype, device=weight.device)
        return weight, (torch.unflatten(bias, -1, (blocks, size, size)) + eye).flatten()

    def matrices(self, x_BTW: Tensor) -> Tensor:
        """Return I + A, (B, T, M, E, E)."""
        blocks, size = self.start.shape
        if self.rank:
            weight, bias = wide(self.choose.weight), wide(self.choose.bias)
            entries = STEP * functional.linear(x_BTW, weight, bias)
            diagonal, left, right = torch.split(
                entries, [size, size * self.rank, size * self.rank], dim=-1
            )
            left_EK = torch.unflatten(left, -1, (size, self.rank))
            right_EK = torch.unflatten(right / STEP, -1, (size, self.rank))
            matrix = left_EK @ right_EK.mT
            matrix.diagonal(dim1=-2, dim2=-1).add_(1 + diagonal)  # in place: it is large
            matrix = matrix.unsqueeze(2)
        else:
            matrix = torch.unflatten(
                functional.linear(x_BTW, *self._entries()), -1, (blocks, size, size)
            )
        return self._within(matrix, rows=3)

    def _within(self, matrix: Tensor, rows: int) -> Tensor:
        """Return the matrices bounded, if they are to be; their columns come after their rows."""
        if not self.bounded:
            return matrix
        sums = matrix.abs()
        most = sums.sum(rows + 1).amax(rows) * sums.sum(rows).amax(rows)
        return matrix * most.clamp(min=1.0).rsqrt().unsqueeze(rows).unsqueeze(rows)


def build(task: Task, config: SliceConfig) -> Backbone:
    """Build the network for a task."""
    kind = "dense" if config.transitions == "low-rank" else config.transitions
    diagonal = kind == "block-diagonal" and config.block == 1
    mechanisms = (
        "diagonal-recurrence" if diagonal else f"{kind}-recurrence",
        "input-dependent-gates",
    )
    eigenvalues = "[-1, 1]" if diagonal and config.bounded else ""
    return Backbone(task, config, lambda _: SliceMixer(config), mechanisms, eigenvalues)
