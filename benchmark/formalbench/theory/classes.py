"""Computes the classes of a language from its minimal automaton.

An automaton counts if some word w moves distinct states in a cycle, q0 → q1 → … → q0. Then the
pairs (q0, q1), (q1, q2), … lie in one strongly connected component of the graph of pairs. So it
counts modulo 2 iff some pair and the reversed pair share a component, and it does not count if no
component's pairs, as edges between states, form a cycle. In all other cases the transition monoid
decides.

Reference: McNaughton and Papert (1971), "Counter-Free Automata".

Finite, R-trivial, C-RASP and C-RASP-last are decided in polynomial time. Whether a language is
star-free is PSPACE-complete (Cho and Huynh 1991). It is decided with C-RASP, pairs of states and
images of all states, up to the bounds in `formalbench.theory.classes` and
`formalbench.theory.transition_monoid`. Beyond them the answer is None, with a note.

Legend: Q states, S symbols, P pairs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from formalbench.contracts.theory import Theory
from formalbench.theory.c_rasp import (
    Ints,
    components,
    equivalent_states,
    in_c_rasp,
    in_c_rasp_last,
    is_r_trivial,
)
from formalbench.theory.transition_monoid import (
    ENOUGH,
    Images,
    images,
    is_in_ac0,
    is_solvable_group,
)

if TYPE_CHECKING:
    from formalbench.contracts.source import MinimalAutomaton


MOST_MOVES = 20_000_000
"""Maximum of pairs times symbols."""


def counts_by_pairs(table_QS: Ints, label_Q: Ints) -> bool | None:
    """Return whether the automaton counts modulo some number; None if pairs do not decide it."""
    table_QS = np.unique(table_QS, axis=1)
    if _any_symbol_counts(table_QS):
        return True
    count, symbols = table_QS.shape
    if count * count * symbols > MOST_MOVES:
        return None
    # Pair p·Q + q. Equal states and states in two components are mapped to the sink (0, 0).
    moved_QQS = table_QS[:, None, :] * count + table_QS[None, :, :]
    apart_QQ = (label_Q[:, None] == label_Q[None, :]) & ~np.eye(count, dtype=np.bool_)
    moved_QQS[~(apart_QQ[:, :, None] & apart_QQ.reshape(-1)[moved_QQS])] = 0
    label_P = components(moved_QQS.reshape(-1, symbols))
    pairs = np.flatnonzero((np.bincount(label_P)[label_P] > 1) & apart_QQ.reshape(-1))
    first, second, label = pairs // count, pairs % count, label_P[pairs]
    if (label == label_P[second * count + first]).any():
        return True
    return None if _has_cycle(label * count + first, label * count + second) else False


def _any_symbol_counts(table_QS: Ints) -> bool:
    """Return whether repeating one symbol forms a cycle of several states."""
    power_QS = table_QS
    for _ in range(len(table_QS).bit_length()):
        power_QS = np.take_along_axis(power_QS, power_QS, axis=0)
    return bool((np.take_along_axis(table_QS, power_QS, axis=0) != power_QS).any())


def _has_cycle(sources: Ints, targets: Ints) -> bool:
    """Return whether edges from sources to targets, none of them a loop, contain a cycle."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    nodes, index = np.unique(np.concatenate((sources, targets)), return_inverse=True)
    rows, columns = index[: len(sources)], index[len(sources) :]
    ones = np.ones(len(rows), dtype=np.int8)
    graph = coo_array((ones, (rows, columns)), shape=(len(nodes), len(nodes))).tocsr()
    number, _ = connected_components(graph, directed=True, connection="strong")
    return bool(number < len(nodes))


TOO_LARGE = "the transition monoid is too large to compute"


class _Automaton(NamedTuple):
    transitions: Ints
    classes: Ints
    start: int


def minimal(automaton: MinimalAutomaton) -> MinimalAutomaton:
    """Return the minimal automaton of a complete one: itself if it is minimal.

    Raises:
        ValueError: a state has no class, or a transition leads to no state.
    """
    table_QS, class_Q = np.asarray(automaton.transitions), np.asarray(automaton.classes)
    states = len(table_QS)
    whole = table_QS.ndim == 2 and class_Q.shape == (states,) and 0 <= automaton.start < states
    if not whole or not ((table_QS >= 0) & (table_QS < states)).all():
        raise ValueError(
            f"an automaton of {states} states needs a class for each and transitions (Q, S) "
            f"and a start from 0 to {states - 1}"
        )
    reached, size = np.array([automaton.start]), 0
    while len(reached) > size:
        size = len(reached)
        reached = np.union1d(reached, table_QS[reached])
    table_RS, class_R = np.searchsorted(reached, table_QS[reached]), class_Q[reached]
    first, block_R = equivalent_states(table_RS, class_R)
    if len(first) == states:
        return automaton
    start = int(block_R[np.searchsorted(reached, automaton.start)])
    return _Automaton(block_R[table_RS[first]], class_R[first], start)


def classes_of(automaton: MinimalAutomaton) -> Theory:
    """Compute the classes of an automaton's language.

    Args:
        automaton: complete, deterministic and minimal (`minimal` makes it so).
    """
    table_QS = np.asarray(automaton.transitions, dtype=np.int64)
    class_Q, label_Q = np.asarray(automaton.classes), components(table_QS)
    c_rasp = in_c_rasp(table_QS, label_Q)
    counts = False if c_rasp else counts_by_pairs(table_QS, label_Q)
    last = c_rasp or (not counts and in_c_rasp_last(table_QS, class_Q))
    facts: dict[str, Any] = {
        "finite": _is_finite(table_QS, label_Q, class_Q),
        "r_trivial": is_r_trivial(label_Q),
        "c_rasp": c_rasp,
        "c_rasp_last": last,
    }
    if last or counts is False:
        return Theory("regular", **facts, star_free=True, solvable=True)
    monoid = images(table_QS)
    star_free = _is_star_free(monoid, counts)
    solvable = star_free or _is_solvable(monoid, label_Q)
    note = TOO_LARGE if star_free is None or solvable is None else ""
    ac0 = star_free or (solvable and is_in_ac0(monoid))
    return Theory("regular", **facts, star_free=star_free, ac0=ac0, solvable=solvable, note=note)


def _is_star_free(monoid: Images, counts: bool | None) -> bool | None:
    if counts or any(monoid.groups()):
        return False
    return True if monoid.complete else None


def _is_solvable(monoid: Images, label_Q: Ints) -> bool | None:
    if np.bincount(label_Q).max() < ENOUGH:
        return True  # a group moves states within components
    answers = set(map(is_solvable_group, monoid.groups()))
    if False in answers:
        return False
    return True if monoid.complete and None not in answers else None


def _is_finite(table_QS: Ints, label_Q: Ints, class_Q: Ints) -> bool:
    """Return whether finitely many strings have a class other than 0."""
    reaches_Q = class_Q != 0
    while True:
        grown_Q = reaches_Q | reaches_Q[table_QS].any(axis=1)
        if np.array_equal(grown_Q, reaches_Q):
            break
        reaches_Q = grown_Q
    circles_Q = (label_Q[table_QS] == label_Q[:, None]).any(axis=1)
    return not (circles_Q & reaches_Q).any()
