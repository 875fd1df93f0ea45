"""Solving an equation mod 5, such as ((3+x)-1)=4."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from formalbench.contracts.language import Language
from formalbench.contracts.source import Labels, Mask, Symbols
from formalbench.contracts.stream import Stream

from formalbench_tasks.arithmetic.expressions import MODULUS, SYMBOLS, draw, evaluate
from formalbench_tasks.arithmetic.rewriting import value_of
from formalbench_tasks.limits import check_length

_ALPHABET = ("0", "1", "2", "3", "4", "+", "-", "(", ")", "x", "=")
_X, _EQUALS = _ALPHABET.index("x"), _ALPHABET.index("=")

_TO_EXPRESSION = np.array([SYMBOLS.index(s) if s in SYMBOLS else 0 for s in _ALPHABET])
"""What each symbol is in an expression; the unknown is 0."""

_TO_EQUATION = np.array([_ALPHABET.index(s) if s in _ALPHABET else -1 for s in SYMBOLS])


class SolveEquation(Language):
    """The class is the x, 0 to 4, for which an equation holds mod 5.

    On its left is an expression with one x, with brackets, ``+`` and ``-``; on its right is a
    digit. Without products the x counts once, with a plus or a minus, so there is one solution.
    Drawn are expressions in which every operation has brackets of its own. Which digit becomes
    the x is not uniform: a position is, and if no digit is there, the next one to its right is
    taken, or the first of all.

    Deterministic context-free in its reference's hierarchy. The reference has dummy strings of
    lengths 1 and 2; here these lengths have no strings.

    Reference: Delétang et al. (2023), appendix A, "solve equation".
    """

    alphabet = _ALPHABET
    num_classes = MODULUS

    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw equations, (count, length)."""
        check_length(length)
        size, rows_B = length - 2, np.arange(count)
        expressions_BE = draw(stream, size, count, operators=2)
        places_BE = (stream.integers(size, (count, 1)) + np.arange(size)) % size
        digits_BE = np.take_along_axis(expressions_BE < MODULUS, places_BE, axis=1)
        unknown_B = places_BE[rows_B, digits_BE.argmax(axis=1)]
        values_B, _ = evaluate(expressions_BE)
        strings_BN = np.empty((count, length), dtype=np.int64)
        strings_BN[:, :size] = _TO_EQUATION[expressions_BE]
        strings_BN[rows_B, unknown_B] = _X
        strings_BN[:, -2], strings_BN[:, -1] = _EQUALS, values_B
        return strings_BN

    def classify(self, strings_BN: Symbols) -> Labels:
        """Return the solution of each equation, (B,); -1 outside the domain."""
        inside_B = self.in_domain(strings_BN)
        classes_B = np.full(len(strings_BN), -1, dtype=np.int64)
        if not inside_B.any():
            return classes_B
        equations_BN = strings_BN[inside_B]
        left_BE = equations_BN[:, :-2]
        at_0_B, _ = evaluate(_TO_EXPRESSION[left_BE])
        at_1_B, _ = evaluate(np.where(left_BE == _X, 1, _TO_EXPRESSION[left_BE]))
        # The x counts 1 or -1 times, and each of these is its own inverse.
        classes_B[inside_B] = (at_1_B - at_0_B) * (equations_BN[:, -1] - at_0_B) % MODULUS
        return classes_B

    def in_domain(self, strings_BN: Symbols) -> Mask:
        """Say which strings are an expression with one x, ``=`` and a digit, (B,)."""
        if strings_BN.shape[1] < 3:
            return np.zeros(len(strings_BN), dtype=np.bool_)
        left_BE = strings_BN[:, :-2]
        ends_B = (strings_BN[:, -2] == _EQUALS) & (strings_BN[:, -1] < MODULUS)
        one_x_B = ((left_BE == _X).sum(axis=1) == 1) & (left_BE != _EQUALS).all(axis=1)
        inside: Mask = ends_B & one_x_B & evaluate(_TO_EXPRESSION[left_BE])[1]
        return inside

    def has_length(self, length: int) -> bool:
        """Say whether ``x=`` and a digit fit in."""
        return length >= 3

    def class_distribution(self, length: int) -> tuple[float, ...]:
        """Return the probability of each solution: digits are uniform, whichever becomes the x."""
        check_length(length)
        return (1 / MODULUS if self.has_length(length) else 0.0,) * MODULUS

    def oracle(self, string: Sequence[int]) -> int:
        """Try every value for the x."""
        left, right = "".join(self.alphabet[symbol] for symbol in string).split("=")
        (solution,) = [
            x
            for x in range(MODULUS)
            if (value_of(left.replace("x", str(x))) - int(right)) % MODULUS == 0
        ]
        return solution
