"""Modular arithmetic with brackets: the value mod 5 of an expression like ((3+2)*-1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from formalbench.contracts.language import Language
from formalbench.contracts.source import Labels, Mask, Symbols
from formalbench.contracts.stream import Stream

from formalbench_tasks.arithmetic.expressions import (
    MODULUS,
    SYMBOLS,
    draw,
    evaluate,
    share_of_zero,
)
from formalbench_tasks.arithmetic.rewriting import value_of
from formalbench_tasks.limits import check_length


class ModularArithmeticBrackets(Language):
    """The class is the value mod 5 of an expression with brackets, ``+``, ``-`` and ``*``.

    Drawn are expressions in which every operation has brackets of its own; any other that people
    would write has an answer as well: ``*`` binds tighter than ``+`` and ``-``, and a minus sign
    before a digit or a bracket tighter than these.

    Deterministic context-free in its reference's hierarchy. The reference's networks know a
    symbol more, ``x``, that never occurs; it is left out.

    Reference: Delétang et al. (2023), appendix A, "modular arithmetic (brackets)", with ``*``, as
        in its experiments.
    """

    alphabet = SYMBOLS
    num_classes = MODULUS

    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw expressions, (count, length)."""
        check_length(length)
        return draw(stream, length, count, operators=3)

    def classify(self, strings_BN: Symbols) -> Labels:
        """Return the value mod 5 of each string, (B,); -1 outside the domain."""
        values_B, right_B = evaluate(strings_BN)
        return np.where(right_B, values_B, -1)

    def in_domain(self, strings_BN: Symbols) -> Mask:
        """Say which strings are expressions, (B,)."""
        return evaluate(strings_BN)[1]

    def has_length(self, length: int) -> bool:
        """Say whether there are expressions: of every length but 0."""
        return length >= 1

    def class_distribution(self, length: int) -> tuple[float, ...]:
        """Return the probability of each value among the strings drawn."""
        check_length(length)
        if length < 1:
            return (0.0,) * MODULUS
        zero = share_of_zero(length)
        return (zero, *[(1 - zero) / (MODULUS - 1)] * (MODULUS - 1))

    def oracle(self, string: Sequence[int]) -> int:
        """Replace bracket after bracket by its value."""
        return value_of("".join(self.alphabet[symbol] for symbol in string)) % MODULUS
