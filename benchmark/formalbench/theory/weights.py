"""The witness that C-RASP defines a regular language: whole numbers to count with.

What `formalbench.theory.counting` decides with unknowns is written out here: a weight for every
symbol and class of the state it leads to, by which the sum along any path within a component is the
potential of its end less that of its start, in small whole numbers that still tell apart what the
unknowns do.

Reference: Yang, Veseli, Barloy, Cadilhac, Krebs, Paperman, Straubing and Hahn (2026),
    arXiv:2608.13433, appendix J.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, count
from math import lcm

from formalbench.theory.components import Ints
from formalbench.theory.counting import Edge, Round, counting_rounds, edges_within


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
    """Return potentials in whole numbers, of each unknown the smallest that tells states apart."""
    forms = told.potentials
    values = dict.fromkeys(forms, Fraction(0))
    for unknown, pairs in sorted(_told_by_last(told).items()):
        for number in _small_first():
            tried = {
                state: value + number * forms[state].get(unknown, 0)
                for state, value in values.items()
            }
            if all(tried[one] != tried[other] for one, other in pairs):
                break
        values = tried
    scale = lcm(*(value.denominator for value in values.values()))
    return {state: int(value * scale) for state, value in values.items()}


def _told_by_last(told: Round) -> dict[int, list[tuple[int, int]]]:
    """Return, for each unknown, the pairs of states whose difference it is the last to decide."""
    pairs: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for one, other in combinations(told.potentials, 2):
        if told.known[one] == told.known[other] and told.finer[one] != told.finer[other]:
            a, b = told.potentials[one], told.potentials[other]
            last = max(name for name in {*a, *b} if a.get(name, 0) != b.get(name, 0))
            pairs[last].append((one, other))
    return pairs


def _small_first() -> Iterator[int]:
    """Yield 1, -1, 2, -2 and so on."""
    for size in count(1):
        yield from (size, -size)
