"""Languages given by an automaton, a regular expression or a table.

`LongRuns` draws strings with long runs, whose parity bounded counting does not determine. Uniform
strings have short runs (of two symbols, one in 256 is longer than 8), so an automaton that counts
only up to a bound is right on nearly all of them.

Legend: B strings, N positions, Q states, S symbols, C columns of a chain: S of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt
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
from formalbench_tasks.automata.paths import Paths
from formalbench_tasks.automata.regex import Definition
from formalbench_tasks.limits import check_length
from formalbench_tasks.near_misses import (
    ORDER,
    NonMembers,
    change_until_outside,
    in_balance,
    one_of,
)

Ints = npt.NDArray[np.int64]

MOST = 256
"""The longest mean length of a run, at any length of the string."""


def mean_runs(length: int) -> tuple[int, ...]:
    """Return the mean run lengths; equally many strings have each of them.

    About a half, a quarter, an eighth and a sixteenth of the string, as powers of two; and 2, as
    uniform strings of two symbols have.

    Example:
        >>> mean_runs(500)
        (2, 16, 32, 64, 128)
    """
    parts = (length >> shift for shift in (4, 3, 2, 1))
    return (2, *(min(MOST, 1 << max(1, part.bit_length() - 1)) for part in parts))


class Chain:
    """Strings of one class of an automaton, whose runs have a mean length.

    Given a uniformly drawn preceding symbol, each symbol, the first included, is the same as the
    one before with probability 1 - 1/mean, or one of the others. Of these strings those of a class
    are drawn, each with the probability that it has among them: an automaton that remembers the
    last symbol has a column for going on with it, which counts (mean - 1)(S - 1) times, and one for
    each other symbol.

    Args:
        automaton: of the language.
        mean: of the lengths of runs, at least 2.
    """

    def __init__(self, automaton: Automaton, mean: int) -> None:
        self._symbols = size = automaton.num_symbols
        self._start = automaton.start * size
        # Column c is the symbol c places on from the last one, in a circle.
        last_SC = (np.arange(size)[:, None] + np.arange(size)) % size
        next_QSC = automaton.transitions[:, last_SC] * size + last_SC
        weights_C = np.ones(size, dtype=np.int64)
        weights_C[0] = (mean - 1) * max(size - 1, 1)
        self._paths = Paths(
            next_QSC.reshape(-1, size),
            np.repeat(automaton.classes, size),
            self._start,
            weights_S=weights_C,
        )

    def sample(self, stream: Stream, length: int, classes_B: Labels) -> Symbols:
        """Draw strings of these classes, which the length must have; (B, N)."""
        before_B = stream.integers(self._symbols, len(classes_B))
        columns_BN = self._paths.sample(stream, length, classes_B, self._start + before_B)
        moved_BN = np.cumsum(columns_BN, axis=1)
        strings_BN: Symbols = (before_B[:, None] + moved_BN) % self._symbols
        return strings_BN


class LongRuns:
    """Draws strings with runs of all lengths, and non-members in which one border was moved.

    Args:
        automaton: of the language.
        is_member: tells members from non-members, (B, N) -> (B,).
    """

    def __init__(self, automaton: Automaton, is_member: Callable[[Symbols], Mask]) -> None:
        self._is_member = is_member
        self._chain = lru_cache(maxsize=None)(lambda mean: Chain(automaton, mean))

    def draw(self, stream: Stream, length: int, classes_B: Labels) -> Symbols:
        """Draw strings of these classes, which the length must have; (B, N)."""
        means = mean_runs(length)
        kind_B = stream.integers(len(means), len(classes_B))
        return self._draw(stream, length, classes_B, np.array(means)[kind_B])

    def draw_near(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw non-members, where both classes have strings of the length; (count, N).

        A member becomes one if the border between two of its runs moves by a symbol, which changes
        the parity of both. If no tried border leads outside, a non-member with runs of the same
        mean length is drawn.
        """
        means = np.array(mean_runs(length))
        mean_B = means[stream.integers(len(means), count)]
        members_BN = self._draw(stream, length, np.ones(count, dtype=np.int64), mean_B)
        strings_BN, inside_B = change_until_outside(
            stream, members_BN, self._is_member, move_border
        )
        if inside_B.any():
            outside_A = np.zeros(int(inside_B.sum()), dtype=np.int64)
            strings_BN[inside_B] = self._draw(stream, length, outside_A, mean_B[inside_B])
        return strings_BN

    def _draw(self, stream: Stream, length: int, classes_B: Labels, mean_B: Ints) -> Symbols:
        strings_BN = np.empty((len(classes_B), length), dtype=np.int64)
        for mean in np.unique(mean_B).tolist():
            of = np.flatnonzero(mean_B == mean)
            strings_BN[of] = self._chain(mean).sample(stream, length, classes_B[of])
        return strings_BN


def move_border(stream: Stream, strings_BN: Symbols) -> Symbols:
    """Move a border between two runs by a symbol, to either side, if there is one; (B, N)."""
    left_B = one_of(stream, strings_BN[:, :-1] != strings_BN[:, 1:])
    side_B = stream.integers(2, len(strings_BN))
    rows = np.flatnonzero(left_B >= 0)
    from_B, to_B = (left_B[rows] + side for side in (side_B[rows], 1 - side_B[rows]))
    moved_BN = strings_BN.copy()
    moved_BN[rows, to_B] = strings_BN[rows, from_B]
    return moved_BN


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
    are such (`formalbench_tasks.automata.regular_language`). Any change to this is a new number in
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
