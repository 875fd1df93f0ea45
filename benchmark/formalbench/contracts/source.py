"""Where strings come from: streams of random numbers, languages and what they can do, functions.

Philox gives raw 64-bit integers; everything else is integer arithmetic, or a
multiplication by a power of two. No library's distribution code is involved,
so no version of NumPy, no device and no operating system can change a symbol.

A language inherits, beside `Language`, the small classes below for what else it knows. An
objective says which of them it needs.

Legend: B strings, N symbols each, S symbols in the alphabet.
"""

from __future__ import annotations

import hashlib
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from formalbench.contracts.specs import Splits
from formalbench.contracts.theory import Theory

_LOW_32 = np.uint64(0xFFFFFFFF)

_SHIFT_32 = np.uint64(32)

_SHIFT_11 = np.uint64(11)


class Stream:
    """A reproducible stream of random numbers, named by its key.

    Args:
        *key: anything JSON can write (numbers, strings, lists, dictionaries).
            Equal keys give equal streams, different keys independent ones.

    Example:
        >>> Stream("test", "parity", 1).integers(2, (2, 3)).shape
        (2, 3)
    """

    def __init__(self, *key: object) -> None:
        self.key = key
        text = json.dumps(key, sort_keys=True, separators=(",", ":"))
        digest = hashlib.sha256(text.encode()).digest()
        words = np.frombuffer(digest[:16], dtype="<u8").astype(np.uint64)
        self._philox = np.random.Philox(key=words)

    def child(self, *key: object) -> Stream:
        """Return the stream whose key is this one's with `key` appended, from its start."""
        return Stream(*self.key, *key)

    def raw(self, count: int) -> npt.NDArray[np.uint64]:
        """Draw `count` uniform 64-bit integers."""
        drawn: npt.NDArray[np.uint64] = self._philox.random_raw(count)
        return drawn

    def integers(self, high: int, shape: int | tuple[int, ...]) -> npt.NDArray[np.int64]:
        """Draw integers uniform on 0 … high-1, exactly (by rejection, Lemire 2019).

        Args:
            high: how many values there are, 1 … 2^32.
            shape: the shape of the result.
        """
        if not 1 <= high <= 1 << 32:
            raise ValueError(f"high must be within 1 … 2^32, not {high}")
        size = math.prod(shape) if isinstance(shape, tuple) else shape
        threshold = np.uint64((1 << 32) % high)
        product = (self.raw(size) >> _SHIFT_32) * np.uint64(high)
        while (rejected := np.flatnonzero((product & _LOW_32) < threshold)).size:
            product[rejected] = (self.raw(rejected.size) >> _SHIFT_32) * np.uint64(high)
        return (product >> _SHIFT_32).astype(np.int64).reshape(shape)

    def below(self, highs: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Draw for each of `highs` (1 … 2^32) an integer uniform on 0 … high-1, as `integers` does.

        Args:
            highs: how many values there are; of any shape, which is the result's.
        """
        if highs.size and not 1 <= highs.min() <= highs.max() <= 1 << 32:
            raise ValueError(f"highs must be within 1 … 2^32, not {highs.min()} … {highs.max()}")
        values = highs.reshape(-1).astype(np.uint64)
        thresholds = np.uint64(1 << 32) % values
        products = (self.raw(values.size) >> _SHIFT_32) * values
        while (rejected := np.flatnonzero((products & _LOW_32) < thresholds)).size:
            products[rejected] = (self.raw(rejected.size) >> _SHIFT_32) * values[rejected]
        return (products >> _SHIFT_32).astype(np.int64).reshape(highs.shape)

    def uniform(self, shape: int | tuple[int, ...]) -> npt.NDArray[np.float64]:
        """Draw floats uniform on the multiples of 2^-53 in [0, 1)."""
        size = math.prod(shape) if isinstance(shape, tuple) else shape
        drawn = (self.raw(size) >> _SHIFT_11).astype(np.float64) * 2.0**-53
        return drawn.reshape(shape)


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
        """Return the length that is used for a requested `length`; by default the same."""
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
    """Texts, one after another, as tokens: a string is a window of the requested length.

    The symbols of the alphabet are the tokens; the last one ends a text. The alphabet must not
    contain the words of a text, because a task's page shows it.

    Attributes:
        last_only: whether only the last token of a window is scored, as in tests, so that every
            scored token has the same number of tokens before it.
    """

    last_only: bool = False


class PairedCorpus(Source):
    """Texts and their translations, as tokens: a string of it is a text.

    A text may be there several times, with one translation or with others. For both sides the
    words are not to be shown to people (`Corpus`).

    Legend: B texts, N tokens each, M tokens of the longest translation.

    Attributes:
        outputs: the tokens of translations; ids as for the alphabet.
        tokenised: whether `words` returns text with spaces between words and marks.
    """

    outputs: tuple[str, ...]
    tokenised: bool = False

    @abstractmethod
    def translate(self, strings_BN: Symbols, stream: Stream) -> tuple[Symbols, Labels]:
        """Return a translation of each text.

        The translations of a text take turns, beginning with a random one. A batch with every
        pair of a text then has each translation once.

        Returns:
            (B, M) ids of tokens, 0 behind a translation's end, and (B,) how long each is.
        """

    @abstractmethod
    def words(self, outputs: Sequence[int]) -> str:
        """Return what tokens of a translation say."""


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
        """Return which symbols end a prefix whose class is scored, (B, N)."""


class HasMembers(ABC):
    """Samples members, and knows the symbols that may follow a prefix of one."""

    @abstractmethod
    def has_members(self, length: int) -> bool:
        """Say whether the language has a member of exactly this length."""

    @abstractmethod
    def sample_members(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw members of exactly this length, uniformly; (count, length)."""

    @abstractmethod
    def next_symbols(self, strings_BN: Symbols) -> Mask:
        """Return the symbols that may follow every prefix, the empty one first.

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
    """Divides the strings of a length into those of training, validation and test.

    For lengths with few members, which training would otherwise see completely.
    """

    @abstractmethod
    def part(self, split: Split) -> Source:
        """Return the source of a split; itself if the splits share their strings."""

    def overlap(self) -> str | None:
        """Return in a few words which test strings are trained on; empty if none are.

        None (the default) if the lengths of the splits decide it.
        """
        return None


class HasFixedStrings(ABC):
    """A source with a fixed, finite number of strings, such as one that is read from files.

    Each is tested, once for every time that it is there; all are trained on equally often.

    Attributes:
        groups: the names of what its strings are divided into; one empty name if they are not.
        together: whether all strings of a group are tested as one cell, as a measure of a whole
            corpus needs; otherwise the strings of each length are a cell.
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
