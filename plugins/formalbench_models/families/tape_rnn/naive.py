"""The tape-RNN, slowly: a string, a symbol, a tape and a cell at a time."""

from __future__ import annotations

import torch
from torch import Tensor

from formalbench_models.families.tape_rnn.model import TapeRnn


def states(network: TapeRnn, symbols_N: Tensor, jump: int) -> Tensor:
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
    found = []
    for symbol in symbols_N:
        under_heads = [tape[0] for tape in memory]
        state = network.cell(torch.cat((network.embedding(symbol), *under_heads)), state)
        hidden_W = state[0] if isinstance(state, tuple) else state
        found.append(hidden_W)
        said = network.says[0](hidden_W)
        actions = said[: len(shifts) * tapes].view(len(shifts), tapes).softmax(0)
        value = network.says[1](said[len(shifts) * tapes :].relu())
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
    return torch.stack(found)
