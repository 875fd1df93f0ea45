"""The network with a nondeterministic stack, slowly: every stack that any run could have.

How many there are grows exponentially; `lang.py` needs none of them.
"""

from __future__ import annotations

import torch
from torch import Tensor

from formalbench_models.families.nondeterministic_stack.lang import Operations
from formalbench_models.families.nondeterministic_stack.model import NondeterministicStack

WeightedStacks = dict[tuple[int, tuple[int, ...]], Tensor]
"""The weight of all runs that end in a state with a stack, its bottom first."""


def go_on(stacks: WeightedStacks, weights: Operations, symbols: int) -> WeightedStacks:
    """Return the stacks of one string after one more step, push by push and pop by pop."""
    push, replace, pop = (part.exp() for part in weights)
    found: WeightedStacks = {}

    def add(state: int, stack: tuple[int, ...], weight: Tensor) -> None:
        found[state, stack] = found.get((state, stack), 0) + weight

    for (state, stack), weight in stacks.items():
        here = state * symbols + stack[-1]
        for there in range(len(push)):
            to, symbol = divmod(there, symbols)
            add(to, (*stack, symbol), weight * push[here, there])
            add(to, (*stack[:-1], symbol), weight * replace[here, there])
        if len(stack) > 1:  # the bottom stays
            for to in range(pop.shape[-1]):
                add(to, stack[:-1], weight * pop[here, to])
    return found


def reading(stacks: WeightedStacks, states: int, symbols: int) -> Tensor:
    """Return the share of each state and top symbol, (P,)."""
    by_top = [torch.zeros(()) for _ in range(states * symbols)]
    for (state, stack), weight in stacks.items():
        place = state * symbols + stack[-1]
        by_top[place] = by_top[place] + weight
    total = torch.stack([part.to(weight.dtype) for part in by_top])
    return total / total.sum()


def states(network: NondeterministicStack, symbols_N: Tensor) -> Tensor:
    """Return the LSTM's state after every symbol of one string, (N, W)."""
    count, symbols = network.sizes
    one = network.embedding.weight.new_ones(())
    stacks: WeightedStacks = {(0, (0,)): one}
    state = None
    found = []
    for symbol in symbols_N:
        if state is not None:
            stacks = go_on(stacks, network.weights(state[0]), symbols)
        fed = torch.cat((network.embedding(symbol), reading(stacks, count, symbols)))
        state = network.cell(fed, state)
        found.append(state[0])
    return torch.stack(found)
