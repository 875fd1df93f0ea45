"""The numbers by which theorems state how large a network they need.

Some are of the language (`numbers_of`), the others are what a network says of itself (`sizes_of`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from formalbench.theory.transition_monoid import derived_length

if TYPE_CHECKING:
    from formalbench.contracts.network import Traits
    from formalbench.contracts.source import MinimalAutomaton


def numbers_of(automaton: MinimalAutomaton) -> dict[str, int]:
    """Return the numbers of a regular language that sizes are stated by.

    Args:
        automaton: complete, deterministic and minimal.

    Returns:
        ``states`` and ``symbols`` of the automaton. If every symbol permutes the states, also
        ``transpositions``, the most that one symbol is a product of, and ``derived_length``, the
        least length of a subnormal series with abelian factors of the group that the symbols
        generate; the latter only if the group is solvable and not too large.
    """
    table_QS = np.asarray(automaton.transitions, dtype=np.int64)
    states, symbols = table_QS.shape
    numbers = {"states": states, "symbols": symbols}
    if not (np.sort(table_QS, axis=0) == np.arange(states)[:, None]).all():
        return numbers
    permutations = {tuple(column) for column in table_QS.T.tolist()}
    numbers["transpositions"] = max(states - _cycles(one) for one in permutations)
    if (length := derived_length(permutations)) is not None:
        numbers["derived_length"] = length
    return numbers


def sizes_of(traits: Traits) -> dict[str, int]:
    """Return what a network says of its size: depth, width, and the whole numbers in its notes.

    A depth that grows with the string is left out.
    """
    said = {"depth": traits.depth, "width": traits.width, **traits.notes}
    return {name: value for name, value in said.items() if isinstance(value, int)}


def _cycles(permutation: tuple[int, ...]) -> int:
    """Return how many cycles a permutation has, fixed points among them."""
    seen: set[int] = set()
    count = 0
    for start in range(len(permutation)):
        count += start not in seen
        point = start
        while point not in seen:
            seen.add(point)
            point = permutation[point]
    return count
