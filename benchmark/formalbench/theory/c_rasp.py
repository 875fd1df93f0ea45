"""Decides whether a language is in C-RASP, and computes weights of a counting program for it.

C-RASP counts positions and compares sums of counts; it has no other access to positions. In a
strongly connected component of the automaton the state must therefore follow from counts alone:
each symbol needs a weight such that the weights along every path between two states have the same
sum, the *potential* between them. States of different potential are separated, and at the next
layer the weight of a symbol may depend on what is already known of the state it leads to. The
language is in C-RASP iff finally all states of every component are separated. Potentials are linear
forms in unknowns, computed exactly with fractions, in polynomial time.

This holds for an answer at an end marker after the string, as in the paper. An answer at the last
symbol a is an answer at an end marker after the rest of the string, for the language {u : ua in the
language}. Its automaton differs only in the classes of states, and can be smaller.

`counting_weights` returns such weights: one for each symbol and class of the state it leads to, so
that the sum along any path within a component is the potential of its end minus that of its start,
in small integers that separate the same states as the unknowns.

Reference: Yang, Veseli, Barloy, Cadilhac, Krebs, Paperman, Straubing and Hahn (2026),
    arXiv:2608.13433, appendix J.

Legend: Q states, S symbols.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, count
from math import lcm
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


def components(table_QS: Ints) -> Ints:
    """Return the strongly connected component of each state, (Q,)."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    count, symbols = table_QS.shape
    edges = np.ones(table_QS.size, dtype=np.int8)
    rows = np.arange(count + 1) * symbols
    graph = csr_array((edges, table_QS.reshape(-1), rows), shape=(count, count))
    _, label_Q = connected_components(graph, directed=True, connection="strong")
    numbers_Q: Ints = label_Q.astype(np.int64)
    return numbers_Q


def inner_edges(table_QS: Ints, label_Q: Ints) -> list[tuple[int, int, int]]:
    """Return the edges (from, symbol, to) that stay in a component of several states.

    Symbols with equal transitions are represented by the first one.
    """
    several_Q = np.bincount(label_Q)[label_Q] > 1
    _, distinct = np.unique(table_QS, axis=1, return_index=True)
    edges = []
    for symbol in sorted(distinct.tolist()):
        target_Q = table_QS[:, symbol]
        for state in np.flatnonzero(several_Q & (label_Q[target_Q] == label_Q)).tolist():
            edges.append((state, symbol, int(target_Q[state])))
    return edges


def minimal_table(table_QS: Ints, class_Q: Ints) -> Ints:
    """Return the transitions of the minimal automaton with the same class for every string.

    Args:
        table_QS: (Q, S) transitions; all states are reachable.
        class_Q: (Q,) class of strings that end in each state.
    """
    first, block_Q = equivalent_states(table_QS, class_Q)
    minimal_QS: Ints = block_Q[table_QS[first]]
    return minimal_QS


def equivalent_states(table_QS: Ints, class_Q: Ints) -> tuple[Ints, Ints]:
    """Return a state of each block of equivalent states, and the block of each state.

    Partition refinement (Moore 1956).
    """
    _, first, block_Q = np.unique(class_Q, return_index=True, return_inverse=True)
    while True:
        key_QS = np.column_stack((block_Q, block_Q[table_QS]))
        blocks = len(first)
        _, first, block_Q = np.unique(key_QS, axis=0, return_index=True, return_inverse=True)
        block_Q = block_Q.reshape(-1)
        if len(first) == blocks:
            return first, block_Q


Form = dict[int, Fraction]
"""A linear form: a coefficient for each free unknown."""

Edge = tuple[int, int, int]
"""From, symbol, to."""


class Round(NamedTuple):
    """The effect of one more layer of counting on the states of a component.

    Attributes:
        known: class of each state before this layer.
        potentials: potential of each state relative to the first.
        finer: class of each state after this layer.
    """

    known: dict[int, int]
    potentials: dict[int, Form]
    finer: dict[int, int]

    @property
    def tells_all(self) -> bool:
        """Whether all states are separated."""
        return len(set(self.finer.values())) == len(self.finer)


def in_c_rasp(table_QS: Ints, label_Q: Ints) -> bool:
    """Return whether C-RASP defines the language of a minimal automaton.

    Args:
        table_QS: (Q, S) the state reached from each state by each symbol.
        label_Q: (Q,) the strongly connected component of each state.
    """
    return all(
        counting_rounds(edges)[-1].tells_all for edges in edges_within(table_QS, label_Q).values()
    )


def in_c_rasp_last(table_QS: Ints, class_Q: Ints) -> bool:
    """Return whether C-RASP defines an automaton's language with the answer at the last symbol.

    Args:
        table_QS: (Q, S) the state reached from each state by each symbol; all can be reached.
        class_Q: (Q,) class of strings that end in each state.
    """
    return all(
        in_c_rasp(quotient_QS, components(quotient_QS))
        for quotient_QS in (
            minimal_table(table_QS, before_Q)
            for before_Q in np.unique(class_Q[table_QS], axis=1).T  # for each symbol
        )
    )


def edges_within(table_QS: Ints, label_Q: Ints) -> dict[int, list[Edge]]:
    """Return the inner edges of each component with several states."""
    edges = defaultdict(list)
    for edge in inner_edges(table_QS, label_Q):
        edges[int(label_Q[edge[0]])].append(edge)
    return dict(edges)


