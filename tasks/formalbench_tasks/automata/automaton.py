"""A complete deterministic Moore machine, run on many strings at once.

Legend: B strings, N positions, Q states, S symbols.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from formalbench.contracts.source import Labels, Mask, Symbols

from formalbench_tasks.automata.paths import FEW, Paths

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Automaton:
    """A complete deterministic automaton with an integer class at every state.

    For a language in the narrow sense the classes are 1 (accept) and 0 (reject).

    Attributes:
        transitions: (Q, S) int64, the state reached from each state by each symbol.
        classes: (Q,) int64, the class of the strings that end in each state.
        start: the state of the empty string.
    """

    transitions: Ints
    classes: Ints
    start: int = 0

    def __post_init__(self) -> None:
        count = len(self.transitions)
        if self.transitions.ndim != 2 or self.classes.shape != (count,):
            raise ValueError("transitions must be (Q, S) and classes (Q,)")
        if count == 0 or not 0 <= self.start < count or self.classes.min() < 0:
            raise ValueError("there must be a state to start in, and no class below 0")
        targets = self.transitions
        if targets.size == 0 or targets.min() < 0 or targets.max() >= count:
            raise ValueError(f"transitions must lead to states 0 … {count - 1}")

    @property
    def num_states(self) -> int:
        """Q, the number of states."""
        return int(self.transitions.shape[0])

    @property
    def num_symbols(self) -> int:
        """S, the number of symbols."""
        return int(self.transitions.shape[1])

    @cached_property
    def paths(self) -> Paths:
        """Counts of strings from each state to each class, with a sampler."""
        return Paths(self.transitions, self.classes, self.start)

    def states(self, strings_BN: Symbols) -> Ints:
        """Return the state after every prefix, the empty one first, (B, N+1)."""
        rows_NB = np.empty((strings_BN.shape[1] + 1, len(strings_BN)), dtype=np.int64)
        rows_NB[0] = self.start
        for position, symbols_B in enumerate(np.ascontiguousarray(strings_BN.T)):
            rows_NB[position + 1] = self._step(rows_NB[position], symbols_B)
        return np.ascontiguousarray(rows_NB.T)

    def classify(self, strings_BN: Symbols) -> Labels:
        """Return the class of every string, (B,)."""
        if len(strings_BN) <= FEW:
            return self._classify_few(strings_BN)
        states_B = np.full(len(strings_BN), self.start, dtype=np.int64)
        for symbols_B in np.ascontiguousarray(strings_BN.T):
            states_B = self._step(states_B, symbols_B)
        return self.classes[states_B]

    def _classify_few(self, strings_BN: Symbols) -> Labels:
        """Classify strings one by one, which is faster than numpy for a few."""
        moves, ends = self._plain, []
        for symbols_N in strings_BN:
            state = self.start
            for symbol in symbols_N.tolist():
                state = moves[state][symbol]
            ends.append(state)
        return self.classes[np.array(ends, dtype=np.int64)]

    def classify_prefixes(self, strings_BN: Symbols) -> Labels:
        """Return the class of every non-empty prefix, (B, N)."""
        return self.classes[self.states(strings_BN)[:, 1:]]

    def next_symbols(self, strings_BN: Symbols) -> Mask:
        """Return what may follow every prefix, the empty one first, (B, N+1, S+1).

        The last column says whether the prefix itself has class 1.
        """
        legal_QS = self.live[self.transitions]
        may_end_Q1 = (self.classes == 1)[:, None]
        allowed: Mask = np.concatenate((legal_QS, may_end_Q1), axis=1)
        return allowed[self.states(strings_BN)]

    @cached_property
    def live(self) -> Mask:
        """Whether some string leads from each state to class 1, (Q,)."""
        live_Q: Mask = self.classes == 1
        while True:
            grown_Q = live_Q | live_Q[self.transitions].any(axis=1)
            if np.array_equal(grown_Q, live_Q):
                return live_Q
            live_Q = grown_Q

    def _step(self, states_B: Ints, symbols_B: Ints) -> Ints:
        moved_B: Ints = self._flat.take(states_B * self.num_symbols + symbols_B)
        return moved_B

    @cached_property
    def _plain(self) -> list[list[int]]:
        rows: list[list[int]] = self.transitions.tolist()
        return rows

    @cached_property
    def _flat(self) -> Ints:
        return np.ascontiguousarray(self.transitions).reshape(-1)


def from_table(rows: Sequence[Sequence[int]], classes: Sequence[int], start: int = 0) -> Automaton:
    """Build the minimal automaton of a transition table.

    Args:
        rows: for each state, the state reached by each symbol.
        classes: the class of each state; 1 and 0 for a language.
        start: where the empty string ends.
    """
    table = np.array(rows, dtype=np.int64)
    return minimise(Automaton(table, np.array(classes, dtype=np.int64), start))


def minimise(automaton: Automaton) -> Automaton:
    """Return the smallest automaton with the same class for every string.

    States are numbered in breadth-first order from the start, so that equal functions give equal
    tables.

    """
    table_QS, blocks_Q = automaton.transitions, _equivalent(automaton)
    _, representatives = np.unique(blocks_Q, return_index=True)
    order = _reachable(blocks_Q[table_QS[representatives]], int(blocks_Q[automaton.start]))
    number = np.full(len(representatives), -1, dtype=np.int64)
    number[order] = np.arange(len(order))
    chosen = representatives[order]
    return Automaton(number[blocks_Q[table_QS[chosen]]], automaton.classes[chosen])


def _equivalent(automaton: Automaton) -> Ints:
    """Return the equivalence class of each state, (Q,).

    Reference: Hopcroft (1971), "An n log n algorithm for minimizing states in a finite
        automaton".
    """
    _, first = np.unique(automaton.classes, return_inverse=True)
    block_Q: list[int] = first.reshape(-1).tolist()
    members: list[set[int]] = [set() for _ in range(max(block_Q) + 1)]
    for state, block in enumerate(block_Q):
        members[block].add(state)
    sources = _sources(automaton.transitions)
    pending = set(range(len(members)))
    while pending:
        splitter = list(members[pending.pop()])
        for sources_Q in sources:
            hit: dict[int, set[int]] = {}
            for source in (source for state in splitter for source in sources_Q[state]):
                hit.setdefault(block_Q[source], set()).add(source)
            for block, inside in hit.items():
                if len(inside) == len(members[block]):
                    continue
                if 2 * len(inside) > len(members[block]):
                    inside, members[block] = members[block] - inside, inside
                else:
                    members[block] -= inside
                # The smaller part is new and suffices, unless the whole is still in the queue.
                for state in inside:
                    block_Q[state] = len(members)
                pending.add(len(members))
                members.append(inside)
    return np.array(block_Q, dtype=np.int64)


def _sources(table_QS: Ints) -> list[list[list[int]]]:
    """Return, for every symbol and state, the states that the symbol leads there from."""
    sources: list[list[list[int]]] = [[[] for _ in table_QS] for _ in range(table_QS.shape[1])]
    for source, targets in enumerate(table_QS.tolist()):
        for symbol, target in enumerate(targets):
            sources[symbol][target].append(source)
    return sources


def _reachable(table_QS: Ints, start: int) -> list[int]:
    order, seen = [start], {start}
    for state in order:  # grows during the loop: breadth first
        for target in table_QS[state].tolist():
            if target not in seen:
                seen.add(target)
                order.append(target)
    return order
