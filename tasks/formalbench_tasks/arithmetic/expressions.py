"""Arithmetic expressions mod 5 with brackets: read and drawn, many at once.

Legend: B strings, N symbols, D brackets open, L stretches of strings still to be written.
"""

from __future__ import annotations

import numpy as np
from formalbench.contracts.source import Labels, Mask, Symbols
from formalbench.contracts.stream import Stream

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
