"""A language, and what some languages know besides: what a task plugin's factory returns.

A language inherits, beside `Language`, the small classes below for what else it knows. An
objective says which of them it needs.

Legend: B strings, N symbols each, S symbols in the alphabet.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np

from formalbench.contracts.source import Labels, Mask, Probabilities, Source, Strings, Symbols
from formalbench.contracts.stream import Stream

Split = Literal["train", "validation", "test"]


class Language(Source):
    """Strings over an alphabet, each with a class.

    For a language in the narrow sense there are two classes, 1 = in and 0 = out.
    Three methods make a language; the others have defaults.

    Attributes:
        num_classes: how many classes there are.
    """

    num_classes: int = 2

    @abstractmethod
    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw strings of all classes.

        With two classes, half of them (up to one) are of each class where the length has both;
        `balanced` helps. Every number comes from `stream`.

        Returns:
            (count, length) symbol ids.
        """

    @abstractmethod
    def classify(self, strings_BN: Symbols) -> Labels:
        """Return the class of each string, (B,); batched and fast."""

    @abstractmethod
    def oracle(self, string: Sequence[int]) -> int:
        """Return the class of one string, slowly and obviously.

        Written from the definition, sharing no code with `classify` and `sample`:
        tests compare the two.
        """

    def class_distribution(self, length: int) -> tuple[float, ...] | None:
        """Return the probability of each class among `sample`'s strings of this length.

        Chance levels are computed from it. None (the default) means unknown: then
        it is estimated from a large sample.
        """
        return None


class HasPrefixClasses(ABC):
    """Knows the class of every prefix."""

    @abstractmethod
    def classify_prefixes(self, strings_BN: Symbols) -> Labels:
        """Return the class of every non-empty prefix, (B, N)."""


class HasQuestions(ABC):
    """Asks for the classes of some prefixes only."""

    @abstractmethod
    def asked(self, strings_BN: Symbols) -> Mask:
        """Say which symbols end a prefix whose class is asked for, (B, N)."""


class HasMembers(ABC):
    """Has members that can be drawn, and knows what may follow a prefix of one."""

    @abstractmethod
    def has_members(self, length: int) -> bool:
        """Say whether the language has a member of exactly this length."""

    @abstractmethod
    def sample_members(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw members of exactly this length, uniformly; (count, length)."""

    @abstractmethod
    def next_symbols(self, strings_BN: Symbols) -> Mask:
        """Say what may follow every prefix, the empty one first.

        Returns:
            (B, N+1, S+1): for each symbol, whether some member begins with prefix
            and symbol; last, whether the prefix itself is a member ("may end here").
        """


class HasNearMisses(ABC):
    """Can draw strings that are nearly members."""

    @abstractmethod
    def near_misses(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw strings of class 0 that are nearly members, for hard tests; (count, length).

        A language that has none of this length returns (0, length).
        """


class HasProcess(ABC):
    """Has a process that generates its members, END included."""

    @abstractmethod
    def sample_generated(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw what the process generates, given that it has this length, (count, length)."""

    @abstractmethod
    def sample_corpus(self, stream: Stream, window: tuple[int, int], tokens: int) -> Strings:
        """Draw what the process generates, until there are `tokens` tokens, END included.

        Args:
            stream: where every number comes from.
            window: the least and the greatest length, END included.
            tokens: the last string completes this number.
        """

    @abstractmethod
    def length_distribution(self, longest: int) -> Probabilities:
        """Return how probable it is that the process generates a string of a length.

        Returns:
            (longest + 1,): of each length from 0; they sum up to 1 or, since there are longer
            strings, to less.
        """

    @abstractmethod
    def next_distribution(self, strings_BN: Symbols) -> Probabilities:
        """Return the process's distribution over what follows every prefix.

        Returns:
            (B, N+1, S+1): END is last. Zeros where the prefix begins no member.
        """


class HasBrackets(ABC):
    """Consists of brackets; the types of a string's pairs are uniform and independent.

    Attributes:
        closes: the ids of the closing brackets.
    """

    closes: range

    @abstractmethod
    def open_brackets(self, strings_BN: Symbols) -> tuple[Labels, Labels]:
        """Find the innermost open bracket after every prefix, the empty one first.

        Returns:
            Its closing bracket, as an index of `closes`, and its position, each (B, N+1);
            -1 where nothing is open or the prefix begins no member.
        """


class MinimalAutomaton(Protocol):
    """A minimal complete deterministic automaton, with a class at every state.

    Attributes:
        transitions: (Q, S), the state reached from each state by each symbol.
        classes: (Q,), the class of the strings that end in each state.
        start: the state of the empty string.
    """

    @property
    def transitions(self) -> Labels: ...  # noqa: D102
    @property
    def classes(self) -> Labels: ...  # noqa: D102
    @property
    def start(self) -> int: ...  # noqa: D102


class HasAutomaton(ABC):
    """Is given by an automaton."""

    @property
    @abstractmethod
    def automaton(self) -> MinimalAutomaton:
        """The minimal automaton.

        Raises:
            AttributeError: if this member of a family has none.
        """


class HasParts(ABC):
    """Can keep strings of the same length apart: some are for training, others for the test.

    For lengths with so few members that training sees them all.
    """

    @abstractmethod
    def part(self, split: Split) -> Source:
        """Return the source that draws what is for a split, itself if nothing is kept apart."""

    def overlap(self) -> str | None:
        """Say in a few words what of the test is trained on, empty if nothing is.

        None (the default): strings are told apart by their lengths, and these say it.
        """
        return None


class HasFixedStrings(ABC):
    """Has so many strings and no others, as one that is read from files.

    Each is tested, once for every time that it is there; all are trained on equally often.

    Attributes:
        groups: the names of what its strings are divided into; one empty name if they are not.
        together: whether all strings of a group are tested as one cell, whatever their lengths, as
            a measure of a whole corpus needs it; else those of each length are one.
    """

    groups: tuple[str, ...] = ("",)
    together: bool = False

    @abstractmethod
    def fixed(self, length: int, group: str) -> Symbols:
        """Return the strings of a length that are in a group, (B, length)."""

    @abstractmethod
    def number(self, length: int) -> int:
        """Return how many strings of a length there are, in all groups."""


CAPABILITIES: dict[type, str] = {
    HasPrefixClasses: "the class of every prefix",
    HasQuestions: "questions",
    HasMembers: "members and what may follow a prefix",
    HasNearMisses: "near misses",
    HasProcess: "a process that generates members",
    HasBrackets: "brackets",
    HasAutomaton: "an automaton",
}
"""What each capability is, in an error that says which one is missing."""


def balanced(stream: Stream, count: int) -> Labels:
    """Return `count` labels, 0 and 1 in turn, the first by a coin; (count,)."""
    first = stream.integers(2, 1)
    return (np.arange(count, dtype=np.int64) + first) % 2
