"""Is a group of permutations solvable?

Reference: Barrington (1989), "Bounded-width polynomial-size branching programs recognize exactly
    those languages in NC¹": a language with a group in its monoid that is not solvable is complete
    for NC¹. Barrington and Thérien (1988): with solvable groups only it is in ACC⁰.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import combinations

ENOUGH = 5
"""Points that the least group permutes which is not solvable, A5."""

MOST_POINTS = 150
"""That a group permutes: one that permutes more is only looked at if it is commutative."""


def is_solvable_group(permutations: Collection[tuple[int, ...]]) -> bool | None:
    """Say whether the group that permutations generate is solvable; None if it is too large."""
    from sympy.combinatorics import Permutation, PermutationGroup

    points = len(next(iter(permutations)))
    if points < ENOUGH or commute(permutations):
        return True
    if points > MOST_POINTS:
        return None
    generators = [Permutation(permutation) for permutation in sorted(permutations)]
    group = PermutationGroup(generators[0])
    for one in generators:
        if not group.contains(one):
            group = PermutationGroup([*group.generators, one])
    return bool(group.is_solvable)


def commute(permutations: Collection[tuple[int, ...]]) -> bool:
    """Say whether permutations commute."""
    return all(
        [one[point] for point in other] == [other[point] for point in one]
        for one, other in combinations(permutations, 2)
    )
