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
            matrices = self.matrices(wide(x_BTW))
            if memory:
                (state_BME,) = memory
            else:
                state_BME = wide(self.start).expand(len(x_BTW), *self.start.shape)
            states_BTME = matrix_scan(matrices, None, state_BME, self.chunk)
        mixed_BTS = states_BTME.flatten(2).to(x_BTW.dtype)
        return self.merge(mixed_BTS).tanh(), (states_BTME[:, -1],)

    def matrices(self, x_BTW: Tensor) -> Tensor:
        """Return I + A, (B, T, M, E, E)."""
        blocks, size = self.start.shape
        weight, bias = wide(self.choose.weight), wide(self.choose.bias)
        eye = torch.eye(size, dtype=weight.dtype, device=weight.device)
        if self.rank:
            entries = functional.linear(x_BTW, weight, bias)
            diagonal, left, right = torch.split(
                entries, [size, size * self.rank, size * self.rank], dim=-1
            )
            left_EK = torch.unflatten(left, -1, (size, self.rank))
            right_EK = torch.unflatten(right, -1, (size, self.rank))
            change = diagonal.diag_embed() + left_EK @ right_EK.mT
            matrix = torch.add(eye, change, alpha=STEP).unsqueeze(2)
        else:  # the identity comes with the bias: the matrices are large, and this map makes them
            begin = torch.unflatten(STEP * bias, -1, (blocks, size, size)) + eye
            entries = functional.linear(x_BTW, STEP * weight, begin.flatten())
            matrix = torch.unflatten(entries, -1, (blocks, size, size))
        if not self.bounded:
            return matrix
        sums = matrix.abs()
        rows, columns = sums.sum(-1).amax(-1), sums.sum(-2).amax(-1)
        return matrix * (rows * columns).clamp(min=1.0).rsqrt()[..., None, None]


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
