"""Is a group of permutations solvable?

Reference: Barrington (1989), "Bounded-width polynomial-size branching programs recognize exactly
    those languages in NC¹": a language with a group in its monoid that is not solvable is complete
    for NC¹. Barrington and Thérien (1988): with solvable groups only it is in ACC⁰.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sympy.combinatorics import PermutationGroup

ENOUGH = 5
"""Points that the least group permutes which is not solvable, A5."""

MOST_POINTS = 150
"""That a group permutes: one that permutes more is only looked at if it is commutative."""


def is_solvable_group(permutations: Collection[tuple[int, ...]]) -> bool | None:
    """Say whether the group that permutations generate is solvable; None if it is too large."""
    points = len(next(iter(permutations)))
    if points < ENOUGH or commute(permutations):
        return True
    if points > MOST_POINTS:
        return None
    return bool(_generated(permutations).is_solvable)


def derived_length(permutations: Collection[tuple[int, ...]]) -> int | None:
    """Return the number of steps from the group that permutations generate down to the identity.

    A step leads from a group to the one that its commutators generate. No subnormal series with
    abelian factors is shorter.

    Returns:
        None if the group is not solvable, or too large.
    """
    if commute(permutations):
        trivial = all(list(one) == list(range(len(one))) for one in permutations)
        return 0 if trivial else 1
    if len(next(iter(permutations))) > MOST_POINTS:
        return None
    group = _generated(permutations)
    return len(group.derived_series()) - 1 if group.is_solvable else None


def _generated(permutations: Collection[tuple[int, ...]]) -> PermutationGroup:
    from sympy.combinatorics import Permutation, PermutationGroup

    generators = [Permutation(permutation) for permutation in sorted(permutations)]
    group = PermutationGroup(generators[0])
    for one in generators:
        if not group.contains(one):
            group = PermutationGroup([*group.generators, one])
    return group


def commute(permutations: Collection[tuple[int, ...]]) -> bool:
    """Say whether permutations commute."""
    return all(
        [one[point] for point in other] == [other[point] for point in one]
        for one, other in combinations(permutations, 2)
    )
