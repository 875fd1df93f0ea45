"""The flip-flop language: a bit is written, ignored or read, and reads say what was last written.

Legend: B strings, N symbols, P = N/2 pairs of an instruction and a bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from formalbench.contracts.language import HasPrefixClasses, HasQuestions, Language
from formalbench.contracts.source import Labels, Mask, Symbols
from formalbench.contracts.stream import Stream

from formalbench_tasks.configs import FlipFlopConfig
from formalbench_tasks.limits import check_length

WRITE, READ, IGNORE, ZERO, ONE = range(5)


class FlipFlop(Language, HasPrefixClasses, HasQuestions):
    """The bit last written, asked for after every ``r``.

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
        """Say where a bit is read, (B, N)."""
        read_BN: Mask = strings_BN == READ
        return read_BN

    def in_domain(self, strings_BN: Symbols) -> Mask:
        """Say which strings are pairs, the first a write, and each r has the right bit, (B,)."""
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
        """Say whether something can be written and read."""
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
