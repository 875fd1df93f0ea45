"""Flip-flop and associative recall (MQAR).

Legend: B strings, N symbols, P = N/2 pairs of an instruction and a bit, D pairs, G gaps between
queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from formalbench import RequestError
from formalbench.contracts.source import (
    HasPrefixClasses,
    HasQuestions,
    Labels,
    Language,
    Mask,
    Stream,
    Symbols,
)
from formalbench.contracts.specs import Splits
from formalbench.contracts.theory import Theory

from formalbench_tasks.configs import FlipFlopConfig, RecallConfig
from formalbench_tasks.index import task
from formalbench_tasks.limits import check_length
from formalbench_tasks.near_misses import random_orders

WRITE, READ, IGNORE, ZERO, ONE = range(5)


@task(
    "flip-flop",
    "the last bit written, at every read",
    config=FlipFlopConfig,
    objectives=("tag",),
    splits=Splits(train=(4, 128), test=(130, 512), step=2),
    reference="Liu et al. (2023), FFL(p)",
    theory=Theory.least("star-free", "the flip-flop monoid has no groups"),
    keywords=("state tracking", "recall", "memory"),
)
class FlipFlop(Language, HasPrefixClasses, HasQuestions):
    """The last written bit, predicted after every ``r``.

    A string is pairs of ``w`` (write), ``r`` (read) or ``i`` (ignore) and a bit; the first writes,
    the last reads, and the bit behind ``r`` is the one last written. A network is asked for it
    when it has seen the ``r``, and told so by the next symbol. Instructions between are ignored
    with probability p, and else written and read alike; bits written and ignored are uniform.

    Regular, and star-free. The reference trains at p = 0.8 and tests at 0.98 (sparse) and
    0.1 (dense); here `ignored` is one option of a task, in training and testing alike.

    Reference: Liu et al. (2023), "Exposing attention glitches with flip-flop language
        modeling", FFL(p).
    """

    alphabet = ("w", "r", "i", "0", "1")

    def __init__(self, config: FlipFlopConfig) -> None:
        self.ignored = config.ignored

    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw strings of an even length, 4 or more, (count, length)."""
        check_length(length)
        pairs = length // 2
        others_BP = stream.integers(2, (count, pairs))  # w is 0 and r is 1
        ignored_BP = stream.uniform((count, pairs)) < self.ignored
        instructions_BP = np.where(ignored_BP, IGNORE, others_BP)
        instructions_BP[:, 0], instructions_BP[:, -1] = WRITE, READ
        bits_BP = stream.integers(2, (count, pairs))
        written_BP = _latest(instructions_BP == WRITE)
        remembered_BP = np.take_along_axis(bits_BP, written_BP, axis=1)
        strings_BN = np.empty((count, 2 * pairs), dtype=np.int64)
        strings_BN[:, 0::2] = instructions_BP
        strings_BN[:, 1::2] = ZERO + np.where(instructions_BP == READ, remembered_BP, bits_BP)
        return strings_BN

    def classify(self, strings_BN: Symbols) -> Labels:
        """Return the bit last written of each string, (B,); 0 if none was."""
        if strings_BN.shape[1] == 0:
            return np.zeros(len(strings_BN), dtype=np.int64)
        return self.classify_prefixes(strings_BN)[:, -1]

    def classify_prefixes(self, strings_BN: Symbols) -> Labels:
        """Return the bit last written of every non-empty prefix, (B, N); 0 if none was."""
        written_BN = np.zeros(strings_BN.shape, dtype=np.bool_)
        written_BN[:, 1:] = strings_BN[:, :-1] == WRITE
        symbols_BN = np.take_along_axis(strings_BN, _latest(written_BN), axis=1)
        any_BN = np.logical_or.accumulate(written_BN, axis=1)
        return np.where(any_BN & (symbols_BN == ONE), 1, 0)

    def asked(self, strings_BN: Symbols) -> Mask:
        """Return where a bit is read, (B, N)."""
        read_BN: Mask = strings_BN == READ
        return read_BN

    def in_domain(self, strings_BN: Symbols) -> Mask:
        """Return which strings are pairs, the first a write, and each r has the right bit, (B,)."""
        length = strings_BN.shape[1]
        if length % 2 or not length:
            return np.zeros(len(strings_BN), dtype=np.bool_)
        instructions_BP, bits_BP = strings_BN[:, 0::2], strings_BN[:, 1::2]
        pairs_BP = (instructions_BP < ZERO) & (bits_BP >= ZERO)
        remembered_BP = self.classify_prefixes(strings_BN)[:, 0::2]
        right_BP = (instructions_BP != READ) | (bits_BP - ZERO == remembered_BP)
        inside: Mask = (pairs_BP & right_BP).all(axis=1) & (instructions_BP[:, 0] == WRITE)
        return inside

    def round_length(self, length: int) -> int:
        """Shorten an odd length by one."""
        return length - length % 2

    def has_length(self, length: int) -> bool:
        """Return whether something can be written and read."""
        return length >= 4 and length % 2 == 0

    def oracle(self, string: Sequence[int]) -> int:
        """Keep one bit."""
        shown = [self.alphabet[symbol] for symbol in string]
        memory = 0
        for before, symbol in pairwise(shown):
            if before == "w":
                memory = int(symbol == "1")
        return memory


def _latest(marked: Mask) -> Labels:
    """Return the last place marked up to each place; 0 where there is none."""
    return np.maximum.accumulate(np.where(marked, np.arange(marked.shape[1]), 0), axis=1)


SYMBOLS_A_PAIR = 16

_WEIGHT = 1 << 24


