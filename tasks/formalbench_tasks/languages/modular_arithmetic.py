"""Parity, cycle navigation, expressions mod 5."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import prod

import numpy as np
from formalbench.contracts.source import Labels, Language, Mask, Stream, Symbols
from formalbench.contracts.theory import Theory

from formalbench_tasks.automata.automaton import Automaton, from_table
from formalbench_tasks.automata.regular_language import AutomatonFunction, RegularLanguage
from formalbench_tasks.configs import ParityConfig
from formalbench_tasks.index import task
from formalbench_tasks.limits import check_length

BITS = ("0", "1")

COUNTING = replace(Theory.least("solvable"), ac0=False)
"""It takes a count of symbols modulo a number."""


@task(
    "parity",
    "is the number of 1s odd?",
    config=ParityConfig,
    objectives=("classify", "tag", "next-symbols"),
    reference="Chiang and Cholak (2022), section 2",
    theory=COUNTING,
    keywords=("state tracking", "modular counting"),
)
class Parity(RegularLanguage):
    """PARITY: class 1 iff the number of 1s is odd.

    Strings are uniform within each class. With P(1) other than 1/2, bits are independent
    instead, and the classes come as they come.

    Args:
        config: says how probable a 1 is in what `sample` draws; members are uniform all the same.

    Reference: Chiang and Cholak (2022), §2; Delétang et al. (2023), appendix A;
        for p ≠ 1/2 Chi et al. (2023), Table 2.
    """

    hard_negatives = False

    def __init__(self, config: ParityConfig) -> None:
        super().__init__(BITS, from_table([[0, 1], [1, 0]], [0, 1]))
        self.p = config.p

    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw strings: balanced if p is 1/2, else independent bits; (count, length)."""
        if self.p == 0.5:
            return super().sample(stream, length, count)
        check_length(length)
        return (stream.uniform((count, length)) < self.p).astype(np.int64)

    def class_distribution(self, length: int) -> tuple[float, ...]:
        """Return the probability of even and odd; (1 ± (1-2p)^N) / 2 for independent bits."""
        if self.p == 0.5:
            return super().class_distribution(length)
        bias = (1 - 2 * self.p) ** length
        return ((1 + bias) / 2, (1 - bias) / 2)

    def oracle(self, string: Sequence[int]) -> int:
        """Count the 1s."""
        return sum(1 for bit in string if bit == 1) % 2


CYCLE = 5


@task(
    "cycle-navigation",
    "where does a walk on a cycle of five end?",
    objectives=("classify", "tag"),
    reference="Delétang et al. (2023), appendix A",
    theory=COUNTING,
    keywords=("state tracking",),
)
class CycleNavigation(AutomatonFunction):
    """The class is the sum of the steps -1 (``-``), 0 (``.``) and +1 (``+``), mod 5.

    Steps are uniform and independent.

    Reference: Delétang et al. (2023), appendix A.
    """

    def __init__(self) -> None:
        table = [[(at + step) % CYCLE for step in (-1, 0, 1)] for at in range(CYCLE)]
        super().__init__(("-", ".", "+"), from_table(table, range(CYCLE)), num_classes=CYCLE)

    def oracle(self, string: Sequence[int]) -> int:
        """Count the steps forward and back."""
        shown = [self.alphabet[symbol] for symbol in string]
        return (shown.count("+") - shown.count("-")) % CYCLE


MODULUS = 5

OUTSIDE = MODULUS  # the automaton's class for strings that are not expressions


@task(
    "modular-arithmetic",
    "the value mod 5 of an expression such as 3+2*4-1",
    reference="Delétang et al. (2023), appendix A",
    theory=COUNTING,
)
class ModularArithmetic(Language):
    """The class is the value mod 5 of digits and operators in turn; ``*`` binds tighter.

    Digits and operators are uniform and independent. Only odd lengths have strings in
    the domain.

    Reference: Delétang et al. (2023), appendix A (modular arithmetic, simple). Code that
        evaluates from left to right computes another function.
    """

    alphabet = ("0", "1", "2", "3", "4", "+", "-", "*")
    num_classes = MODULUS

    def __init__(self) -> None:
        self._automaton = _build()

    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw expressions of an odd length, (count, length)."""
        check_length(length)
        strings_BN = np.empty((count, length), dtype=np.int64)
        digits = (length + 1) // 2
        strings_BN[:, 0::2] = stream.integers(MODULUS, (count, digits))
        strings_BN[:, 1::2] = MODULUS + stream.integers(3, (count, length - digits))
        return strings_BN

    def classify(self, strings_BN: Symbols) -> Labels:
        """Return the value mod 5 of each string, (B,); -1 outside the domain."""
        classes_B = self._automaton.classify(strings_BN)
        return np.where(classes_B == OUTSIDE, -1, classes_B)

    def in_domain(self, strings_BN: Symbols) -> Mask:
        """Return which strings are digit (operator digit)*, (B,)."""
        inside_B: Mask = self._automaton.classify(strings_BN) != OUTSIDE
        return inside_B

    def round_length(self, length: int) -> int:
        """Shorten an even length by one."""
        return length - 1 if length > 0 and length % 2 == 0 else length

    def has_length(self, length: int) -> bool:
        """Return whether the length is odd."""
        return length > 0 and length % 2 == 1

    def class_distribution(self, length: int) -> tuple[float, ...]:
        """Return the probability of each value; all 0 where there is no expression."""
        if not self.has_length(length):
            return (0.0,) * MODULUS
        # All expressions of a length are equally likely, so counting them is enough.
        return self._automaton.paths.distribution(length, range(MODULUS))

    def oracle(self, string: Sequence[int]) -> int:
        """Split at + and -, multiply within each term, add the terms up."""
        text = "".join(self.alphabet[symbol] for symbol in string)
        terms = text.replace("-", "+-").split("+")
        values = [
            (-1 if term.startswith("-") else 1) * prod(map(int, term.lstrip("-").split("*")))
            for term in terms
        ]
        return sum(values) % MODULUS


def _build() -> Automaton:
    """Build the automaton: what was added up so far, and the term being built."""
    pairs = list(product(range(MODULUS), repeat=2))
    # digit[total, term]: a digit was read last; the value so far is total + term.
    # operator[total, factor]: an operator was read last; factor times the next digit is the term.
    digit = {pair: 1 + index for index, pair in enumerate(pairs)}
    operator = {pair: 1 + len(pairs) + index for index, pair in enumerate(pairs)}
    dead = 1 + 2 * len(pairs)
    start = [digit[0, value] for value in range(MODULUS)] + [dead] * 3
    after_digit = [
        [dead] * MODULUS
        + [
            operator[(total + term) % MODULUS, 1],
            operator[(total + term) % MODULUS, MODULUS - 1],
            operator[total, term],
        ]
        for total, term in pairs
    ]
    after_operator = [
        [digit[total, factor * value % MODULUS] for value in range(MODULUS)] + [dead] * 3
        for total, factor in pairs
    ]
    values = [(total + term) % MODULUS for total, term in pairs]
    classes = [OUTSIDE, *values, *[OUTSIDE] * len(pairs), OUTSIDE]
    return from_table([start, *after_digit, *after_operator, [dead] * len(start)], classes)
