"""The subset construction, with a bound.

The library's own has none, and the number of subsets may double with every symbol of an
expression.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from automata.fa.nfa import NFA

MOST_SUBSETS = 20_000
MOST_TRANSITIONS = 2_000_000
MOST_MEMBERS = 3_000_000
"""Of all subsets together."""


class TooLargeError(ValueError):
    """The deterministic automaton would be too large."""


def determinise(nfa: NFA, letters: Sequence[str]) -> tuple[list[list[int]], list[int]]:
    """Return the transitions and classes of the subsets that can be reached, the start first.

    Raises:
        TooLargeError: if they are too many.
    """
    found = _Subsets(nfa, min(MOST_SUBSETS, MOST_TRANSITIONS // len(letters)))
    found.number_of(frozenset({nfa.initial_state}))
    rows = []
    for subset in found.subsets:  # grows while it is walked
        moves: dict[str, set[int]] = {}
        for state in subset:
            for letter, targets in nfa.transitions.get(state, {}).items():
                moves.setdefault(letter, set()).update(targets)
        rows.append([found.number_of(frozenset(moves.get(letter, ()))) for letter in letters])
    return rows, [int(not subset.isdisjoint(nfa.final_states)) for subset in found.subsets]


class _Subsets:
    """The subsets found so far, closed under moves that read nothing.

    Args:
        nfa: whose states they hold.
        most: how many there may be.
    """

    def __init__(self, nfa: NFA, most: int) -> None:
        self.subsets: list[frozenset[int]] = []
        self._nfa = nfa
        self._most = most
        self._members = 0
        self._numbers: dict[frozenset[int], int] = {}
        self._closed: dict[frozenset[int], int] = {}

    def number_of(self, states: frozenset[int]) -> int:
        """Return the number of the smallest closed subset that holds these states."""
        if states not in self._closed:
            subset = self._closure(states)
            if subset not in self._numbers:
                self._numbers[subset] = len(self.subsets)
                self.subsets.append(subset)
            self._closed[states] = self._numbers[subset]
            self._members += len(subset)
            if len(self.subsets) > self._most or self._members > MOST_MEMBERS:
                raise TooLargeError
        return self._closed[states]

    def _closure(self, states: frozenset[int]) -> frozenset[int]:
        known, pending = set(states), list(states)
        while pending:
            fresh = self._nfa.transitions.get(pending.pop(), {}).get("", set()) - known
            known |= fresh
            pending.extend(fresh)
        return frozenset(known)