@task(
    "mqar",
    "the value that was paired with a key, each time the key recurs",
    config=RecallConfig,
    objectives=("tag",),
    splits=Splits(train=(16, 64), test=(66, 256), step=2),
    reference="Arora et al. (2024), MQAR",
    keywords=("associative recall", "multi query associative recall", "recall", "memory"),
)
class Recall(Language, HasPrefixClasses, HasQuestions):
    """Pairs of a key and a value, and then keys again: the class is the value of the last one.

    Symbols are numbers: keys 1 … V/2-1, values V/2 … V-1 (0 is not used). A string begins with
    pairs, one for every 16 of its symbols unless the option says how many; keys are different,
    and so are values. Then each key comes once more, at every second place at most, and there
    the value behind its first occurrence is asked for. Queries are nearer to the pairs than
    chance would have them: the g-th place has weight 1/g; in the reference it is g^-0.99.

    Between queries are values drawn at random. The reference has any symbols there, keys of the
    string among them, about which it does not ask.

    Regular, of a size that grows with V and D: all of a string's pairs must be kept.

    Reference: Arora et al. (2024), "Zoology", and its code (MQAR).
    """

    def __init__(self, config: RecallConfig) -> None:
        if config.vocabulary % 2:
            raise RequestError(f"vocabulary={config.vocabulary}: must be even")
        if config.pairs >= config.vocabulary // 2:
            raise RequestError(
                f"pairs={config.pairs}: vocabulary={config.vocabulary} has "
                f"{config.vocabulary // 2 - 1} keys"
            )
        self.alphabet = tuple(map(str, range(config.vocabulary)))
        self.num_classes = config.vocabulary
        self._values = config.vocabulary // 2
        self._pairs = config.pairs

    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw strings of an even length, (count, length)."""
        check_length(length)
        pairs, half = self.pairs(length), self._values
        keys_BD = 1 + random_orders(stream, count, half - 1)[:, :pairs]
        values_BD = half + random_orders(stream, count, half)[:, :pairs]
        strings_BN = half + stream.integers(half, (count, length))
        strings_BN[:, 0 : 2 * pairs : 2] = keys_BD
        strings_BN[:, 1 : 2 * pairs : 2] = values_BD
        places_BD = 2 * pairs + 2 * _places(stream, length // 2 - pairs, (count, pairs))
        np.put_along_axis(strings_BN, places_BD, keys_BD, axis=1)
        return strings_BN

    def pairs(self, length: int) -> int:
        """Return how many pairs strings of a length begin with."""
        return self._pairs or length // SYMBOLS_A_PAIR

    def classify(self, strings_BN: Symbols) -> Labels:
        """Return the value of each string's last symbol, (B,); 0 if it is no key that has one."""
        if strings_BN.shape[1] == 0:
            return np.zeros(len(strings_BN), dtype=np.int64)
        return self.classify_prefixes(strings_BN)[:, -1]

    def classify_prefixes(self, strings_BN: Symbols) -> Labels:
        """Return the value paired with every prefix's last symbol, (B, N); 0 if none is."""
        count, length = strings_BN.shape
        rows_B = np.arange(count)
        value_BS = np.zeros((count, self.num_classes), dtype=np.int64)
        classes_BN = np.zeros((count, length), dtype=np.int64)
        for place in range(0, length, 2):
            symbols_B = strings_BN[:, place]
            values_B = value_BS[rows_B, symbols_B]
            classes_BN[:, place] = values_B
            if place + 1 < length:
                new_B = (values_B == 0) & (symbols_B < self._values)
                value_BS[rows_B[new_B], symbols_B[new_B]] = strings_BN[new_B, place + 1]
        return classes_BN

    def asked(self, strings_BN: Symbols) -> Mask:
        """Return where a key comes again, (B, N)."""
        again_BN: Mask = self.classify_prefixes(strings_BN) > 0
        return again_BN

    def in_domain(self, strings_BN: Symbols) -> Mask:
        """Return which strings have keys at every second place only, and values else, (B,)."""
        length = strings_BN.shape[1]
        if length % 2 or not length:
            return np.zeros(len(strings_BN), dtype=np.bool_)
        least_N = np.where(np.arange(length) % 2, self._values, 1)
        inside: Mask = np.logical_and.reduce(strings_BN >= least_N, axis=1)
        return inside

    def round_length(self, length: int) -> int:
        """Shorten an odd length by one."""
        return length - length % 2

    def has_length(self, length: int) -> bool:
        """Return whether there are pairs, keys enough, and room for all of them to come again."""
        pairs = self.pairs(length)
        return length % 2 == 0 and 0 < pairs < self._values and 4 * pairs <= length

    def oracle(self, string: Sequence[int]) -> int:
        """Look for the last symbol's first occurrence, and say what came next."""
        last = string[-1] if string else 0
        before = list(string[:-1])
        if not 0 < last < self._values or last not in before:
            return 0
        return before[before.index(last) + 1]


def _places(stream: Stream, places: int, shape: tuple[int, int]) -> Labels:
    """Draw different places for every row, the g-th from 1 on with weight 1/g."""
    ends_G = np.cumsum(_WEIGHT // np.arange(1, places + 1))
    drawn_BD = np.full(shape, -1, dtype=np.int64)
    for column in range(shape[1]):
        rows = np.arange(shape[0])
        while rows.size:
            samples = np.searchsorted(ends_G, stream.integers(int(ends_G[-1]), rows.size), "right")
            taken = (drawn_BD[rows, :column] == samples[:, None]).any(axis=1)
            drawn_BD[rows, column] = samples
            rows = rows[taken]
    return drawn_BD
