"""RNN with tapes in superposition.

Source: Delétang et al., "Neural networks and the Chomsky hierarchy" (2023), and their code,
after the Baby-NTM of Suzgun et al. (2019). With x the symbol's embedding, m_0 the
cell under the head, m_i the i-th cell to its right and ℓ the string's length, at every symbol

    h = max(0, W [x ; m_0] + U h + b)          (or tanh, or an LSTM)
    p = softmax(A h + a)                        m_0 = MLP(h), with two hidden layers of ReLUs
    m_i = p_1 m_i + p_2 m_(i+1) + p_3 m_(i-1) + p_4 m_(i+ℓ) + p_5 m_(i-ℓ), all from before.

So it writes, then stays, goes to the right, to the left, or jumps by ℓ to either side. It is told
ℓ, which no other family is: where answers follow blanks, ℓ is the number of symbols before them.
Where an answer may see its own prefix only, there are no jumps.

The tape is a ring of a cell more than there are symbols and blanks: single steps never come round,
so without jumps it is as good as endless, at any length. (The published code has a ring of 30 cells
or as many as one sets, for strings of any length.)

Legend: B batch, N symbols.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from formalbench import Batch, Task, Traits
from formalbench.objectives.transduce import BLANK
from torch import Tensor

from formalbench_models.catalogue.recurrent_networks import TapeRnnConfig
from formalbench_models.layers.soft_memory import (
    MemoryNetwork,
    MemoryStep,
    Pair,
    Superposition,
    sized,
)

LAYERS = 2

STEPS, JUMPS = 3, 2
"""Actions that move the head by a cell at most, and those that move it by ℓ."""


class SoftTapes(Superposition):
    """Tapes, the cell under the head first, then those to its right.

    Where strings differ in their lengths, cells are gathered: the last two tensors besides the
    weights are ℓ of every string, (B,), and the cells of its ring, (B,).

    Attributes:
        gathered: the first of the actions whose moves differ from string to string.
    """

    first = 0
    gathered: ClassVar[int]

    @classmethod
    def sizes(cls, length: int) -> list[int]:
        """Return the cells of the ring at each position."""
        return [length + 1] * (length + 1)

    @classmethod
    def moves(cls, before: int, after: int, length: int) -> Sequence[Sequence[Pair]]:
        """Return where staying and the moves take cells from; none for those that are gathered."""
        shifts = (0, 1, -1, length, -length)
        return [
            _rolled(shift % after, after) if action < cls.gathered else ()
            for action, shift in enumerate(shifts[: cls.actions])
        ]

    @classmethod
    def mix(cls, now: MemoryStep, *more: Tensor) -> None:
        super().mix(now, *more)
        for action, index in cls._indices(now, more):
            now.after.addcmul_(now.shares[action], now.cells.gather(0, index))

    @classmethod
    def mix_back(
        cls, now: MemoryStep, reached: Tensor, *more: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, Tensor]:
        cells, shares = super().mix_back(now, reached, *more)
        plain = [tensor for tensor, _ in more]
        for action, index in cls._indices(now, plain):
            moved = now.cells.gather(0, index).mul_(reached)
            torch.sum(moved, (0, -2), out=shares[..., action, :, :])
        for action, index in cls._indices(now, plain, sign=-1):
            cells += torch.mul(now.shares[action], reached).gather(0, index)
        return cells, shares

    @classmethod
    def _indices(
        cls, now: MemoryStep, more: Sequence[Tensor], sign: int = 1
    ) -> list[tuple[int, Tensor]]:
        """Return, for each action that is gathered, the cell that each cell is moved from."""
        if cls.gathered == cls.actions:
            return []
        length_B, ring_B = more[-2:]
        cells_M = torch.arange(len(now.cells), device=length_B.device)
        cells_MB = cells_M.view(-1, *[1] * length_B.dim())
        one_B = torch.ones_like(length_B)
        indices = []
        for action, shift_B in enumerate((one_B, -one_B, length_B, -length_B), start=1):
            if cls.gathered <= action < cls.actions:
                # Behind its own ring a string has nothing: there cells stay where they are.
                moved_MB = torch.where(
                    cells_MB < ring_B, (cells_MB + sign * shift_B) % ring_B, cells_MB
                )
                index = moved_MB.unsqueeze(-2).unsqueeze(-2)
                indices.append((action, index.expand_as(now.cells)))
        return indices


def _rolled(shift: int, cells: int) -> list[Pair]:
    """Return the moves that take every cell from `shift` cells to the right on a ring."""
    moves = [(slice(0, cells - shift), slice(shift, cells))]
    return [*moves, (slice(cells - shift, cells), slice(0, shift))] if shift else moves


class TapeRnn(MemoryNetwork):
    """The tape-RNN."""

    def __init__(self, task: Task, config: TapeRnnConfig) -> None:
        # An answer may see the whole string if it is the only one, or if the objective says so.
        whole = task.layout == "last" or task.objective.sees_all
        self.jumps = config.jumps and whole
        actions = STEPS + JUMPS * self.jumps
        super().__init__(
            task,
            config.width,
            config.controller,
            reading=config.tapes * config.cell,
            actions=actions * config.tapes,
            initial=config.initial,
            hidden=(config.hidden,) * LAYERS,
            traits=Traits(causal=not self.jumps, mechanisms=("superposition-tape",)),
        )
        self.sizes = (config.tapes, config.cell, config.hidden)
        self.blank = task.alphabet.index(BLANK) if BLANK in task.alphabet else None

    def kind(self, batch: Batch, kept: bool) -> tuple[type[Superposition], tuple[Tensor, ...]]:
        """Return the recurrence and, if strings may differ, their lengths and rings."""
        padded, actions = batch.lengths is not None, STEPS + JUMPS * self.jumps
        differ = self.jumps and (padded or self.blank is not None)
        gathered = actions if not differ else 1 if padded else STEPS
        tapes, cell, hidden = self.sizes
        sizes = {"memories": tapes, "cell": cell, "hidden": (hidden,) * LAYERS, "kept": kept}
        kind = sized(SoftTapes, self.controller, actions=actions, gathered=gathered, **sizes)
        return kind, self.lengths(batch) if differ else ()

    def lengths(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return ℓ of every string, blanks left out, and the cells of its ring, (B,) each."""
        symbols_BN = batch.symbols
        whole_B = symbols_BN.new_full(symbols_BN.shape[:1], symbols_BN.shape[1])
        if batch.lengths is not None:
            whole_B = batch.lengths
        if self.blank is None:
            return whole_B, whole_B + 1
        places_N = torch.arange(symbols_BN.shape[1], device=symbols_BN.device)
        blanks_BN = (symbols_BN == self.blank) & (places_N < whole_B[:, None])
        return whole_B - blanks_BN.sum(1), whole_B + 1