def counting_rounds(edges: list[Edge]) -> list[Round]:
    """Return the layers of counting in one component, until no more states are separated."""
    states = sorted({source for source, _, _ in edges})
    known: dict[int, int] = dict.fromkeys(states, 0)
    rounds: list[Round] = []
    while True:
        forms = _potentials(states, edges, known)
        groups: dict[Hashable, int] = {}
        finer = {
            state: groups.setdefault((known[state], frozenset(forms[state].items())), len(groups))
            for state in states
        }
        rounds.append(Round(known, forms, finer))
        if len(groups) in (len(states), len(set(known.values()))):
            return rounds
        known = finer


def _potentials(states: list[int], edges: list[Edge], known: dict[int, int]) -> dict[int, Form]:
    """Return the potential of each state relative to the first.

    Edges with the same label (symbol and known class of the target) have the same weight, so each
    edge gives an equation with the first edge of its label.
    """
    unknowns = _Unknowns(states[1:], zero=states[0])
    firsts: dict[tuple[int, int], Edge] = {}
    for edge in edges:
        source, symbol, target = edge
        first = firsts.setdefault((symbol, known[target]), edge)
        if first is not edge:
            unknowns.demand([(target, 1), (source, -1), (first[2], -1), (first[0], 1)])
    return unknowns.forms


class _Unknowns:
    """Unknowns under linear equations, each expressed by the free ones."""

    def __init__(self, names: Iterable[int], zero: int) -> None:
        self.forms: dict[int, Form] = {name: {name: Fraction(1)} for name in names}
        self.forms[zero] = {}
        self._users: dict[int, set[int]] = {name: {name} for name in self.forms}

    def demand(self, terms: list[tuple[int, int]]) -> None:
        """Add the equation that a linear combination of unknowns is zero."""
        total: Form = {}
        for name, times in terms:
            _add(total, self.forms[name], Fraction(times))
        if total:
            chosen = min(total, key=lambda free: len(self._users[free]))
            factor = -total.pop(chosen)
            self._replace(chosen, {free: number / factor for free, number in total.items()})

    def _replace(self, chosen: int, form: Form) -> None:
        """Substitute a form for a free unknown."""
        for user in self._users.pop(chosen):
            target = self.forms[user]
            factor = target.pop(chosen)
            _add(target, form, factor)
            for free in form:
                if free in target:
                    self._users[free].add(user)
                else:
                    self._users[free].discard(user)


def _add(total: Form, form: Form, factor: Fraction) -> None:
    """Add a multiple of a form to a total, without zero coefficients."""
    for free, number in form.items():
        value = total.get(free, 0) + factor * number
        if value:
            total[free] = value
        else:
            total.pop(free, None)


def is_r_trivial(label_Q: Ints) -> bool:
    """Return whether no path leaves a state and returns to it.

    Reference: Brzozowski and Fich (1980), "Languages of R-trivial monoids".
    """
    return bool((np.bincount(label_Q) <= 1).all())


@dataclass(frozen=True)
class Weights:
    """One layer of counting in a component.

    Attributes:
        weight: weight of each symbol and known class of the state it leads to.
        potential: potential of each state relative to the first.
        known: class of each state before this layer.
        finer: class of each state after this layer.
    """

    weight: Mapping[tuple[int, int], int]
    potential: Mapping[int, int]
    known: Mapping[int, int]
    finer: Mapping[int, int]


def counting_weights(table_QS: Ints, label_Q: Ints) -> dict[int, list[Weights]] | None:
    """Return the layers of counting for each component of several states.

    Args:
        table_QS: (Q, S) the state reached from each state by each symbol, of a minimal automaton.
        label_Q: (Q,) the strongly connected component of each state.

    Returns:
        None if C-RASP does not define the language. Symbols with equal transitions have the weights
        of the first one.
    """
    weights = {}
    for label, edges in edges_within(table_QS, label_Q).items():
        rounds = counting_rounds(edges)
        if not rounds[-1].tells_all:
            return None
        weights[label] = [_layer_weights(layer, edges) for layer in rounds]
    return weights


def _layer_weights(layer: Round, edges: list[Edge]) -> Weights:
    value = _values(layer)
    weight = {
        (symbol, layer.known[target]): value[target] - value[source]
        for source, symbol, target in edges
    }
    return Weights(weight, value, layer.known, layer.finer)


def _values(layer: Round) -> dict[int, int]:
    """Return integer potentials, with the smallest values of unknowns that separate the states."""
    forms = layer.potentials
    values = dict.fromkeys(forms, Fraction(0))
    for unknown, pairs in sorted(_pairs_by_last_unknown(layer).items()):
        for number in _small_first():
            candidate = {
                state: value + number * forms[state].get(unknown, 0)
                for state, value in values.items()
            }
            if all(candidate[a] != candidate[b] for a, b in pairs):
                break
        values = candidate
    scale = lcm(*(value.denominator for value in values.values()))
    return {state: int(value * scale) for state, value in values.items()}


def _pairs_by_last_unknown(layer: Round) -> dict[int, list[tuple[int, int]]]:
    """Return for each unknown the pairs of states for whose difference it is the last unknown."""
    pairs: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for first, second in combinations(layer.potentials, 2):
        if layer.known[first] == layer.known[second] and layer.finer[first] != layer.finer[second]:
            a, b = layer.potentials[first], layer.potentials[second]
            last = max(name for name in {*a, *b} if a.get(name, 0) != b.get(name, 0))
            pairs[last].append((first, second))
    return pairs


def _small_first() -> Iterator[int]:
    """Yield 1, -1, 2, -2 and so on."""
    for size in count(1):
        yield from (size, -size)
