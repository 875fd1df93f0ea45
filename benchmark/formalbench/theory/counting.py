"""Does C-RASP define a regular language? Decided on its minimal automaton.

C-RASP counts positions and compares sums of counts; it has no other notion of where it is. In a
strongly connected component of the automaton the state must therefore be told from counts alone:
there has to be a weight for every symbol, by which the weights along every path from one state to
another come to the same sum, the *potential* between them. States of different potential are told
apart, and at the next layer symbols may be weighted by what is known already of the state they
lead to. The language is in C-RASP iff in every component all states are told apart in the end.

Potentials are linear forms in unknowns, worked out exactly in fractions. The time is polynomial.

All this is for an answer at an end marker behind the string, as the paper has it. An answer at the
last symbol a is the answer at an end marker behind the string without it, of the language {u : ua
in the language}: its automaton is the same but for the classes of its states, and can be smaller.

Reference: Yang, Veseli, Barloy, Cadilhac, Krebs, Paperman, Straubing and Hahn (2026),
    arXiv:2608.13433, appendix J.

Legend: Q states, S symbols.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from formalbench.theory.components import Ints, components, inner_edges, minimal_table

Form = dict[int, Fraction]
"""A linear form: a coefficient for each free unknown."""

Edge = tuple[int, int, int]
"""From, symbol, to."""


class Round(NamedTuple):
    """What one more layer of counting tells of the states of a component.

    Attributes:
        known: the class of each state that is told already.
        potentials: of each state, from the first one on.
        finer: its class now.
    """

    known: dict[int, int]
    potentials: dict[int, Form]
    finer: dict[int, int]

    @property
    def tells_all(self) -> bool:
        """Whether every state is told apart."""
        return len(set(self.finer.values())) == len(self.finer)


def in_c_rasp(table_QS: Ints, label_Q: Ints) -> bool:
    """Say whether C-RASP defines the language of a minimal automaton.

    Args:
        table_QS: (Q, S) the state reached from each state by each symbol.
        label_Q: (Q,) the strongly connected component of each state.
    """
    return all(
        counting_rounds(edges)[-1].tells_all for edges in edges_within(table_QS, label_Q).values()
    )


def in_c_rasp_last(table_QS: Ints, class_Q: Ints) -> bool:
    """Say whether C-RASP defines the language of an automaton, with the answer at the last symbol.

    Args:
        table_QS: (Q, S) the state reached from each state by each symbol; all can be reached.
        class_Q: (Q,) the class of the strings that end in each state.
    """
    return all(
        in_c_rasp(quotient_QS, components(quotient_QS))
        for quotient_QS in (
            minimal_table(table_QS, before_Q)
            for before_Q in np.unique(class_Q[table_QS], axis=1).T  # for each symbol
        )
    )


def edges_within(table_QS: Ints, label_Q: Ints) -> dict[int, list[Edge]]:
    """Return the inner edges of each component that has several states."""
    edges = defaultdict(list)
    for edge in inner_edges(table_QS, label_Q):
        edges[int(label_Q[edge[0]])].append(edge)
    return dict(edges)


def counting_rounds(edges: list[Edge]) -> list[Round]:
    """Return the rounds of counting in one component, until they tell no more."""
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
    """Return the potential of every state, from the first one on.

    Edges of one label, a symbol and what is known of the state that it leads to, all weigh the
    same: every edge gives an equation with the first one of its label.
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
    """Unknowns under linear equations, each written as a form in those that are still free."""

    def __init__(self, names: Iterable[int], zero: int) -> None:
        self.forms: dict[int, Form] = {name: {name: Fraction(1)} for name in names}
        self.forms[zero] = {}
        self._users: dict[int, set[int]] = {name: {name} for name in self.forms}

    def demand(self, terms: list[tuple[int, int]]) -> None:
        """Let a sum of unknowns, each times a number, be zero."""
        total: Form = {}
        for name, times in terms:
            _add(total, self.forms[name], Fraction(times))
        if total:
            chosen = min(total, key=lambda free: len(self._users[free]))
            factor = -total.pop(chosen)
            self._replace(chosen, {free: number / factor for free, number in total.items()})

    def _replace(self, chosen: int, form: Form) -> None:
        """Write a free unknown as a form in others wherever it occurs."""
        for user in self._users.pop(chosen):
            written = self.forms[user]
            factor = written.pop(chosen)
            _add(written, form, factor)
            for free in form:
                if free in written:
                    self._users[free].add(user)
                else:
                    self._users[free].discard(user)


def _add(total: Form, form: Form, factor: Fraction) -> None:
    """Add a form, times a factor, to a total; keep no zeros."""
    for free, number in form.items():
        value = total.get(free, 0) + factor * number
        if value:
            total[free] = value
        else:
            total.pop(free, None)


def is_r_trivial(label_Q: Ints) -> bool:
    """Say whether no path leaves a state and comes back to it.

    Reference: Brzozowski and Fich (1980), "Languages of R-trivial monoids".
    """
    return bool((np.bincount(label_Q) <= 1).all())
