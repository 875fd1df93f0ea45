"""An automaton as a graph: its strongly connected components, and the smallest one like it.

Legend: Q states, S symbols.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


def components(table_QS: Ints) -> Ints:
    """Return a number for each state, equal iff each of two can be reached from the other, (Q,)."""
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

    Of symbols that lead everywhere to the same states only the first counts.
    """
    several_Q = np.bincount(label_Q)[label_Q] > 1
    _, distinct = np.unique(table_QS, axis=1, return_index=True)
    found = []
    for symbol in sorted(distinct.tolist()):
        target_Q = table_QS[:, symbol]
        for state in np.flatnonzero(several_Q & (label_Q[target_Q] == label_Q)).tolist():
            found.append((state, symbol, int(target_Q[state])))
    return found


def minimal_table(table_QS: Ints, class_Q: Ints) -> Ints:
    """Return the transitions of the smallest automaton that gives every string the same class.

    States are separated by their classes, then by those of the states they lead to, and so on
    (Moore 1956).

    Args:
        table_QS: (Q, S) of an automaton all of whose states can be reached.
        class_Q: (Q,) the class of the strings that end in each state.
    """
    _, first, block_Q = np.unique(class_Q, return_index=True, return_inverse=True)
    while True:
        key_QS = np.column_stack((block_Q, block_Q[table_QS]))
        known = len(first)
        _, first, block_Q = np.unique(key_QS, axis=0, return_index=True, return_inverse=True)
        block_Q = block_Q.reshape(-1)
        if len(first) == known:
            minimal_QS: Ints = block_Q[table_QS[first]]
            return minimal_QS
