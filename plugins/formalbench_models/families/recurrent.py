"""Recurrent baselines: the Elman network, GRU and LSTM.

References: Elman, "Finding structure in time" (1990); Cho et al., "Learning phrase
representations using RNN encoder-decoder" (2014); Hochreiter & Schmidhuber, "Long
short-term memory" (1997).

Legend: B batch, N symbols, W width, G gates times W, S symbols in the alphabet, K outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from formalbench import Batch, Task, Traits, read_asked
from torch import Tensor, nn
from torch.nn import functional

from formalbench_models.catalogue.recurrent_networks import ElmanConfig, LstmConfig, RecurrentConfig
from formalbench_models.layers.bptt import (
    Elman,
    Gru,
    Lstm,
    Recurrence,
    ReluElman,
    last_state,
    one_hot,
    states,
)
from formalbench_models.layers.residual import answering_states

_COUNTS = "unbounded-counters"

_KINDS: dict[str, tuple[Callable[..., nn.RNNBase], type[Recurrence], tuple[str, ...]]] = {
    "tanh": (nn.RNN, Elman, ("elman-recurrence",)),
    "relu": (partial(nn.RNN, nonlinearity="relu"), ReluElman, ("relu-recurrence", _COUNTS)),
    "gru": (nn.GRU, Gru, ("gru-recurrence",)),
    "lstm": (nn.LSTM, Lstm, ("lstm-recurrence", _COUNTS)),
}

SMALL = 32
"""A width up to which calls cost more than arithmetic."""

LARGE = 256
"""A width from which runs gain nothing from going together on a CPU."""

FEW = 64
"""Strings up to which they do at any width, if they are long and answered at every prefix."""


class Recurrent(nn.Module):
    """Learned symbol embeddings, a recurrence, a linear read-out of its state.

    The state before the first symbol is zero, and it is also the state after the empty
    string: no begin-of-string symbol is needed, and N = 0 is nothing special.

    `kind` is ``tanh`` or ``relu`` (Elman networks), ``gru`` or ``lstm``.
    """

    under_vmap = False

    def __init__(self, kind: str, task: Task, config: RecurrentConfig) -> None:
        super().__init__()
        width = config.width
        self.layout = task.layout
        self.embedding = nn.Embedding(len(task.alphabet), width)
        # The library's module holds the parameters and their initial values; the library's
        # kernels are what the tests compare with.
        library, self.kind, mechanisms = _KINDS[kind]
        self.recurrence = library(width, width, num_layers=config.layers, batch_first=True)
        self.readout = nn.Linear(width, task.outputs)
        # Measured on CPUs (speed/README.md): runs gain from going together, but for a small LSTM
        # that goes alone nothing is as fast as the library's kernel.
        self._is_lstm = kind == "lstm"
        small = width <= SMALL and not self._is_lstm
        self._library_on_cpu = width <= SMALL and self._is_lstm
        self.traits = Traits(
            padding=True,
            cpu_cohort=0 if width >= LARGE else 2 if small else 3,
            symbol_embedding="embedding",
            mechanisms=mechanisms,
            depth=config.layers,
            width=width,
        )

    def forward(self, batch: Batch) -> Tensor:
        if self.layout == "last" and batch.lengths is None:
            states_W = self._last_state(batch.symbols)
        else:
            states_W = answering_states(self._states(batch.symbols), self.layout, batch)
        return read_asked(self.readout, states_W, batch.asked)

    def state_size(self, length: int) -> int:
        """Return the numbers of the hidden states, with an LSTM's cells; see `Stateful`."""
        return self.recurrence.hidden_size * self.recurrence.num_layers * (1 + self._is_lstm)

    def trace(self, batch: Batch) -> dict[str, Tensor]:
        """Return ``state``, (B, N+1, W): the topmost state after every prefix."""
        return {"state": self._states(batch.symbols)}

    def _states(self, symbols_BN: Tensor) -> Tensor:
        """Return the topmost state after every prefix, the empty one first, (B, N+1, W)."""
        start_B1W = self._start(symbols_BN).unsqueeze(1)
        if symbols_BN.shape[1] == 0:
            return start_B1W
        return torch.cat((start_B1W, self._run(symbols_BN, every=True)), dim=1)

    def _last_state(self, symbols_BN: Tensor) -> Tensor:
        """Return the topmost state after the whole string, (B, W)."""
        if symbols_BN.shape[1] == 0:
            return self._start(symbols_BN)
        one_layer = self.recurrence.num_layers == 1
        if self._uses_library(symbols_BN) or torch.is_grad_enabled() or not one_layer:
            return self._run(symbols_BN, every=False)[:, -1]
        return last_state(self.kind, symbols_BN, *self._lowest()).mT

    def _start(self, symbols_BN: Tensor) -> Tensor:
        weight = self.embedding.weight
        return weight.new_zeros(symbols_BN.shape[0], weight.shape[1])

    def _run(self, symbols_BN: Tensor, *, every: bool) -> Tensor:
        """Return the topmost states, (B, N, W), or at least the last one, (B, 1, W)."""
        if self._uses_library(symbols_BN):
            states_BNW: Tensor = self.recurrence(self.embedding(symbols_BN))[0]
            return states_BNW
        weights = self._lowest()
        size, dtype = weights[0].shape[1], weights[0].dtype
        inputs_NXB = one_hot(symbols_BN.t(), size, dtype)
        for index in range(1, self.recurrence.num_layers):
            states_NWB = states(self.kind, inputs_NXB, True, *weights)
            inputs_GW, bias_G, *recurrence = self._layer(index)
            # The bias is the weight of an input that is always 1.
            inputs_NXB = torch.cat((states_NWB, torch.ones_like(states_NWB[:, :1])), dim=1)
            weights = (torch.cat((inputs_GW, bias_G.unsqueeze(-1)), dim=1), *recurrence)
        return states(self.kind, inputs_NXB, every, *weights).permute(2, 0, 1)

    def _uses_library(self, symbols_BN: Tensor) -> bool:
        few = self._is_lstm and self.layout == "prefixes" and len(symbols_BN) <= FEW
        on_cpu = symbols_BN.device.type == "cpu" and not self.under_vmap
        # In half precision the library's kernel is missing on many CPUs.
        halved = torch.is_autocast_enabled("cpu") or self.embedding.weight.itemsize < 4
        return on_cpu and not halved and (few or self._library_on_cpu)

    def _lowest(self) -> tuple[Tensor, ...]:
        """Return the lowest weights for one-hot symbols.

        With few symbols, what the gates get from each, (G, S), is computed once.
        """
        inputs_GW, bias_G, *recurrence = self._layer(0)
        return functional.linear(self.embedding.weight, inputs_GW, bias_G).t(), *recurrence

    def _layer(self, index: int) -> tuple[Tensor, ...]:
        """Return the weights of the input, (G, W), the bias of its gates, and the recurrence's."""
        inputs_GW, weight_GW, bias_G, hidden_G = (
            getattr(self.recurrence, f"{name}_l{index}")
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        if self.kind is not Gru:
            return inputs_GW, bias_G + hidden_G, weight_GW
        # One of a GRU's biases is multiplied by a gate, so it is not the input's.
        width = weight_GW.shape[1]
        outer_G = functional.pad(hidden_G[: 2 * width], (0, width))
        return inputs_GW, bias_G + outer_G, weight_GW, hidden_G[2 * width :]


def rnn(task: Task, config: ElmanConfig) -> Recurrent:
    """Build the Elman network for a task."""
    return Recurrent(config.nonlinearity, task, config)


def gru(task: Task, config: RecurrentConfig) -> Recurrent:
    """Build the GRU for a task."""
    return Recurrent("gru", task, config)


def lstm(task: Task, config: LstmConfig) -> Recurrent:
    """Build the LSTM for a task; the second quarter of its gates forget."""
    network = Recurrent("lstm", task, config)
    if config.forget_bias:
        with torch.no_grad():
            for layer in range(config.layers):
                bias = getattr(network.recurrence, f"bias_ih_l{layer}")
                bias[config.width : 2 * config.width] += config.forget_bias
    return network
