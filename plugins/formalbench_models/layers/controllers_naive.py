"""The recurrences that can control a memory, slowly: a string and a symbol at a time."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from formalbench_models.layers.memory_network import MemoryNetwork

State = tuple[Tensor, ...]
"""The state of the library's cell for a batch of one string: (1, W) once, of an LSTM twice."""


def step(
    network: MemoryNetwork, symbol: Tensor, read_D: Tensor, state: State | None
) -> tuple[Tensor, State]:
    """Return the controller's state after a symbol, (W,), and what the next step begins with.

    Args:
        network: whose weights to use.
        symbol: the symbol's number.
        read_D: what the memory shows.
        state: what the step before returned; None before the first symbol.
    """
    cell = network.cell
    seen_Y = torch.cat((functional.one_hot(symbol, network.embedding.num_embeddings), read_D))
    weight_GY = torch.cat((network.embedding.weight.t(), cell.weight_ih), 1)
    weights = (weight_GY, cell.weight_hh, cell.bias_ih, cell.bias_hh)
    zero_1W = read_D.new_zeros(1, network.width)
    if network.controller == "lstm":
        state = torch.lstm_cell(seen_Y[None], state or (zero_1W, zero_1W), *weights)
    else:
        library = torch.rnn_relu_cell if network.controller == "relu" else torch.rnn_tanh_cell
        state = (library(seen_Y[None], state[0] if state else zero_1W, *weights),)
    return state[0][0], state
