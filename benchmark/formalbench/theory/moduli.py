"""Modulo what does a regular language count?

A language whose groups are all commutative can be told by star-free conditions and by counting
modulo n, where n is the least number with gⁿ = 1 in all of them: parity counts modulo 2. One with
a group that is not commutative, as S3, takes more than that although it may be solvable.

Reference: Straubing (1994), Finite automata, formal logic, and circuit complexity, chapter VII.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from formalbench.theory.groups import commute
from formalbench.theory.images import images

if TYPE_CHECKING:
    from formalbench.contracts.language import MinimalAutomaton


def modulus_of(automaton: MinimalAutomaton) -> int | None:
    """Return what a language counts modulo: 1 if it is star-free.

    Args:
        automaton: complete, deterministic and minimal.

    Returns:
        None if some group of the transition monoid is not commutative, or nobody can tell.
    """
    found = images(np.asarray(automaton.transitions, dtype=np.int64))
    groups = list(found.groups())
    if not found.complete or not all(map(commute, groups)):
        return None
    return math.lcm(*(_order(one) for group in groups for one in group))


def _order(permutation: tuple[int, ...]) -> int:
    """Return how often a permutation must be done to come back to where it began."""
    order, seen = 1, [False] * len(permutation)
    for start in range(len(permutation)):
        length, point = 0, start
        while not seen[point]:
            seen[point], point, length = True, permutation[point], length + 1
        order = math.lcm(order, max(1, length))
    return order
