"""The recurrent network with a nondeterministic stack (RNS-RNN).

Sources: DuSell & Chiang, "Learning context-free languages with nondeterministic stack RNNs" (2020)
and "Learning hierarchical structures with differentiable nondeterministic stacks" (2022). An LSTM
says at every symbol how the transitions of a pushdown automaton with Q states and S stack symbols
weigh, and reads which states and top symbols its runs are in, all of them at once (`lang.py`):

    r_t = α[t] / Σ α[t]                                (before symbol t; the first is 1 at 0, 0)
    h_t, c_t = LSTM([x_t ; r_t], h_{t-1}, c_{t-1})
    push_t, replace_t, pop_t = exp(A h_t + a).

RNS-RNN weights are not normalised; with ``normalise`` those of each state and top symbol sum to 1,
as in the NS-RNN, which it is not for that: the NS-RNN reads the top symbols alone. It is the one
network here whose stack can guess (the middle of w wᴿ, say); the price is Q³ S² n³ / 3
multiplications for a string of n symbols, and in training memory of as many numbers but for a
factor Q. So it says which strings it is for (``longest``), and no task is begun that asks for
longer ones.

Legend: B batch, N symbols, W width, P = Q S configurations.
"""

from __future__ import annotations

import torch
from formalbench import Batch, Task, Traits
from torch import Tensor, nn
from torch.nn import functional

from formalbench_models.families.nondeterministic_stack.config import NondeterministicStackConfig
from formalbench_models.families.nondeterministic_stack.lang import (
    Operations,
    PdaRuns,
    begin,
    go_on,
)
from formalbench_models.layers.matrix_memory import wide


class NondeterministicStack(nn.Module):
    """An LSTM that weighs a pushdown automaton and reads all its runs; a backbone.

    Args:
        task: gives the symbols.
        config: sizes.
    """

    def __init__(self, task: Task, config: NondeterministicStackConfig) -> None:
        super().__init__()
        self.sizes = config.states, config.symbols
        self.normalise = config.normalise
        width, size = config.width, config.states * config.symbols
        self.embedding = nn.Embedding(len(task.alphabet), width)
        self.cell = nn.LSTMCell(width + size, width)
        self.operations = nn.Linear(width, size * (2 * size + config.states))
        self.traits = Traits(
            backbone=width,
            padding=True,
            symbol_embedding="embedding",
            mechanisms=("recurrent-controller", "unbounded-counters", "nondeterministic-stack"),
            lengths=(0, config.longest),
            depth=1,
            width=width,
        )

    def forward(self, batch: Batch) -> Tensor:
        """Return the LSTM's state after every symbol, (B, N, W)."""
        return self._read(batch)[0]

    def trace(self, batch: Batch) -> dict[str, Tensor]:
        """Return ``state``, (B, N, W), and ``reading``, (B, N, P), which each symbol came with."""
        state_BNW, reading_BNP = self._read(batch)
        return {"state": state_BNW, "reading": reading_BNP}

    def weights(self, hidden_BW: Tensor) -> Operations:
        """Return the logarithms of the operations' weights."""
        states, symbols = self.sizes
        size = states * symbols
        logits = torch.unflatten(wide(self.operations(hidden_BW)), -1, (size, 2 * size + states))
        if self.normalise:
            logits = logits.log_softmax(-1)
        return Operations(*torch.split(logits, [size, size, states], -1))

    def _read(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return what `trace` does."""
        cell, size = self.cell, self.sizes[0] * self.sizes[1]
        sizes = [cell.input_size - size, size]
        of_symbol, of_reading = torch.split(cell.weight_ih, sizes, 1)
        symbols_BNW = self.embedding(batch.symbols)
        if not batch.symbols.shape[1]:
            return symbols_BNW, symbols_BNW.new_zeros(*batch.symbols.shape, size)
        fed_BNG = functional.linear(symbols_BNW, of_symbol, cell.bias_ih + cell.bias_hh)
        hidden = memory = torch.zeros_like(symbols_BNW[:, 0])
        runs: PdaRuns | None = None
        found: list[tuple[Tensor, Tensor]] = []
        for fed_BG in fed_BNG.unbind(1):
            if runs is None:
                runs = begin(wide(fed_BG), *self.sizes)
            else:
                runs = go_on(runs, self.weights(hidden))
            reading = runs.alpha.to(fed_BG.dtype)
            gates = fed_BG + reading @ of_reading.t() + hidden @ cell.weight_hh.t()
            i, f, g, o = gates.chunk(4, -1)
            memory = f.sigmoid() * memory + i.sigmoid() * g.tanh()
            hidden = o.sigmoid() * memory.tanh()
            found.append((hidden, reading))
        states, readings = zip(*found, strict=True)
        return torch.stack(states, 1), torch.stack(readings, 1)
