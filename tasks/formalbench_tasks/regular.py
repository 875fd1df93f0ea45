"""Languages and string functions given by an automaton: what all of them share.

Legend: B strings, N positions, S symbols.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from formalbench.contracts.language import (
    HasAutomaton,
    HasMembers,
    HasPrefixClasses,
    Language,
    balanced,
)
from formalbench.contracts.source import Labels, Mask, Symbols
from formalbench.contracts.stream import Stream

from formalbench_tasks.automaton import Automaton
from formalbench_tasks.limits import check_length
from formalbench_tasks.negatives import corrupt


class AutomatonFunction(Language, HasPrefixClasses, HasAutomaton):
    """A class for every string, computed by an automaton; strings are drawn uniformly.

    Args:
        alphabet: the symbols.
        automaton: the minimal automaton.
        num_classes: how many classes there are; the automaton may reach fewer.
    """

    def __init__(self, alphabet: Sequence[str], automaton: Automaton, num_classes: int) -> None:
        if len(alphabet) != automaton.num_symbols:
            raise ValueError(f"{len(alphabet)} symbols, but {automaton.num_symbols} transitions")
        if automaton.paths.num_classes > num_classes:
            raise ValueError(f"the automaton has classes beyond {num_classes - 1}")
        self.alphabet = tuple(alphabet)
        self._automaton = automaton
        self.num_classes = num_classes

    @property
    def automaton(self) -> Automaton:
        """The minimal automaton."""
        return self._automaton

    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw uniform strings, (count, length)."""
        check_length(length)
        return stream.integers(len(self.alphabet), (count, length))

    def classify(self, strings_BN: Symbols) -> Labels:
        """Return the class of each string, (B,)."""
        return self.automaton.classify(strings_BN)

    def class_distribution(self, length: int) -> tuple[float, ...]:
        """Return the probability of each class among `sample`'s strings of this length."""
        return self.automaton.paths.distribution(length, range(self.num_classes))

    def classify_prefixes(self, strings_BN: Symbols) -> Labels:
        """Return the class of every non-empty prefix, (B, N)."""
        return self.automaton.classify_prefixes(strings_BN)


class RegularLanguage(AutomatonFunction, HasMembers):
    """A regular language: class 1 is in, class 0 is out.

    Members and non-members are drawn uniformly among those of the length asked for.
    With `hard_negatives`, half of the non-members are edited members instead, because
    nearly all uniform strings are rejected trivially when a language is sparse.
    """

    hard_negatives: bool = True

    def __init__(self, alphabet: Sequence[str], automaton: Automaton) -> None:
        super().__init__(alphabet, automaton, num_classes=2)

    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw as many members as non-members (up to one) where the length has both."""
        classes_B = self._classes(stream, length, count)
        if not (self.hard_negatives and self._mixed(length)):
            return self.automaton.paths.sample(stream, length, classes_B)
        negatives = np.flatnonzero(classes_B == 0)
        edited = negatives[balanced(stream, len(negatives)) == 1]
        classes_B[edited] = 1
        strings_BN = self.automaton.paths.sample(stream, length, classes_B)
        strings_BN[edited] = self._edited(stream, strings_BN[edited])
        return strings_BN

    def class_distribution(self, length: int) -> tuple[float, ...]:
        """Return the probability of out and in among `sample`'s strings of this length."""
        if self._mixed(length):
            return (0.5, 0.5)
        return (0.0, 1.0) if self.has_members(length) else (1.0, 0.0)

    def has_members(self, length: int) -> bool:
        """Say whether the language has a member of exactly this length."""
        return self.automaton.paths.has_class(length, 1)

    def sample_members(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw members of exactly this length, uniformly; (count, length).

        Raises:
            ValueError: if there is none.
            RequestError: if they would be too long.
        """
        return self.automaton.paths.sample(stream, length, np.ones(count, dtype=np.int64))

    def next_symbols(self, strings_BN: Symbols) -> Mask:
        """Say what may follow every prefix, the empty one first, (B, N+1, S+1)."""
        return self.automaton.next_symbols(strings_BN)

    def _mixed(self, length: int) -> bool:
        paths = self.automaton.paths
        return paths.has_class(length, 0) and paths.has_class(length, 1)

    def _classes(self, stream: Stream, length: int, count: int) -> Labels:
        if self._mixed(length):
            return balanced(stream, count)
        return np.full(count, int(self.has_members(length)), dtype=np.int64)

    def _edited(self, stream: Stream, members_BN: Symbols) -> Symbols:
        """Return hard negatives made from members; uniform ones where that fails."""
        strings_BN, stuck_B = corrupt(
            stream, members_BN, len(self.alphabet), lambda strings: self.classify(strings) == 1
        )
        outside = np.zeros(np.count_nonzero(stuck_B), dtype=np.int64)
        length = members_BN.shape[1]
        strings_BN[stuck_B] = self.automaton.paths.sample(stream, length, outside)
        return strings_BN
