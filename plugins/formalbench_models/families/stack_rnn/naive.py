"""The stack-RNN, slowly: a string, a symbol, a stack and a cell at a time."""

from __future__ import annotations

import torch
from torch import Tensor

from formalbench_models.families.stack_rnn.model import StackRnn


def states(network: StackRnn, symbols_N: Tensor) -> Tensor:
    """Return the controller's state after every symbol of one string, (N, W)."""
    count, size = network.sizes
    zero_C = network.embedding.weight.new_zeros(size)
    stacks: list[list[Tensor]] = [[] for _ in range(count)]
    state = None
    found = []
    for symbol in symbols_N:
        tops = [stack[0] if stack else zero_C for stack in stacks]
        state = network.cell(torch.cat((network.embedding(symbol), *tops)), state)
        hidden_W = state[0] if isinstance(state, tuple) else state
        found.append(hidden_W)
        said = network.says[0](hidden_W)
        actions_3K, values_KC = (
            said[: 3 * count].view(3, count),
            said[3 * count :].view(count, size),
        )
        for k, old in enumerate(stacks):
            push, noop, pop = actions_3K[:, k].softmax(0)

            def at(place: int, old: list[Tensor] = old, value: Tensor = values_KC[k]) -> Tensor:
                if place < 0:
                    return value
                return old[place] if place < len(old) else zero_C

            stacks[k] = [
                push * at(i - 1) + noop * at(i) + pop * at(i + 1) for i in range(len(old) + 1)
            ]
    return torch.stack(found)
