"""SLiCE.

Source: Walker et al. (2025), Structured linear CDEs, sections 3 and 4:

    h_t = (I + A(x_t)) h_{t-1},      A(x) linear in x and a constant (the time channel),

h_0 learned, with A block-diagonal, dense, or a diagonal plus a matrix of low rank. Nothing is
added: what is to be remembered stands in the products of the matrices, which can be those of any
automaton. The answer is tanh of a linear map of h / rms(h), h by its root mean square.

As the paper's code does by default, A is scaled by a step of 1/40, both factors of a matrix of low
rank too, and its weights begin as N(0, 1/E), E the size of a block; 1 for a diagonal, the rank for
the factors.

Products of such matrices grow, and overflow at some hundred symbols. The paper's code lets a step
change a number by 1e11 at most (tanh), and has a layer norm after the layer, which of a large
state reads the direction. Here the mixer reads nothing else, so that the size of h is free: it is
reset at the end of every chunk.

With ``normed=block`` each block's direction is read by itself, which one that grows then does not
hide.

On a CPU the symbols go one by one, where a step of training is 1.5 to 2 times as fast as in chunks
(speed/README.md); on a GPU they go in chunks.

The paper computes h_0 from the first symbol; here it is learned, and the blocks of layers are
those of `layers/residual.py`, or with ``shell=slice`` those of the paper's code (`SliceBlock`).

Legend: B batch, T symbols, W width, S size of the state, M blocks of it, E size of a block, K rank.
"""

from __future__ import annotations

import torch
from formalbench import Task
from torch import Tensor, nn
from torch.nn import functional

from formalbench_models.catalogue.linear_recurrences import SliceConfig
from formalbench_models.layers.residual import Backbone, Block, Mixer, State
from formalbench_models.layers.scan import matrix_scan, of_size_one
from formalbench_models.layers.tensors import wide

STEP = 1 / 40
"""The time from a symbol to the next."""

LEAST = 1e-15
"""Added to the mean square of h, which is 0 where a product of matrices is, and else far above."""


class SliceMixer(Mixer):
    """A state vector under matrices that the symbols choose."""

    def __init__(self, config: SliceConfig) -> None:
        super().__init__()
        states = config.states
        self.chunk = config.chunk
        self.rank = config.rank if config.transitions == "low-rank" else 0
        self.block = config.block if config.transitions == "block-diagonal" else states
        entries = states * (1 + 2 * self.rank) if self.rank else states * self.block
        self.choose = nn.Linear(config.width, entries)
        spread = torch.ones(entries)
        spread[states if self.rank else 0 :] = (self.rank or self.block) ** -0.5
        with torch.no_grad():
            self.choose.weight.normal_().mul_(spread[:, None])
            self.choose.bias.normal_().mul_(spread)
        self.start = nn.Parameter(torch.randn(states // self.block, self.block))
        self.by_block = config.normed == "block"
        self.merge = nn.Linear(states, config.width) if config.shell == "shared" else None

    def forward(self, x_BTW: Tensor, state: State = None) -> tuple[Tensor, State]:
        """Return the change to x, or the direction of h, (B, T, W), and what to keep."""
        with torch.autocast(x_BTW.device.type, enabled=False):
            if state:
                (state_BME,) = state
            else:
                state_BME = wide(self.start).expand(len(x_BTW), *self.start.shape)
            chunk = 1 if x_BTW.device.type == "cpu" else self.chunk
            matrices = self.matrices(wide(x_BTW))
            states = matrix_scan(matrices, state_BME, chunk, apart=self.by_block)
            last_BME = states[:, -1]
            if not self.by_block:
                states = states.flatten(2)
            read = functional.rms_norm(of_size_one(states, over=[-1]), states.shape[-1:], eps=LEAST)
        change = (read.flatten(-2) if self.by_block else read).to(x_BTW.dtype)
        if self.merge is not None:
            change = torch.tanh(self.merge(change))
        return change, (of_size_one(last_BME, over=(2,) if self.by_block else (1, 2)),)

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
            right_EK = torch.unflatten(right, -1, (size, self.rank))
            matrix = left_EK @ right_EK.mT
            matrix.diagonal(dim1=-2, dim2=-1).add_(1 + diagonal)  # in place: it is large
            return matrix.unsqueeze(2)
        # The identity comes with the bias: the matrices are large, and this map makes them.
        weight, bias = STEP * wide(self.choose.weight), STEP * wide(self.choose.bias)
        eye = torch.eye(size, dtype=weight.dtype, device=weight.device)
        bias = (torch.unflatten(bias, -1, (blocks, size, size)) + eye).flatten()
        return torch.unflatten(functional.linear(x_BTW, weight, bias), -1, (blocks, size, size))


class SliceBlock(nn.Module):
    """A block of the paper's code: y = h + x, then LayerNorm(y + tanh(M y)).

    There h is what it has grown to; here its direction, of root mean square 1.
    """

    def __init__(self, config: SliceConfig, mixer: Mixer) -> None:
        super().__init__()
        self.mixer = mixer
        self.merge = nn.Linear(config.width, config.width)
        self.norm = nn.LayerNorm(config.width)

    def forward(self, x_BNW: Tensor, state: State = None) -> tuple[Tensor, State]:
        if not x_BNW.shape[1]:
            return x_BNW, state
        state_BNW, state = self.mixer(x_BNW, state)
        y_BNW = x_BNW + state_BNW
        return self.norm(y_BNW + torch.tanh(self.merge(y_BNW))), state


def build_slice(task: Task, config: SliceConfig) -> Backbone:
    """Build the network for a task."""
    kind = config.transitions
    diagonal = kind == "block-diagonal" and config.block == 1
    of_blocks = "matrix" if kind in ("dense", "block-diagonal") else kind
    mechanisms = (
        "diagonal-recurrence" if diagonal else f"{of_blocks}-recurrence",
        "input-dependent-gates",
    )
    # Divided by their norm, which the direction of h does not show, they are within it.
    eigenvalues = "[-1, 1]" if diagonal else ""
    block = Block if config.shell == "shared" else SliceBlock
    return Backbone(task, config, lambda _: SliceMixer(config), mechanisms, eigenvalues, block)


def naive_slice(mixer: SliceMixer, x_TW: Tensor) -> Tensor:
    """Return the change to each symbol of a string, (T, W)."""
    blocks, size = mixer.start.shape
    state = list(mixer.start)
    changes = []
    for x in x_TW:
        entries = mixer.choose.weight @ x + mixer.choose.bias
        for index in range(blocks):
            if mixer.rank:
                change = torch.diag(entries[:size])
                many = size * mixer.rank
                for rank in range(mixer.rank):
                    left = entries[size + rank : size + many : mixer.rank]
                    right = entries[size + many + rank :: mixer.rank]
                    change = change + torch.outer(left, right) / 40
            else:
                begin = index * size * size
                change = entries[begin : begin + size * size].reshape(size, size)
            matrix = torch.eye(size, dtype=x.dtype) + change / 40
            state[index] = matrix @ state[index]
        parts = state if mixer.by_block else [torch.cat(state)]
        read = torch.cat([part / part.square().mean().sqrt() for part in parts])
        if mixer.merge is not None:
            read = torch.tanh(mixer.merge.weight @ read + mixer.merge.bias)
        changes.append(read)
    return torch.stack(changes)
