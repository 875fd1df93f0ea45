"""Numbers that theorems use to state the size of a network.

Some describe the language (`numbers_of`), others the network (`sizes_of`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from formalbench.contracts.network import Traits
    from formalbench.contracts.source import MinimalAutomaton


def numbers_of(automaton: MinimalAutomaton) -> dict[str, int]:
    """Return numbers of a regular language that theorems use for sizes.

    Args:
        automaton: complete, deterministic and minimal.

    Returns:
        ``states`` and ``symbols`` of the automaton. If every symbol permutes the states, also
        ``transpositions``, the maximum number of transpositions in a symbol.
    """
    table_QS = np.asarray(automaton.transitions, dtype=np.int64)
    states, symbols = table_QS.shape
    numbers = {"states": states, "symbols": symbols}
    if not (np.sort(table_QS, axis=0) == np.arange(states)[:, None]).all():
        return numbers
    permutations = {tuple(column) for column in table_QS.T.tolist()}
    numbers["transpositions"] = max(states - _cycles(p) for p in permutations)
    return numbers


def sizes_of(traits: Traits) -> dict[str, int]:
    """Return depth, width and the integers in the notes of a network's traits.

    A depth that grows with the string is omitted.
    """
    sizes = {"depth": traits.depth, "width": traits.width, **traits.notes}
    return {name: value for name, value in sizes.items() if isinstance(value, int)}


def _cycles(permutation: tuple[int, ...]) -> int:
    """Return the number of cycles of a permutation, including fixed points."""
    seen: set[int] = set()
    count = 0
    for start in range(len(permutation)):
        count += start not in seen
        point = start
        while point not in seen:
            seen.add(point)
            point = permutation[point]
    return count
