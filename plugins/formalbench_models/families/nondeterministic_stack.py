"""RNN with a nondeterministic stack, by Lang's algorithm.

Sources: Lang (1974), "Deterministic techniques for efficient non-deterministic parsers"; in the
form of DuSell & Chiang, "Learning hierarchical structures with differentiable nondeterministic
stacks" (2022), and their code.

A configuration is a state q with the symbol x on top; at every step the automaton pushes, replaces
or pops. γ[i → t][q, x → r, y] is the weight of all runs from (q, x) at time i to (r, y) at time t
which have at t a single symbol more on their stack than at i, and never had less in between:

    γ[i → t][q x, r y] =  push[q x, r y]                                              (i = t - 1)
                        + Σ_{s z}   γ[i → t-1][q x, s z] replace[s z, r y]
                        + Σ_{k u}   γ[i → k][q x, u y] Σ_{s z} γ[k → t-1][u y, s z] pop[s z, r]
    α[t][r y]          =  Σ_{i q x} α[i][q x] γ[i → t][q x, r y].

The reading is α[t], divided by its sum. Weights of runs leave the range of floating point soon, so
the authors compute with logarithms; here they are kept as shares, and products are products of
matrices. A factor common to all operations of a step changes no reading, so α is made to sum to 1
at each step, and in the place of γ are held

    joint[i → t][q x, r y]  = α[i][q x] γ[i → t][q x, r y],       the share of all runs up to t,
    origin[i ← k][q x, u y] = joint[i → k][q x, u y] / α[k][u y],  where a run at (u, y) came from,

all between 0 and 1. The last sum then is Σ origin[i ← k] Σ joint[k → t-1] pop.

Step t costs Q³ S² t² multiplications a string, a string of n symbols Q³ S² n³ / 3.

Sources: DuSell & Chiang, "Learning context-free languages with nondeterministic stack RNNs" (2020)
and "Learning hierarchical structures with differentiable nondeterministic stacks" (2022). An LSTM
says at every symbol how the transitions of a pushdown automaton with Q states and S stack symbols
weigh, and reads which states and top symbols its runs are in, all of them at once (Lang's
algorithm, below):

    r_t = α[t] / Σ α[t]                                (before symbol t; the first is 1 at 0, 0)
    h_t, c_t = LSTM([x_t ; r_t], h_{t-1}, c_{t-1})
    push_t, replace_t, pop_t = exp(A h_t + a).

RNS-RNN weights are not normalised; with ``normalise`` those of each state and top symbol sum to 1,
as in the NS-RNN, which it is not for that: the NS-RNN reads the top symbols alone. It is the one
network here whose stack can guess (the middle of w wᴿ, say); the price is Q³ S² n³ / 3
multiplications for a string of n symbols, and in training memory of as many numbers but for a
factor Q. So it says which strings it is for (``longest``), and no task is begun that asks for
longer ones.

How many there are grows exponentially; Lang's algorithm needs none of them.

Legend: B batch, Q states, S symbols, P = Q S configurations, I times that runs come from, K those
that they come back to, N symbols, W width.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from formalbench import Batch, Task, Traits
from torch import Tensor, nn
from torch.nn import functional

from formalbench_models.catalogue.recurrent_networks import NondeterministicStackConfig
from formalbench_models.layers.tensors import wide

FLOOR = 60.0
"""Minimum of logits relative to the greatest of a step."""

TINY = 1e-30
"""Smaller shares are set to 0."""


class Operations(NamedTuple):
    """Logarithms of the weights of a step's operations.

    Attributes:
        push: (B, P, P), from a configuration to another.
        replace: (B, P, P), the same for replacing the top.
        pop: (B, P, Q), to a state; what is on top then was there before.
    """

    push: Tensor
    replace: Tensor
    pop: Tensor

    def shares(self) -> Operations:
        """Return the weights themselves, divided by the greatest of each string."""
        joined = torch.cat(self, -1)
        most = joined.detach().amax((-2, -1), keepdim=True)
        shares = (joined - most).clamp(min=-FLOOR).exp()
        return Operations(*torch.split(shares, [part.shape[-1] for part in self], -1))


class PdaRuns(NamedTuple):
    """All runs up to a time t.

    Attributes:
        alpha: the share of the runs in each configuration, (B, P).
        joint: the share of those that come from each earlier one, (B, I, P, P), I = t + 1.
        origin: of the configurations at the times 0 … t - 1, by top symbol, (B, S, I P, K Q).
    """

    alpha: Tensor
    joint: Tensor
    origin: Tensor


def begin(like: Tensor, states: int, symbols: int) -> PdaRuns:
    """Return the one run at time 0: state 0 with the bottom symbol 0.

    Args:
        like: (B, …), gives the number of strings, type and device.
        states: Q.
        symbols: S.
    """
    batch, size = like.shape[0], states * symbols
    first = functional.one_hot(torch.zeros(batch, dtype=torch.long, device=like.device), size)
    alpha_BP = first.to(like.dtype)
    joint = (alpha_BP[:, :, None] * alpha_BP[:, None, :]).unsqueeze(1)
    return PdaRuns(alpha_BP, joint, like.new_zeros(batch, symbols, 0, 0))


def go_on(runs: PdaRuns, weights: Operations) -> PdaRuns:
    """Return the runs after one more step."""
    alpha_BP, joint, origin = runs
    push, replace, pop = weights.shares()
    states = pop.shape[-1]
    pushed = alpha_BP[:, None, :, None] * push.unsqueeze(1)
    kept = joint @ replace.unsqueeze(1)
    if joint.shape[1] > 1:
        kept = kept + _popped(joint, origin, pop)
    joint_next = torch.cat((kept, pushed), 1)
    joint_next = joint_next / joint_next.sum((1, 2, 3), keepdim=True)
    return PdaRuns(joint_next.sum((1, 2)), joint_next, _origins(alpha_BP, joint, origin, states))


def _popped(joint: Tensor, origin: Tensor, pop: Tensor) -> Tensor:
    """Return the runs that end by a pop, (B, I, P, P)."""
    times, size, states = joint.shape[1], *pop.shape[-2:]
    symbols = size // states
    # What was pushed onto (u, y) at time k is popped, into state r: (B, S, K Q, Q).
    back = torch.unflatten(joint[:, 1:] @ pop.unsqueeze(1), 2, (states, symbols))
    back = back.permute(0, 3, 1, 2, 4).flatten(2, 3)
    ended = torch.unflatten(origin @ back, 2, (times - 1, size))
    ended = ended.permute(0, 2, 3, 4, 1).flatten(3)
    return functional.pad(ended, (0, 0, 0, 0, 0, 1))


def _origins(alpha_BP: Tensor, joint: Tensor, origin: Tensor, states: int) -> Tensor:
    """Return where runs came from, with those at time t behind the earlier ones."""
    possible = alpha_BP > TINY
    share = joint / torch.where(possible, alpha_BP, 1)[:, None, None]
    share = torch.where(possible[:, None, None], share, 0)
    times, size = joint.shape[1:3]
    share = torch.unflatten(share, -1, (states, size // states))
    column = share.permute(0, 4, 1, 2, 3).flatten(2, 3)
    rows = times * size - origin.shape[2]
    return torch.cat((functional.pad(origin, (0, 0, 0, rows)), column), -1)


class NondeterministicStack(nn.Module):
    """An LSTM that weighs a pushdown automaton and reads all its runs; a backbone."""

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
        outputs: list[tuple[Tensor, Tensor]] = []
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
            outputs.append((hidden, reading))
        states, readings = zip(*outputs, strict=True)
        return torch.stack(states, 1), torch.stack(readings, 1)


WeightedStacks = dict[tuple[int, tuple[int, ...]], Tensor]
"""The weight of all runs that end in a state with a stack, its bottom first."""


def naive_go_on(stacks: WeightedStacks, weights: Operations, symbols: int) -> WeightedStacks:
    """Return the stacks of one string after one more step, push by push and pop by pop."""
    push, replace, pop = (part.exp() for part in weights)
    result: WeightedStacks = {}

    def add(state: int, stack: tuple[int, ...], weight: Tensor) -> None:
        result[state, stack] = result.get((state, stack), 0) + weight

    for (state, stack), weight in stacks.items():
        source = state * symbols + stack[-1]
        for target in range(len(push)):
            to, symbol = divmod(target, symbols)
            add(to, (*stack, symbol), weight * push[source, target])
            add(to, (*stack[:-1], symbol), weight * replace[source, target])
        if len(stack) > 1:  # the bottom stays
            for to in range(pop.shape[-1]):
                add(to, stack[:-1], weight * pop[source, to])
    return result


def reading(stacks: WeightedStacks, states: int, symbols: int) -> Tensor:
    """Return the share of each state and top symbol, (P,)."""
    by_top = [torch.zeros(()) for _ in range(states * symbols)]
    for (state, stack), weight in stacks.items():
        place = state * symbols + stack[-1]
        by_top[place] = by_top[place] + weight
    total = torch.stack([part.to(weight.dtype) for part in by_top])
    return total / total.sum()


def naive_states(network: NondeterministicStack, symbols_N: Tensor) -> Tensor:
    """Return the LSTM's state after every symbol of one string, (N, W)."""
    count, symbols = network.sizes
    one = network.embedding.weight.new_ones(())
    stacks: WeightedStacks = {(0, (0,)): one}
    state = None
    states = []
    for symbol in symbols_N:
        if state is not None:
            stacks = naive_go_on(stacks, network.weights(state[0]), symbols)
        fed = torch.cat((network.embedding(symbol), reading(stacks, count, symbols)))
        state = network.cell(fed, state)
        states.append(state[0])
    return torch.stack(states)
