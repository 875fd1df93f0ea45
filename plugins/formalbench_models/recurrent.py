"""Recurrent baselines: the library's Elman network, GRU and LSTM.

References: Elman, "Finding structure in time" (1990); Cho et al., "Learning phrase
representations using RNN encoder-decoder" (2014); Hochreiter & Schmidhuber, "Long
short-term memory" (1997).

Legend: B batch, N symbols, W width, K outputs.
"""

from __future__ import annotations

import torch
from formalbench.contracts.batch import Batch
from formalbench.contracts.objective import Layout
from formalbench.contracts.task import Task
from torch import Tensor, nn

_KINDS: dict[str, type[nn.RNN] | type[nn.GRU] | type[nn.LSTM]] = {
    "rnn": nn.RNN,
    "gru": nn.GRU,
    "lstm": nn.LSTM,
}


class Recurrent(nn.Module):
    """Learned symbol embeddings, a library recurrence, a linear read-out of its state.

    The state before the first symbol is zero, and it is also the state after the empty
    string: no begin-of-string symbol is needed, and N = 0 is nothing special.

    Args:
        kind: ``rnn`` (tanh), ``gru`` or ``lstm``.
        symbols: the number of symbols.
        outputs: the number of outputs per answer, K.
        layout: where to answer.
        width: of the state and of the symbol embeddings, W.
        layers: recurrences on top of each other; the topmost is read.
    """

    accepts_padding = True
    # The library's kernels are not written in terms that `torch.func.vmap` can batch.
    vmappable = False

    def __init__(
        self, kind: str, symbols: int, outputs: int, layout: Layout, *, width: int, layers: int
    ) -> None:
        super().__init__()
        self.layout = layout
        self.embedding = nn.Embedding(symbols, width)
        self.recurrence = _KINDS[kind](width, width, num_layers=layers, batch_first=True)
        self.readout = nn.Linear(width, outputs)

    def forward(self, batch: Batch) -> Tensor:
        """Return logits: (B, K), (B, N, K) or (B, N+1, K), by the layout."""
        logits: Tensor = self.readout(self._read(self._states(batch.symbols), batch.lengths))
        return logits

    def trace(self, batch: Batch) -> dict[str, Tensor]:
        """Return ``state``, (B, N+1, W): the topmost state after every prefix."""
        return {"state": self._states(batch.symbols)}

    def _states(self, symbols_BN: Tensor) -> Tensor:
        """Return the topmost state after every prefix, the empty one first, (B, N+1, W)."""
        x_BNW: Tensor = self.embedding(symbols_BN)
        start_B1W = x_BNW.new_zeros(x_BNW.shape[0], 1, x_BNW.shape[2])
        if x_BNW.shape[1] == 0:  # the library refuses sequences without a step
            return start_B1W
        states_BNW: Tensor = self.recurrence(x_BNW)[0]
        return torch.cat((start_B1W, states_BNW), dim=1)

    def _read(self, states_BMW: Tensor, lengths_B: Tensor | None) -> Tensor:
        """Return the states to answer from; M = N+1."""
        if self.layout == "prefixes":
            return states_BMW
        if self.layout == "each":
            return states_BMW[:, 1:]
        if lengths_B is None:
            return states_BMW[:, -1]
        index_B1W = lengths_B[:, None, None].expand(-1, 1, states_BMW.shape[2])
        return states_BMW.gather(1, index_B1W).squeeze(1)


def _build(kind: str, task: Task, width: int, layers: int) -> Recurrent:
    return Recurrent(
        kind, len(task.alphabet), task.outputs, task.layout, width=width, layers=layers
    )


def rnn(task: Task, *, width: int = 128, layers: int = 1) -> Recurrent:
    """Build the Elman network for a task."""
    return _build("rnn", task, width, layers)


def gru(task: Task, *, width: int = 128, layers: int = 1) -> Recurrent:
    """Build the GRU for a task."""
    return _build("gru", task, width, layers)


def lstm(task: Task, *, width: int = 128, layers: int = 1) -> Recurrent:
    """Build the LSTM for a task."""
    return _build("lstm", task, width, layers)
