"""Recurrent baselines: the Elman network, GRU and LSTM.

References: Elman, "Finding structure in time" (1990); Cho et al., "Learning phrase
representations using RNN encoder-decoder" (2014); Hochreiter & Schmidhuber, "Long
short-term memory" (1997).

Legend: B batch, N symbols, W width, G gates times W, S symbols in the alphabet, K outputs.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from formalbench.contracts.batch import Batch
from formalbench.contracts.objective import Layout
from formalbench.contracts.task import Task
from torch import Tensor, nn
from torch.nn import functional

from formalbench_models.recurrence import Recurrence, last_state, states
from formalbench_models.recurrence_kinds import Elman, Gru, Lstm

_KINDS: dict[str, tuple[type[nn.RNN] | type[nn.GRU] | type[nn.LSTM], type[Recurrence]]] = {
    "rnn": (nn.RNN, Elman),
    "gru": (nn.GRU, Gru),
    "lstm": (nn.LSTM, Lstm),
}


_SMALL = 32
"""A width up to which calls cost more than arithmetic."""

_FEW = 64
"""Strings up to which they do at any width, if they are long and answered at every prefix."""


class LayerWeights(NamedTuple):
    """The parameters of one recurrence, ordered for their use.

    Attributes:
        inputs: of the input, (G, W).
        bias: that is added to the input's part of the gates, (G,).
        recurrence: what `formalbench_models.recurrence` takes.
    """

    inputs: Tensor
    bias: Tensor
    recurrence: tuple[Tensor, ...]


class Recurrent(nn.Module):
    """Learned symbol embeddings, a recurrence, a linear read-out of its state.

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
    under_vmap = False

    def __init__(
        self, kind: str, symbols: int, outputs: int, layout: Layout, *, width: int, layers: int
    ) -> None:
        super().__init__()
        self.layout = layout
        self.embedding = nn.Embedding(symbols, width)
        # The library's module holds the parameters and their initial values; the library's
        # kernels are what the tests compare with.
        library, self.kind = _KINDS[kind]
        self.recurrence = library(width, width, num_layers=layers, batch_first=True)
        self.readout = nn.Linear(width, outputs)
        # Measured on CPUs (speed/README.md): small networks gain from going together, but
        # for a small LSTM nothing is as fast as the library's kernel, which goes alone.
        self._is_lstm = kind == "lstm"
        if width <= 2 * _SMALL and not self._is_lstm:
            self.cpu_cohort = 2 if width <= _SMALL else 9
        self._library_on_cpu = width <= _SMALL and self._is_lstm

    def forward(self, batch: Batch) -> Tensor:
        """Return logits: (B, K), (B, N, K) or (B, N+1, K), by the layout."""
        if self.layout == "last" and batch.lengths is None:
            return self._logits(self._last_state(batch.symbols))
        return self._logits(self._read(self._states(batch.symbols), batch.lengths))

    def trace(self, batch: Batch) -> dict[str, Tensor]:
        """Return ``state``, (B, N+1, W): the topmost state after every prefix."""
        return {"state": self._states(batch.symbols)}

    def _logits(self, states_W: Tensor) -> Tensor:
        logits: Tensor = self.readout(states_W)
        return logits

    def _states(self, symbols_BN: Tensor) -> Tensor:
        """Return the topmost state after every prefix, the empty one first, (B, N+1, W)."""
        start_1BW = self._start(symbols_BN).unsqueeze(0)
        if symbols_BN.shape[1] == 0:
            return start_1BW.transpose(0, 1)
        states_NBW = self._run(symbols_BN, every=True)
        return torch.cat((start_1BW, states_NBW)).transpose(0, 1)

    def _last_state(self, symbols_BN: Tensor) -> Tensor:
        """Return the topmost state after the whole string, (B, W)."""
        if symbols_BN.shape[1] == 0:
            return self._start(symbols_BN)
        if self._uses_library(symbols_BN):
            return self._run(symbols_BN, every=True)[-1]
        if self.recurrence.num_layers > 1 or torch.is_grad_enabled():
            return self._run(symbols_BN, every=False)[0]
        layer = self._layer(0)
        return last_state(self.kind, self._table(layer), symbols_BN, *layer.recurrence)

    def _start(self, symbols_BN: Tensor) -> Tensor:
        weight = self.embedding.weight
        return weight.new_zeros(symbols_BN.shape[0], weight.shape[1])

    def _run(self, symbols_BN: Tensor, *, every: bool) -> Tensor:
        """Return the topmost states after every symbol, (N, B, W), or after the last alone."""
        if self._uses_library(symbols_BN):
            states_BNW: Tensor = self.recurrence(self.embedding(symbols_BN))[0]
            return states_BNW.transpose(0, 1)
        # With few symbols, what the gates get from each is computed once.
        layer = self._layer(0)
        table = self._table(layer)
        symbols_NB: Tensor | None = symbols_BN.t().contiguous()
        for index in range(1, self.recurrence.num_layers):
            states_NBW = states(self.kind, table, symbols_NB, True, *layer.recurrence)
            layer = self._layer(index)
            table, symbols_NB = functional.linear(states_NBW, layer.inputs, layer.bias), None
        return states(self.kind, table, symbols_NB, every, *layer.recurrence)

    def _uses_library(self, symbols_BN: Tensor) -> bool:
        few = self._is_lstm and self.layout == "prefixes" and len(symbols_BN) <= _FEW
        on_cpu = symbols_BN.device.type == "cpu" and not self.under_vmap
        # In half precision the library's kernel is missing on many CPUs.
        halved = torch.is_autocast_enabled("cpu") or self.embedding.weight.itemsize < 4
        return on_cpu and not halved and (few or self._library_on_cpu)

    def _table(self, layer: LayerWeights) -> Tensor:
        """Return what the lowest gates get from each symbol, (S, G)."""
        return functional.linear(self.embedding.weight, layer.inputs, layer.bias)

    def _layer(self, index: int) -> LayerWeights:
        inputs_GW, weight_GW, bias_G, hidden_G = (
            getattr(self.recurrence, f"{name}_l{index}")
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        if self.kind is Elman:
            return LayerWeights(inputs_GW, bias_G + hidden_G, (weight_GW,))
        if self.kind is Lstm:
            ours = (_in_our_order(part) for part in (inputs_GW, bias_G + hidden_G, weight_GW))
            inputs, bias, weight = ours
            return LayerWeights(inputs, bias, (weight,))
        # One of a GRU's biases is multiplied by a gate, so it is not the input's.
        width = weight_GW.shape[1]
        outer_G = functional.pad(hidden_G[: 2 * width], (0, width))
        return LayerWeights(inputs_GW, bias_G + outer_G, (weight_GW, hidden_G[2 * width :]))

    def _read(self, states_BMW: Tensor, lengths_B: Tensor | None) -> Tensor:
        """Return the states to answer from; M = N+1."""
        if self.layout == "prefixes":
            return states_BMW
        if self.layout == "each":
            return states_BMW[:, 1:]
        assert lengths_B is not None
        index_B1W = lengths_B[:, None, None].expand(-1, 1, states_BMW.shape[2])
        return states_BMW.gather(1, index_B1W).squeeze(1)


def _in_our_order(gates: Tensor) -> Tensor:
    """Turn an LSTM's gates i, f, g, o, the library's order, into i, f, o, g, ours."""
    i, f, g, o = gates.chunk(4)
    return torch.cat((i, f, o, g))


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
