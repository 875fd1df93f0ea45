"""RNN with stacks in superposition.

Sources: Joulin & Mikolov, "Inferring algorithmic patterns with stack-augmented recurrent nets"
(2015), section 3.2; in the form of Delétang et al., "Neural networks and the Chomsky hierarchy"
(2023) and their code: the value is linear and the empty stack is zero. With x the symbol's
embedding, s_0 the top of the stack and ; joining vectors, at every symbol

    h = max(0, W [x ; s_0] + U h + b)          (or tanh, or an LSTM)
    push, noop, pop = softmax(A h + a)          v = V h + c
    s_0 = push v + noop s_0 + pop s_1           s_i = push s_(i-1) + noop s_i + pop s_(i+1).

Each stack has its own softmax (the published code has one for all stacks together, which with one
stack is the same). A stack has no limit: before symbol t of N it holds t - 1 cells, of which those
that N - t pops could bring to the top are kept, so nothing that could be read is lost at any
length, and a string takes time and, in training, memory of N²/4 cells.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from formalbench import Batch, Task, Traits
from torch import Tensor

from formalbench_models.catalogue.recurrent_networks import StackRnnConfig
from formalbench_models.layers.soft_memory import MemoryNetwork, Pair, Superposition, sized

ACTIONS = 3


class SoftStacks(Superposition):
    """Stacks, top first; the row above the top holds the value."""

    actions = ACTIONS
    first = 1

    @classmethod
    def sizes(cls, length: int) -> list[int]:
        """Return the rows before each position: the value and the cells that can be read again."""
        return [1 + min(place, length + 1 - place) for place in range(length + 1)]

    @classmethod
    def moves(cls, before: int, after: int, length: int) -> Sequence[Sequence[Pair]]:
        """Return the moves of push, no-op and pop: a pushed cell goes down by one."""
        counts = [min(after, before - action) for action in range(cls.actions)]
        return [
            [(slice(0, count), slice(action, action + count))]
            for action, count in enumerate(counts)
        ]


class StackRnn(MemoryNetwork):
    """The stack-RNN."""

    def __init__(self, task: Task, config: StackRnnConfig) -> None:
        super().__init__(
            task,
            config.width,
            config.controller,
            reading=config.stacks * config.cell,
            actions=ACTIONS * config.stacks,
            initial=config.initial,
            traits=Traits(mechanisms=("superposition-stack",)),
        )
        self.sizes = (config.stacks, config.cell)

    def state_size(self, length: int) -> int:
        """Return the numbers of the controller and of the stacks' cells; see `Stateful`."""
        stacks, cell = self.sizes
        controller = 2 if self.controller == "lstm" else 1
        return controller * self.width + stacks * cell * length

    def kind(self, batch: Batch, kept: bool) -> tuple[type[Superposition], tuple[Tensor, ...]]:
        stacks, cell = self.sizes
        return sized(SoftStacks, self.controller, memories=stacks, cell=cell, kept=kept), ()


def naive_states(network: StackRnn, symbols_N: Tensor) -> Tensor:
    """Return the controller's state after every symbol of one string, (N, W)."""
    count, size = network.sizes
    zero_C = network.embedding.weight.new_zeros(size)
    stacks: list[list[Tensor]] = [[] for _ in range(count)]
    state = None
    states = []
    for symbol in symbols_N:
        tops = [stack[0] if stack else zero_C for stack in stacks]
        state = network.cell(torch.cat((network.embedding(symbol), *tops)), state)
        hidden_W = state[0] if isinstance(state, tuple) else state
        states.append(hidden_W)
        output = network.says[0](hidden_W)
        actions_3K, values_KC = (
            output[: 3 * count].view(3, count),
            output[3 * count :].view(count, size),
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
    return torch.stack(states)
