"""Languages given by an automaton, a regular expression or a table.

Legend: B strings, N positions, S symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np
from formalbench.contracts.source import (
    HasAutomaton,
    HasMembers,
    HasPrefixClasses,
    Labels,
    Language,
    Mask,
    Stream,
    Symbols,
    balanced,
)

from formalbench_tasks.automata.automaton import Automaton
from formalbench_tasks.automata.long_runs import LongRuns
from formalbench_tasks.automata.regex import Definition
from formalbench_tasks.limits import check_length
from formalbench_tasks.near_misses import ORDER, NonMembers, in_balance


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
        strings_BN[edited] = self._non_members.edited(stream, strings_BN[edited])
        return strings_BN

    def class_distribution(self, length: int) -> tuple[float, ...]:
        """Return the probability of out and in among `sample`'s strings of this length."""
        if self._mixed(length):
            return (0.5, 0.5)
        return (0.0, 1.0) if self.has_members(length) else (1.0, 0.0)

    def has_members(self, length: int) -> bool:
        """Return whether the language has a member of exactly this length."""
        return self.automaton.paths.has_class(length, 1)

    def sample_members(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw members of exactly this length, uniformly; (count, length).

        Raises:
            ValueError: if there is none.
            RequestError: if they would be too long.
        """
        return self.automaton.paths.sample(stream, length, np.ones(count, dtype=np.int64))

    def next_symbols(self, strings_BN: Symbols) -> Mask:
        """Return what may follow every prefix, the empty one first, (B, N+1, S+1)."""
        return self.automaton.next_symbols(strings_BN)

    def _mixed(self, length: int) -> bool:
        paths = self.automaton.paths
        return paths.has_class(length, 0) and paths.has_class(length, 1)

    def _classes(self, stream: Stream, length: int, count: int) -> Labels:
        if self._mixed(length):
            return balanced(stream, count)
        return np.full(count, int(self.has_members(length)), dtype=np.int64)

    @cached_property
    def _non_members(self) -> NonMembers:
        return NonMembers(
            members=self.sample_members,
            is_member=self._is_member,
            uniform=self._uniform,
            symbols=len(self.alphabet),
            ways=ORDER if self._order_counts else (),
        )

    def _is_member(self, strings_BN: Symbols) -> Mask:
        inside_B: Mask = self.classify(strings_BN) == 1
        return inside_B

    def _uniform(self, stream: Stream, length: int, count: int) -> Symbols:
        return self.automaton.paths.sample(stream, length, np.zeros(count, dtype=np.int64))

    @cached_property
    def _order_counts(self) -> bool:
        """Whether any two symbols after the first one may lead elsewhere in another order."""
        table_QS: Labels = self.automaton.transitions
        two_QSS = table_QS[table_QS[np.unique(table_QS)]]  # from states that some symbol leads to
        return not np.array_equal(two_QSS, two_QSS.transpose(0, 2, 1))


class UniformLanguage(RegularLanguage):
    """The language of a regular expression or an automaton, uniform within each class.

    Args:
        definition: what the file says.
    """

    hard_negatives = False

    def __init__(self, definition: Definition) -> None:
        super().__init__(definition.alphabet, definition.build())
        self.definition = definition

    def oracle(self, string: Sequence[int]) -> int:
        """Follow the definition as it was written, without the minimal automaton."""
        return int(self.definition.contains(string))


class EditedLanguage(UniformLanguage):
    """The same with uniform members; half of the non-members are edited members, half uniform."""

    hard_negatives = True


class CustomLanguage(UniformLanguage):
    """The same with non-members that are mostly near misses.

    Members are uniform. Of the non-members half are members with two parts exchanged that begin
    alike and end alike, so that the symbols, the ends and all pairs of neighbours stay
    (`formalbench_tasks.near_misses`); a quarter are members with what is between the ends in
    another order, an eighth members after a few random edits, an eighth uniform. Where one way
    of rearranging leads to members only, the other is tried, and then half are edited and half
    uniform. Any change to this is a new number in
    `formalbench_tasks.automata.language_file.SAMPLERS`.
    """

    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw as many members as non-members (up to one) where the length has both."""
        if not self._mixed(length):
            return super().sample(stream, length, count)
        return in_balance(stream, length, count, self.sample_members, self._non_members.draw)


class LongRunsLanguage(UniformLanguage):
    """The same with runs of equal symbols that are short in some strings and long in others.

    Non-members are members in which the border between two runs was moved by a symbol, where there
    are such (`formalbench_tasks.automata.long_runs`). Any change to this is a new number in
    `formalbench_tasks.automata.language_file.SAMPLERS`.
    """

    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw as many members as non-members (up to one) where the length has both."""
        if not self._mixed(length):
            return self._runs.draw(stream, length, self._classes(stream, length, count))
        return in_balance(stream, length, count, self.sample_members, self._runs.draw_near)

    def sample_members(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw members of exactly this length, (count, length).

        Raises:
            ValueError: if there is none.
            RequestError: if they would be too long.
        """
        if not self.has_members(length):
            raise ValueError(f"no string of length {length} has class 1")
        return self._runs.draw(stream, length, np.ones(count, dtype=np.int64))

    @cached_property
    def _runs(self) -> LongRuns:
        return LongRuns(self.automaton, self._is_member)


DRAWN: Mapping[str, Callable[[Definition], UniformLanguage]] = {
    "near-misses": CustomLanguage,
    "edited": EditedLanguage,
    "uniform": UniformLanguage,
    "long-runs": LongRunsLanguage,
}
"""By what a file says under ``sampling``."""
