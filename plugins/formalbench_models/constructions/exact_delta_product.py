"""Automata whose symbols permute the states, or reset them, as products of reflections.

Source: Siems et al. (2025), DeltaProduct, section 3, and Grazzi et al. (2024), Unlocking
state-tracking in linear RNNs through negative eigenvalues, Theorem 3: a transposition of two
coordinates is a reflection, with an eigenvalue of -1, and every permutation of Q things is a
product of at most Q - 1 of them. The begin symbol, resets and the read-out are ours.

One layer, one head: the recurrence keeps a column of Q numbers, one-hot at the state of the
automaton, and a symbol does R steps of the delta rule to it, h = h - β k (kᵀh - v):

* *Begin.* k = e_start, β = 1, v = 1 writes a 1 where the automaton starts.
* *A transposition of p and q.* k = e_p - e_q, β = 1, v = 0. For the key of length 1 that is
  β = 2: h = (I - 2 k̂ k̂ᵀ) h. A cycle (c_1 … c_m) is (c_1 c_2), then (c_1 c_3), …, (c_1 c_m).
* *A reset to q.* k = e_p, β = 1, v = 0 for every p erases, k = e_q, β = 1, v = 1 writes.
* *Nothing*, where a symbol needs fewer steps than R: β = 0.
* *Read-out.* The query (0, 1, …, Q-1) asks for the number of the state, y = qᵀh, and
  relu(y - p + 1) - 2 relu(y - p) + relu(y - p - 1) is 1 if y = p and else 0.

The steps of a symbol are the same wherever it stands, so what they come to, h = A h + b, is worked
out once. All that is computed is a whole number below Q: nothing is rounded, in any precision, at
any length.

Legend: Q states, S symbols, R steps a symbol, K outputs, B batch, N symbols of a string, M = N+1.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from formalbench import Batch, ExtendedAlphabet, RequestError, Task, Traits
from torch import Tensor, nn
from torch.nn import functional

from formalbench_models.catalogue.constructions import ExactDeltaProductConfig
from formalbench_models.constructions.exact_regulargpt import Machine, answers, machine_of
from formalbench_models.layers.residual import answering_states
from formalbench_models.layers.tensors import wide

NAME = "exact-deltaproduct"

MAX_STATES = 128
"""Maximum number of states; bf16 can represent their numbers."""

Step = tuple[dict[int, int], int]
"""A key, given by its non-zero coordinates, and a value; β is 1."""


def transpositions(targets: Sequence[int]) -> list[Step]:
    """Return the steps of a permutation in order."""
    steps: list[Step] = []
    seen: set[int] = set()
    for first in range(len(targets)):
        state = targets[first]
        while first not in seen and state != first:
            steps.append(({first: 1, state: -1}, 0))
            seen.add(state)
            state = targets[state]
        seen.add(first)
    return steps


def steps_of(machine: Machine, language: str) -> list[list[Step]]:
    """Return the steps of every symbol, the begin symbol's last.

    Raises:
        RequestError: if a symbol neither permutes the states nor leads all of them to one.
    """
    every = range(machine.states)
    symbols = []
    for symbol, targets in enumerate(zip(*machine.table, strict=True)):
        if len(set(targets)) == machine.states:
            symbols.append(transpositions(targets))
        elif len(set(targets)) == 1:
            erased: list[Step] = [({state: 1}, 0) for state in every]
            symbols.append([*erased, ({targets[0]: 1}, 1)])
        else:
            raise RequestError(
                f"{NAME}: symbol {symbol} of {language} neither permutes the states nor resets "
                "them: take a language whose symbols do, as cycle-navigation, group-s3 or parity"
            )
    return [*symbols, [({machine.start: 1}, 1)]]


class ExactDeltaProduct(nn.Module):
    """A layer of DeltaProduct with weights set by hand, in fp64.

    Args:
        task: what to answer.
        symbols: the steps of every symbol, the begin symbol's last.
        answers_QK: the logits for each state that a string can end in.
        scale: of the logits, as a constant.
    """

    def __init__(
        self, task: Task, symbols: Sequence[Sequence[Step]], answers_QK: Tensor, scale: float
    ) -> None:
        super().__init__()
        states, most = len(answers_QK), max(map(len, symbols))
        self.layout, self.steps = task.layout, most
        self.alphabet = ExtendedAlphabet(len(task.alphabet), "begin")
        self.keys = nn.Embedding(self.alphabet.size, most * states)
        self.rates = nn.Embedding(self.alphabet.size, most)
        self.values = nn.Embedding(self.alphabet.size, most)
        self.query = nn.Parameter(torch.arange(states, dtype=torch.float64))
        self.readout = nn.Linear(states, answers_QK.shape[1], bias=False)
        self.double()  # so that conversion to another dtype rounds once
        self._write(symbols, answers_QK)
        self.traits = Traits(
            padding=True,
            symbol_embedding="keys",
            eigenvalues="[-1, 1]",
            mechanisms=("products-of-reflections", "fixed-depth"),
            constants={"scale": scale},
            depth=1,
            width=states,
            notes={"heads": 1, "hidden": 3 * states, "precision": "O(1) bits: bf16 at any length"},
        )

    @torch.no_grad()
    def _write(self, symbols: Sequence[Sequence[Step]], answers_QK: Tensor) -> None:
        for table in (self.keys, self.rates, self.values):
            table.weight.zero_()
        keys_SRQ = self.keys.weight.view(len(symbols), self.steps, -1)
        for symbol, steps in enumerate(symbols):
            for place, (key, value) in enumerate(steps):
                for state, entry in key.items():
                    keys_SRQ[symbol, place, state] = entry
                self.rates.weight[symbol, place] = 1
                self.values.weight[symbol, place] = value
        self.readout.weight.copy_(answers_QK.mT)

    def forward(self, batch: Batch) -> Tensor:
        number_BM1 = self._numbers(batch.symbols).unsqueeze(-1)
        places_Q = torch.arange(len(self.query), dtype=number_BM1.dtype, device=number_BM1.device)
        past = answering_states(number_BM1, self.layout, batch) - places_Q
        units = [functional.relu(past + offset) for offset in (1, 0, -1)]
        logits: Tensor = self.readout(units[0] - 2 * units[1] + units[2])
        return logits

    def trace(self, batch: Batch) -> dict[str, Tensor]:
        """Return ``automaton.state``, (B, N+1): the number of the state after every prefix."""
        return {"automaton.state": self._numbers(batch.symbols)}

    def _numbers(self, symbols_BN: Tensor) -> Tensor:
        """Return the number of the state after every prefix, (B, M)."""
        symbols_BM = self.alphabet.prepend(symbols_BN, "begin")
        turn_SQQ, add_SQ = self._symbols()
        query_Q = wide(self.query)
        state_BQ = add_SQ.new_zeros(len(symbols_BM), len(query_Q))
        numbers = []
        for symbol_B in symbols_BM.unbind(1):
            turned_BQ = (turn_SQQ[symbol_B] @ state_BQ.unsqueeze(-1)).squeeze(-1)
            state_BQ = turned_BQ + add_SQ[symbol_B]
            numbers.append(state_BQ @ query_Q)
        return torch.stack(numbers, dim=1).to(self.query.dtype)

    def _symbols(self) -> tuple[Tensor, Tensor]:
        """Return the product of each symbol's R steps, h = A h + b: (S+1, Q, Q), (S+1, Q)."""
        states = len(self.query)
        keys_SRQ = wide(torch.unflatten(self.keys.weight, -1, (self.steps, states)))
        rates_SR, values_SR = wide(self.rates.weight), wide(self.values.weight)
        both = torch.eye(states, states + 1, dtype=keys_SRQ.dtype, device=keys_SRQ.device)
        both_SQZ = both.expand(len(keys_SRQ), -1, -1)  # A, and b as one more column
        for step in range(self.steps):
            key_S1Q, rate_S11 = keys_SRQ[:, step, None], rates_SR[:, step, None, None]
            missed_S1Z = key_S1Q @ both_SQZ
            target_S1Z = functional.pad(values_SR[:, step, None, None], (states, 0))
            both_SQZ = both_SQZ - rate_S11 * key_S1Q.mT @ (missed_S1Z - target_S1Z)
        return both_SQZ[..., :states], both_SQZ[..., states]


def build(task: Task, config: ExactDeltaProductConfig) -> ExactDeltaProduct:
    """Write the automaton of a task's language into a recurrence.

    Raises:
        RequestError: if it has none, one with a symbol that is neither a permutation nor a reset,
            or one too large.
    """
    machine = machine_of(task, NAME)
    if machine.states > MAX_STATES:
        raise RequestError(
            f"{NAME}: {task.source_name} has {machine.states} states, beyond {MAX_STATES}"
        )
    symbols = steps_of(machine, task.source_name)
    return ExactDeltaProduct(task, symbols, answers(task, machine, config.scale), config.scale)
