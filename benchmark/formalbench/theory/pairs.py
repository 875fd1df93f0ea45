"""Does an automaton count modulo something? What pairs of states tell of it, in polynomial time.

An automaton counts if some word w moves distinct states in a circle, q0 → q1 → … → q0. Then the
pairs (q0, q1), (q1, q2), … lie in one strongly connected component of the graph of pairs. So it
counts modulo 2 iff some pair and the pair turned round share a component, and it does not count
at all if no component's pairs, taken as arrows between states, make up a circle. Between the two
the transition monoid has to decide.

Reference: McNaughton and Papert (1971), "Counter-Free Automata".

Legend: Q states, S symbols, P pairs.
"""

from __future__ import annotations

import numpy as np

from formalbench.theory.components import Ints, components

MOST_MOVES = 20_000_000
"""Pairs times symbols: beyond that pairs are not looked at."""


def counts_by_pairs(table_QS: Ints, label_Q: Ints) -> bool | None:
    """Say whether the automaton counts modulo something; None if pairs cannot tell."""
    table_QS = np.unique(table_QS, axis=1)
    if _any_symbol_counts(table_QS):
        return True
    count, symbols = table_QS.shape
    if count * count * symbols > MOST_MOVES:
        return None
    # Pair p·Q + q. Those that have met, or are in two components, go to (0, 0) and stay there.
    moved_QQS = table_QS[:, None, :] * count + table_QS[None, :, :]
    apart_QQ = (label_Q[:, None] == label_Q[None, :]) & ~np.eye(count, dtype=np.bool_)
    moved_QQS[~(apart_QQ[:, :, None] & apart_QQ.reshape(-1)[moved_QQS])] = 0
    label_P = components(moved_QQS.reshape(-1, symbols))
    pairs = np.flatnonzero((np.bincount(label_P)[label_P] > 1) & apart_QQ.reshape(-1))
    first, second, label = pairs // count, pairs % count, label_P[pairs]
    if (label == label_P[second * count + first]).any():
        return True
    return None if _any_circle(label * count + first, label * count + second) else False


def _any_symbol_counts(table_QS: Ints) -> bool:
    """Say whether some symbol, again and again, comes back to a state after several steps."""
    power_QS = table_QS
    for _ in range(len(table_QS).bit_length()):
        power_QS = np.take_along_axis(power_QS, power_QS, axis=0)
    return bool((np.take_along_axis(table_QS, power_QS, axis=0) != power_QS).any())


def _any_circle(sources: Ints, targets: Ints) -> bool:
    """Say whether any arrows from sources to targets make up a circle; none is a loop."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    nodes, index = np.unique(np.concatenate((sources, targets)), return_inverse=True)
    rows, columns = index[: len(sources)], index[len(sources) :]
    ones = np.ones(len(rows), dtype=np.int8)
    graph = coo_array((ones, (rows, columns)), shape=(len(nodes), len(nodes))).tocsr()
    number, _ = connected_components(graph, directed=True, connection="strong")
    return bool(number < len(nodes))
