"""Expressions with brackets mod 5, and equations of them.

Legend: B strings, N symbols, D brackets open, L stretches of strings still to be written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod

import numpy as np
from formalbench.contracts.source import Labels, Language, Mask, Stream, Symbols
from formalbench.contracts.theory import Theory

from formalbench_tasks.index import task
from formalbench_tasks.limits import check_length

MODULUS = 5

SYMBOLS = ("0", "1", "2", "3", "4", "+", "-", "*", "(", ")")

PLUS, MINUS, TIMES, OPEN, CLOSE = range(MODULUS, MODULUS + 5)

_DIGIT = -1  # a digit still to be drawn

_SHORT = {
    1: (_DIGIT,),
    2: (MINUS, _DIGIT),
    3: (OPEN, _DIGIT, CLOSE),
    4: (OPEN, MINUS, _DIGIT, CLOSE),
}
"""How an expression too short for an operation is written, by its length."""


def evaluate(strings_BN: Symbols) -> tuple[Labels, Mask]:
    """Return the values mod 5 of expressions, (B,), and which strings are expressions, (B,).

    Brackets bind first, then a minus sign before a digit or a bracket, ``*``, and last ``+`` and
    ``-``. For every open bracket there is kept what has been added up in it so far, and by what
    the next digit or bracket is to be multiplied; so a string is read once from left to right.
    """
    count = len(strings_BN)
    rows_B = np.arange(count)
    opened_BN = strings_BN == OPEN
    most = int(opened_BN.sum(axis=1).max(initial=0))
    sums_BD = np.zeros((count, most + 1), dtype=np.int64)
    factors_BD = np.ones((count, most + 1), dtype=np.int64)
    depths_B = np.zeros(count, dtype=np.int64)
    terms_B = np.zeros(count, dtype=np.int64)
    awaited_B = np.ones(count, dtype=np.bool_)  # a digit or a bracket must come
    right_B = np.ones(count, dtype=np.bool_)
    for symbols_B in np.ascontiguousarray(strings_BN.T):
        digits_B, opens_B, closes_B = symbols_B < MODULUS, symbols_B == OPEN, symbols_B == CLOSE
        signs_B = awaited_B & (symbols_B == MINUS)
        operators_B = ~awaited_B & (symbols_B >= PLUS) & (symbols_B <= TIMES)
        closable_B = closes_B & (depths_B > 0)
        right_B &= np.where(awaited_B, digits_B | opens_B | signs_B, operators_B | closable_B)
        inner_B = sums_BD[rows_B, depths_B] + terms_B
        depths_B += opens_B
        depths_B -= closable_B
        sums_B, factors_B = sums_BD[rows_B, depths_B], factors_BD[rows_B, depths_B]
        operands_B = factors_B * np.where(closes_B, inner_B, symbols_B) % MODULUS
        terms_B = np.where(digits_B | closes_B, operands_B, terms_B)
        times_B = symbols_B == TIMES
        adds_B = operators_B & ~times_B
        sums_BD[rows_B, depths_B] = np.where(opens_B, 0, sums_B + np.where(adds_B, terms_B, 0))
        # What the next one counts for: once after an opening bracket, or as its operator says.
        next_B = np.where(times_B, terms_B, np.where(symbols_B == MINUS, -1, 1))
        next_B = np.where(signs_B, -factors_B, next_B)
        changed_B = opens_B | operators_B | signs_B
        factors_BD[rows_B, depths_B] = np.where(changed_B, next_B, factors_B)
        awaited_B = ~(digits_B | closes_B)
    right_B &= ~awaited_B & (depths_B == 0)
    return (sums_BD[:, 0] + terms_B) % MODULUS, right_B


def draw(stream: Stream, length: int, count: int, operators: int) -> Symbols:
    """Draw expressions in which every operation has brackets, (count, length).

    An expression of 1 to 4 symbols is ``3``, ``-3``, ``(3)`` or ``(-3)``. A longer one is two in
    brackets with an operator between, the length of the first uniform. Digits and operators are
    uniform. The stretches of all strings that are equally deep in brackets are split at once.

    Args:
        stream: where every number comes from.
        length: N, 1 or more.
        count: B.
        operators: how many of ``+ - *`` there are, the first of them.

    Reference: Delétang et al. (2023), appendix A, "modular arithmetic (brackets)".
    """
    strings_BN = np.empty((count, length), dtype=np.int64)
    rows_L = np.arange(count)
    starts_L = np.zeros(count, dtype=np.int64)
    sizes_L = np.full(count, length, dtype=np.int64)
    while len(rows_L):
        for size, symbols in _SHORT.items():
            short = np.flatnonzero(sizes_L == size)
            places = starts_L[short, None] + np.arange(size)
            strings_BN[rows_L[short, None], places] = symbols
        long = np.flatnonzero(sizes_L > max(_SHORT))
        rows_L, starts_L, sizes_L = rows_L[long], starts_L[long], sizes_L[long]
        first_L = 1 + stream.below(sizes_L - 4)
        strings_BN[rows_L, starts_L] = OPEN
        strings_BN[rows_L, starts_L + 1 + first_L] = PLUS + stream.integers(operators, len(long))
        strings_BN[rows_L, starts_L + sizes_L - 1] = CLOSE
        rows_L = np.concatenate((rows_L, rows_L))
        second_L = sizes_L - 3 - first_L
        sizes_L = np.concatenate((first_L, second_L))
        starts_L = np.concatenate((starts_L + 1, starts_L + 2 + first_L))
    digits_BN = strings_BN == _DIGIT
    strings_BN[digits_BN] = stream.integers(MODULUS, int(digits_BN.sum()))
    return strings_BN


def share_of_zero(length: int) -> float:
    """Return the probability that an expression drawn with all three operators is 0.

    The other values share the rest evenly: digits do, and sums, differences and products of
    independent numbers that do so do it again.
    """
    zero = np.full(length + 1, 1 / MODULUS)
    for size in range(5, length + 1):
        first, second = zero[1 : size - 3], zero[size - 4 : 0 : -1]
        sums = first * second + (1 - first) * (1 - second) / (MODULUS - 1)
        products = 1 - (1 - first) * (1 - second)
        zero[size] = np.mean((2 * sums + products) / 3)
    return float(zero[length])


_INNERMOST = re.compile(r"\(([^()]*)\)")

_FACTOR = re.compile(r"(^|[+\-*])(-*)(\d+)")


def value_of(text: str) -> int:
    """Return the value of an expression, as it is if nothing is done mod 5 but at the brackets."""
    while match := _INNERMOST.search(text):
        text = text[: match.start()] + str(_flat(match[1]) % 5) + text[match.end() :]
    return _flat(text)


def _flat(text: str) -> int:
    """Return the value of an expression without brackets: multiply, then add up."""
    terms: list[list[int]] = []
    for operator, signs, digits in _FACTOR.findall(text):
        factor = (-1) ** len(signs) * int(digits)
        if operator == "*":
            terms[-1].append(factor)
        else:
            terms.append([-factor if operator == "-" else factor])
    return sum(map(prod, terms))


@task(
    "modular-arithmetic-brackets",
    "the value mod 5 of an expression such as ((3+2)*-1)",
    reference="Delétang et al. (2023), appendix A",
    theory=Theory.least("context-free", "Delétang et al. (2023), Table 1"),
)
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
        """Return which strings are expressions, (B,)."""
        return evaluate(strings_BN)[1]

    def has_length(self, length: int) -> bool:
        """Return whether there are expressions: of every length but 0."""
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


_ALPHABET = ("0", "1", "2", "3", "4", "+", "-", "(", ")", "x", "=")

_X, _EQUALS = _ALPHABET.index("x"), _ALPHABET.index("=")

_TO_EXPRESSION = np.array([SYMBOLS.index(s) if s in SYMBOLS else 0 for s in _ALPHABET])
"""What each symbol is in an expression; the unknown is 0."""

_TO_EQUATION = np.array([_ALPHABET.index(s) if s in _ALPHABET else -1 for s in SYMBOLS])


@task(
    "solve-equation",
    "the x that solves an equation mod 5 such as ((3+x)-1)=4",
    reference="Delétang et al. (2023), appendix A",
    theory=Theory.least("context-free", "Delétang et al. (2023), Table 1"),
)
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
        """Return which strings are an expression with one x, ``=`` and a digit, (B,)."""
        if strings_BN.shape[1] < 3:
            return np.zeros(len(strings_BN), dtype=np.bool_)
        left_BE = strings_BN[:, :-2]
        ends_B = (strings_BN[:, -2] == _EQUALS) & (strings_BN[:, -1] < MODULUS)
        one_x_B = ((left_BE == _X).sum(axis=1) == 1) & (left_BE != _EQUALS).all(axis=1)
        inside: Mask = ends_B & one_x_B & evaluate(_TO_EXPRESSION[left_BE])[1]
        return inside

    def has_length(self, length: int) -> bool:
        """Return whether ``x=`` and a digit fit in."""
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
