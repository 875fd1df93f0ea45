"""The witness that C-RASP defines a regular language: whole numbers to count with.

What `formalbench.theory.counting` decides with unknowns is written out here: a weight for every
symbol and class of the state it leads to, by which the sum along any path within a component is the
potential of its end less that of its start, in small whole numbers that still tell apart what the
unknowns do.

Reference: Yang, Veseli, Barloy, Cadilhac, Krebs, Paperman, Straubing and Hahn (2026),
    arXiv:2608.13433, appendix J.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from formalbench.contracts.stream import Stream
from formalbench.theory.components import Ints
from formalbench.theory.counting import Edge, Form, Round, counting_rounds, edges_within

_TRIES = 32


@dataclass(frozen=True)
class Weights:
    """One layer of counting in a component.

    Attributes:
        weight: of each symbol and the class, known already, of the state it leads to.
        potential: of each state.
        known: the class of each state that is known already.
        finer: its class now.
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
        None if C-RASP does not define the language. Symbols that lead everywhere to the same
        states have weights under the first of them.
    """
    found = {}
    for label, edges in edges_within(table_QS, label_Q).items():
        rounds = counting_rounds(edges)
        if not rounds[-1].tells_all:
            return None
        found[label] = [_in_numbers(each, edges) for each in rounds]
    return found


def _in_numbers(told: Round, edges: list[Edge]) -> Weights:
    value = _values(told)
    weight = {
        (symbol, told.known[target]): value[target] - value[source]
        for source, symbol, target in edges
    }
    return Weights(weight, value, told.known, told.finer)


def _values(told: Round) -> dict[int, int]:
    """Return potentials in whole numbers that are as small as some tries find them."""
    unknowns = sorted({name for form in told.potentials.values() for name in form})
    stream, most = Stream("counting weights"), 1
    while True:
        for row in stream.integers(2 * most + 1, (_TRIES, len(unknowns))).tolist():
            chosen = dict(zip(unknowns, (number - most for number in row), strict=True))
            exact = {state: _value(form, chosen) for state, form in told.potentials.items()}
            if len({(told.known[state], exact[state]) for state in exact}) == len(
                set(told.finer.values())
            ):
                scale = lcm(*(number.denominator for number in exact.values()))
                return {state: int(number * scale) for state, number in exact.items()}
        most *= 2


def _value(form: Form, chosen: Mapping[int, int]) -> Fraction:
    return sum((times * chosen[name] for name, times in form.items()), Fraction(0))
