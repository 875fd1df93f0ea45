"""A language (or string function): what a task plugin's factory returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from formalbench.contracts.specs import Splits
from formalbench.contracts.stream import Stream

Symbols = npt.NDArray[np.int64]
"""Strings of one length: (B strings, N symbols), ids 0 … |alphabet|-1."""

Labels = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Probabilities = npt.NDArray[np.float64]


class Corpus(NamedTuple):
    """Strings of several lengths, one after another.

    Attributes:
        symbols: (T,) the ids of all strings, END not among them.
        lengths: (B,) how many symbols each string has; they sum up to T.
    """

    symbols: Symbols
    lengths: Labels


class Language(ABC):
    """Strings over an alphabet, each with a class.

    For a language in the narrow sense there are two classes, 1 = in and 0 = out.
    Three methods make a language; the others have defaults or belong to the
    objectives ``tag``, ``next-symbols`` and ``generate``.

    Legend: B strings, N symbols each, S symbols in the alphabet.

    Attributes:
        alphabet: the symbols, as shown to people; a symbol's id is its index.
        num_classes: how many classes there are.
        closes: for `generate`, the ids of the closing brackets.
    """

    alphabet: tuple[str, ...]
    num_classes: int = 2
    closes: range = range(0)

    @abstractmethod
    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw strings for ``classify`` and ``tag``.

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

    def in_domain(self, strings_BN: Symbols) -> Mask:
        """Say which strings have a class at all, (B,); by default all of them."""
        return np.ones(len(strings_BN), dtype=np.bool_)

    def round_length(self, length: int) -> int:
        """Return the length that is used when `length` is asked for; by default itself."""
        return length

    def has_length(self, length: int) -> bool:
        """Say whether any string of exactly this length has a class."""
        return length >= 0 and self.round_length(length) == length

    def class_distribution(self, length: int) -> tuple[float, ...] | None:
        """Return the probability of each class among `sample`'s strings of this length.

        Chance levels are computed from it. None (the default) means unknown: then
        it is estimated from a large sample.
        """
        return None

    def splits(self, objective: str) -> Splits | None:
        """Return the lengths to train and test an objective on; None (the default): the spec's.

        For a family whose lengths depend on the fields of the name.
        """
        return None

    def near_misses(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw strings of class 0 that are nearly members, for hard tests; (count, length).

        A language that has none of this length returns (0, length), as all do by default.
        """
        return np.empty((0, length), dtype=np.int64)

    # For the objective `tag`.

    def classify_prefixes(self, strings_BN: Symbols) -> Labels:
        """Return the class of every non-empty prefix, (B, N)."""
        raise NotImplementedError

    # For the objectives `next-symbols` and `generate`.

    def has_members(self, length: int) -> bool:
        """Say whether the language has a member of exactly this length."""
        raise NotImplementedError

    def sample_members(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw members of exactly this length, uniformly; (count, length)."""
        raise NotImplementedError

    def next_symbols(self, strings_BN: Symbols) -> Mask:
        """Say what may follow every prefix, the empty one first.

        Returns:
            (B, N+1, S+1): for each symbol, whether some member begins with prefix
            and symbol; last, whether the prefix itself is a member ("may end here").
        """
        raise NotImplementedError

    # For the objective `generate`: bracket languages. Every symbol is a bracket, and the types
    # of a string's pairs are uniform and independent.

    def sample_generated(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw what the language's process generates, given that it has this length.

        Returns:
            (count, length) symbol ids of members.
        """
        raise NotImplementedError

    def open_brackets(self, strings_BN: Symbols) -> tuple[Labels, Labels]:
        """Find the innermost open bracket after every prefix, the empty one first.

        Returns:
            Its closing bracket, as an index of `closes`, and its position, each (B, N+1);
            -1 where nothing is open or the prefix begins no member.
        """
        raise NotImplementedError

    def next_distribution(self, strings_BN: Symbols) -> Probabilities:
        """Return the process's distribution over what follows every prefix.

        Returns:
            (B, N+1, S+1): END is last. Zeros where the prefix begins no member.
        """
        raise NotImplementedError

    def sample_corpus(self, stream: Stream, window: tuple[int, int], tokens: int) -> Corpus:
        """Draw what the process generates, until there are `tokens` tokens, END included.

        Args:
            stream: where every number comes from.
            window: the least and the greatest length, END included.
            tokens: the last string completes this number.
        """
        raise NotImplementedError

    def length_distribution(self, longest: int) -> Probabilities:
        """Return how probable it is that the process generates a string of a length.

        Returns:
            (longest + 1,): of each length from 0; they sum up to 1 or, since there are longer
            strings, to less.
        """
        raise NotImplementedError


def balanced(stream: Stream, count: int) -> Labels:
    """Return `count` labels, 0 and 1 in turn, the first by a coin; (count,)."""
    first = stream.integers(2, 1)
    return (np.arange(count, dtype=np.int64) + first) % 2
