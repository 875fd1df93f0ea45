"""Sources of strings: random streams, languages and their capabilities, functions, texts.

Philox gives raw 64-bit integers; everything else is integer arithmetic, or a
multiplication by a power of two. No library's distribution code is involved,
so no version of NumPy, no device and no operating system can change a symbol.

A language inherits `Language` and, for what else it can do, the small classes below. Objectives
state which of them they need.

Legend: B strings, N symbols each, S symbols in the alphabet.
"""

from __future__ import annotations

import hashlib
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from formalbench.contracts.specs import Splits
from formalbench.contracts.theory import Theory

_LOW_32 = np.uint64(0xFFFFFFFF)

_SHIFT_32 = np.uint64(32)

_SHIFT_11 = np.uint64(11)


class Stream:
    """A reproducible stream of random numbers, determined by its key.

    Args:
        *key: JSON values (numbers, strings, lists, dictionaries). Equal keys give equal streams,
            different keys independent ones.

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
        """Return a new stream whose key is this one's followed by `key`."""
        return Stream(*self.key, *key)

    def raw(self, count: int) -> npt.NDArray[np.uint64]:
        """Draw `count` uniform 64-bit integers."""
        numbers: npt.NDArray[np.uint64] = self._philox.random_raw(count)
        return numbers

    def integers(self, high: int, shape: int | tuple[int, ...]) -> npt.NDArray[np.int64]:
        """Draw integers uniform on 0 … high-1, exactly (by rejection, Lemire 2019).

        Args:
            high: number of values, 1 … 2^32.
            shape: shape of the result.
        """
        size = math.prod(shape) if isinstance(shape, tuple) else shape
        return _below(self.raw, high, size).reshape(shape)

    def integers_each(self, highs: Sequence[int], count: int) -> npt.NDArray[np.int64]:
        """Draw what `integers` draws, called with each of `highs` in turn; (len(highs), count)."""
        values_H1, thresholds_H1 = _values(tuple(highs))
        words = self.raw(len(highs) * count)
        products = (words.reshape(len(highs), count) >> _SHIFT_32) * values_H1
        if not ((products & _LOW_32) < thresholds_H1).any():
            return (products >> _SHIFT_32).astype(np.int64)

        def take(number: int) -> npt.NDArray[np.uint64]:
            nonlocal words
            if words.size < number:
                words = np.concatenate((words, self.raw(number - words.size)))
            first, words = words[:number], words[number:]
            return first

        return np.stack([_below(take, high, count) for high in highs])

    def below(self, highs: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Draw for each of `highs` (1 … 2^32) an integer uniform on 0 … high-1, as `integers` does.

        Args:
            highs: numbers of values; their shape is the result's.
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
        return ((self.raw(size) >> _SHIFT_11).astype(np.float64) * 2.0**-53).reshape(shape)


def _below(
    raw: Callable[[int], npt.NDArray[np.uint64]], high: int, size: int
) -> npt.NDArray[np.int64]:
    threshold = np.uint64((1 << 32) % _checked(high))
    product = (raw(size) >> _SHIFT_32) * np.uint64(high)
    while threshold and (rejected := ((product & _LOW_32) < threshold).nonzero()[0]).size:
        product[rejected] = (raw(rejected.size) >> _SHIFT_32) * np.uint64(high)
    return (product >> _SHIFT_32).astype(np.int64)


@lru_cache(maxsize=1024)
def _values(highs: tuple[int, ...]) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    values_H1 = np.array([_checked(high) for high in highs], dtype=np.uint64)[:, None]
    return values_H1, np.uint64(1 << 32) % values_H1


def _checked(high: int) -> int:
    if not 1 <= high <= 1 << 32:
        raise ValueError(f"high must be within 1 … 2^32, not {high}")
    return high


Symbols = npt.NDArray[np.int64]
"""Strings of one length: (B strings, N symbols), ids ``0 … |alphabet|-1``."""

Labels = npt.NDArray[np.int64]
"""Classes 0, 1, … of strings or prefixes."""

Mask = npt.NDArray[np.bool_]
"""Truth values of strings or symbols."""

Probabilities = npt.NDArray[np.float64]


class Strings(NamedTuple):
    """Concatenated strings of several lengths.

    Attributes:
        symbols: (T,) ids of all strings.
        lengths: (B,) length of each string; their sum is T.
    """

    symbols: Symbols
    lengths: Labels


class Source(ABC):
    """A source of strings.

    It emits symbol ids ``0 … |alphabet|-1`` and nothing else.

    Attributes:
        alphabet: display names of the symbols; a symbol's id is its index.
        theory: its language classes, if it has no automaton to compute them from and its spec
            cannot state them (for families whose members differ).
    """

    alphabet: tuple[str, ...]
    theory: Theory | None = None

    @abstractmethod
    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Sample strings (count, length), using only random numbers from `stream`."""

    def in_domain(self, strings_BN: Symbols) -> Mask:
        """Return which strings have an answer, (B,); by default all."""
        return np.ones(len(strings_BN), dtype=np.bool_)

    def round_length(self, length: int) -> int:
        """Return the length to use for a requested `length`; by default the same."""
        return length

    def has_length(self, length: int) -> bool:
        """Return whether any string of exactly this length has an answer."""
        return length >= 0 and self.round_length(length) == length

    def splits(self, objective: str) -> Splits | None:
        """Return the lengths to train and test an objective on; None (the default) for the spec's.

        For a family whose lengths depend on the fields of the name.
        """
        return None


class Transduction(Source):
    """A function from strings to strings.

    Legend: B strings, N symbols each, M symbols of the longest answer.

    Attributes:
        outputs: display names of the answers' symbols; ids as for the alphabet.
    """

    outputs: tuple[str, ...]

    @abstractmethod
    def transduce(self, strings_BN: Symbols) -> tuple[Symbols, Labels]:
        """Compute the answers of a batch (fast).

        Returns:
            (B, M) ids of output symbols, 0 after an answer's end, and (B,) lengths.
        """

    @abstractmethod
    def oracle(self, string: Sequence[int]) -> list[int]:
        """Compute the answer of one string (slow and obvious).

        Written from the definition, sharing no code with `transduce` and `sample`.
        """

    def answer_length(self, length: int) -> int | None:
        """Return the maximum answer length for strings of a length.

        None (the default) if it is unknown; then only encoder-decoders can answer, step by step.
        """
        return None


class Corpus(Source):
    """Concatenated texts as tokens; a string is a window of the requested length.

    The symbols of the alphabet are the tokens; the last one ends a text. The alphabet must not
    contain words of a text, because a task's page shows it.

    Attributes:
        last_only: whether only the last token of a window is scored, as in tests, so that every
            scored token has the same number of tokens before it.
    """

    last_only: bool = False


class PairedCorpus(Source):
    """Texts and their translations as tokens; a string is a text.

    A text may occur several times, with the same or different translations. Words of neither side
    are displayed (see `Corpus`).

    Legend: B texts, N tokens each, M tokens of the longest translation.

    Attributes:
        outputs: tokens of translations; ids as for the alphabet.
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
            (B, M) ids of tokens, 0 after a translation's end, and (B,) lengths.
        """

    @abstractmethod
    def words(self, outputs: Sequence[int]) -> str:
        """Return the text of a translation's tokens."""


Split = Literal["train", "validation", "test"]


class Language(Source):
    """Strings over an alphabet, each with a class.

    An ordinary language has two classes, 1 (member) and 0 (non-member). Three methods are required;
    the others have defaults.

    Attributes:
        num_classes: number of classes.
    """

    num_classes: int = 2

    @abstractmethod
    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Sample strings of all classes.

        With two classes, half of them (up to one) are of each class if the length has both;
        `balanced` helps. All random numbers come from `stream`.

        Returns:
            (count, length) symbol ids.
        """

    @abstractmethod
    def classify(self, strings_BN: Symbols) -> Labels:
        """Compute the class of each string, (B,) (fast)."""

    @abstractmethod
    def oracle(self, string: Sequence[int]) -> int:
        """Compute the class of one string (slow and obvious).

        Written from the definition, sharing no code with `classify` and `sample`:
        tests compare the two.
        """

    def class_distribution(self, length: int) -> tuple[float, ...] | None:
        """Return the probability of each class among the strings that `sample` returns.

        Chance levels are computed from it. None (the default) if unknown; it is then estimated from
        a large sample.
        """
        return None


class HasPrefixClasses(ABC):
    """Can compute the class of every prefix."""

    @abstractmethod
    def classify_prefixes(self, strings_BN: Symbols) -> Labels:
        """Return the class of every non-empty prefix, (B, N)."""


class HasQuestions(ABC):
    """Restricts which prefixes are scored."""

    @abstractmethod
    def asked(self, strings_BN: Symbols) -> Mask:
        """Return at which symbols the class of the prefix is scored, (B, N)."""


class HasMembers(ABC):
    """Can sample members and compute the symbols that may follow a prefix."""

    @abstractmethod
    def has_members(self, length: int) -> bool:
        """Return whether the language has a member of exactly this length."""

    @abstractmethod
    def sample_members(self, stream: Stream, length: int, count: int) -> Symbols:
        """Sample members of exactly this length uniformly, (count, length)."""

    @abstractmethod
    def next_symbols(self, strings_BN: Symbols) -> Mask:
        """Return the symbols that may follow each prefix, beginning with the empty one.

        Returns:
            (B, N+1, S+1): for each symbol, whether some member begins with prefix and symbol;
            in the last column, whether the prefix is itself a member.
        """


class HasNearMisses(ABC):
    """Can sample near misses."""

    @abstractmethod
    def near_misses(self, stream: Stream, length: int, count: int) -> Symbols:
        """Sample strings of class 0 that are nearly members, (count, length).

        If there are none of this length, return (0, length).
        """


class HasProcess(ABC):
    """Has a random process that generates members, ended by END."""

    @abstractmethod
    def sample_generated(self, stream: Stream, length: int, count: int) -> Symbols:
        """Sample strings of the process conditioned on their length, (count, length)."""

    @abstractmethod
    def sample_corpus(self, stream: Stream, window: tuple[int, int], tokens: int) -> Strings:
        """Sample strings of the process until they have `tokens` tokens, END included.

        Args:
            stream: random numbers.
            window: smallest and largest length, END included.
            tokens: number of tokens; the last string reaches or exceeds it.
        """

    @abstractmethod
    def length_distribution(self, longest: int) -> Probabilities:
        """Return the process's probability of each string length.

        Returns:
            (longest + 1,): probabilities of lengths 0 … longest; their sum is at most 1.
        """

    @abstractmethod
    def next_distribution(self, strings_BN: Symbols) -> Probabilities:
        """Return the process's distribution of the next symbol after each prefix.

        Returns:
            (B, N+1, S+1), END last. Zeros if the prefix begins no member.
        """


class HasBrackets(ABC):
    """Consists of brackets; types of pairs are uniform and independent.

    Attributes:
        closes: ids of the closing brackets.
    """

    closes: range

    @abstractmethod
    def open_brackets(self, strings_BN: Symbols) -> tuple[Labels, Labels]:
        """Find the innermost open bracket after each prefix, beginning with the empty one.

        Returns:
            Its closing bracket, as an index into `closes`, and its position, each (B, N+1); -1
            if none is open or the prefix begins no member.
        """


class MinimalAutomaton(Protocol):
    """A minimal complete deterministic automaton with a class for every state.

    Attributes:
        transitions: (Q, S), the next state for each state and symbol.
        classes: (Q,), the class of strings that end in each state.
        start: the state of the empty string.
    """

    @property
    def transitions(self) -> Labels: ...  # noqa: D102
    @property
    def classes(self) -> Labels: ...  # noqa: D102
    @property
    def start(self) -> int: ...  # noqa: D102


class HasAutomaton(ABC):
    """Has a minimal automaton."""

    @property
    @abstractmethod
    def automaton(self) -> MinimalAutomaton:
        """The minimal automaton.

        Raises:
            AttributeError: if this member of a family has no automaton.
        """


def automaton_of(source: Source) -> MinimalAutomaton | None:
    """Return the automaton of a source, if it has one."""
    try:
        return source.automaton if isinstance(source, HasAutomaton) else None
    except AttributeError:  # this member of a family has none
        return None


class HasParts(ABC):
    """Divides the strings of each length into training, validation and test.

    For lengths with few members, all of which would otherwise occur in training.
    """

    @abstractmethod
    def part(self, split: Split) -> Source:
        """Return the source of a split; the source itself if splits share strings."""

    def overlap(self) -> str | None:
        """Return in a few words which test strings are also trained on; empty if none.

        None (the default) if only the lengths of the splits decide it.
        """
        return None


class HasFixedStrings(ABC):
    """A source with a fixed, finite set of strings, such as one read from files.

    Each string is tested as often as it occurs; all are trained on equally often.

    Attributes:
        groups: names of the groups of strings; one empty name if there are no groups.
        together: whether all strings of a group form one test cell, as corpus-level metrics need;
            otherwise each length is a cell.
    """

    groups: tuple[str, ...] = ("",)
    together: bool = False

    @abstractmethod
    def fixed(self, length: int, group: str) -> Symbols:
        """Return the strings of this length in a group, (B, length)."""

    @abstractmethod
    def number(self, length: int) -> int:
        """Return the number of strings of this length in all groups."""


CAPABILITIES: dict[type, str] = {
    HasPrefixClasses: "the class of every prefix",
    HasQuestions: "questions",
    HasMembers: "members and what may follow a prefix",
    HasNearMisses: "near misses",
    HasProcess: "a process that generates members",
    HasBrackets: "brackets",
    HasAutomaton: "an automaton",
}
"""Descriptions of capabilities for error messages."""


def balanced(stream: Stream, count: int) -> Labels:
    """Return alternating labels 0 and 1 (count,); the first is random."""
    first = stream.integers(2, 1)
    return (np.arange(count, dtype=np.int64) + first) % 2
