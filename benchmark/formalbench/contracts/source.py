"""A source: where examples come from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from formalbench.contracts.specs import Splits
from formalbench.contracts.stream import Stream
from formalbench.contracts.theory import Theory

Symbols = npt.NDArray[np.int64]
"""Strings of one length: (B strings, N symbols), ids ``0 … |alphabet|-1``."""

Labels = npt.NDArray[np.int64]
"""Classes, 0, 1, …, of strings or of their prefixes."""

Mask = npt.NDArray[np.bool_]
"""Truth values, of strings or of symbols."""

Probabilities = npt.NDArray[np.float64]


class Strings(NamedTuple):
    """Strings of several lengths, one after another.

    Attributes:
        symbols: (T,) the ids of all strings.
        lengths: (B,) how many symbols each string has; they sum up to T.
    """

    symbols: Symbols
    lengths: Labels


class Source(ABC):
    """Where strings come from, and what is known of them.

    It emits symbol ids ``0 … |alphabet|-1`` and nothing else.

    Attributes:
        alphabet: the symbols, as shown to people; a symbol's id is its index.
        theory: the classes that theory puts it in, where it has no automaton to work them out
            from and its spec cannot say, as of a family whose members differ.
    """

    alphabet: tuple[str, ...]
    theory: Theory | None = None

    @abstractmethod
    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw strings, (count, length). Every number comes from `stream`."""

    def in_domain(self, strings_BN: Symbols) -> Mask:
        """Say which strings have an answer at all, (B,); by default all of them."""
        return np.ones(len(strings_BN), dtype=np.bool_)

    def round_length(self, length: int) -> int:
        """Return the length that is used when `length` is asked for; by default itself."""
        return length

    def has_length(self, length: int) -> bool:
        """Say whether any string of exactly this length has an answer."""
        return length >= 0 and self.round_length(length) == length

    def splits(self, objective: str) -> Splits | None:
        """Return the lengths to train and test an objective on; None (the default): the spec's.

        For a family whose lengths depend on the fields of the name.
        """
        return None


class Transduction(Source):
    """A function from strings to strings.

    Legend: B strings, N symbols each, M symbols of the longest answer.

    Attributes:
        outputs: the symbols of the answers, as shown to people; ids as for the alphabet.
    """

    outputs: tuple[str, ...]

    @abstractmethod
    def transduce(self, strings_BN: Symbols) -> tuple[Symbols, Labels]:
        """Return the answers, batched and fast.

        Returns:
            (B, M) ids of output symbols, 0 behind an answer's end, and (B,) how long each is.
        """

    @abstractmethod
    def oracle(self, string: Sequence[int]) -> list[int]:
        """Return the answer to one string, slowly and obviously.

        Written from the definition, sharing no code with `transduce` and `sample`.
        """

    def answer_length(self, length: int) -> int | None:
        """Return how long the answers to strings of a length are at most.

        None (the default) if that is not known from the length: then answers can only be
        decoded step by step, by encoder-decoders.
        """
        return None


class Corpus(Source):
    """Texts, one after another, as tokens: a string of it is a window of so many of them.

    The symbols of the alphabet are the tokens, the last one says that a text ends. It is not to
    be shown to people with the words of a text in it: the alphabet of a task is on its page.

    Attributes:
        last_only: whether of a window only the last token is asked for, as in tests, where each
            then has the same number of tokens before it.
    """

    last_only: bool = False