def naive_states(network: TapeRnn, symbols_N: Tensor, jump: int) -> Tensor:
    """Return the controller's state after every symbol of one string, (N, W).

    Args:
        network: whose weights to use.
        symbols_N: the string, with its blanks.
        jump: ℓ, how far a jump goes.
    """
    tapes, size, _ = network.sizes
    ring = len(symbols_N) + 1
    zero_C = network.embedding.weight.new_zeros(size)
    memory = [[zero_C] * ring for _ in range(tapes)]
    shifts = (0, 1, -1, jump, -jump) if network.jumps else (0, 1, -1)
    state = None
    states = []
    for symbol in symbols_N:
        under_heads = [tape[0] for tape in memory]
        state = network.cell(torch.cat((network.embedding(symbol), *under_heads)), state)
        hidden_W = state[0] if isinstance(state, tuple) else state
        states.append(hidden_W)
        output = network.says[0](hidden_W)
        actions = output[: len(shifts) * tapes].view(len(shifts), tapes).softmax(0)
        value = network.says[1](output[len(shifts) * tapes :].relu())
        values = network.says[2](value.relu()).view(tapes, size)
        for k, old in enumerate(memory):
            written = [values[k], *old[1:]]
            memory[k] = [
                sum(
                    (actions[a, k] * written[(i + shift) % ring] for a, shift in enumerate(shifts)),
                    start=zero_C,
                )
                for i in range(ring)
            ]
    return torch.stack(states)
