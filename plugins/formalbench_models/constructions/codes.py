"""Position codes: functions of the position i and the number n of positions.

Each takes i as (M,) int64 and n, both with added symbols, and returns (M,) in fp64: correctly
rounded quotients, and signs instead of cosines of multiples of π. The network rounds them to its
own precision, and nothing else ever does.
"""

from __future__ import annotations

import torch
from torch import Tensor

from formalbench_models.constructions.vocabulary import Code


def fraction(i_M: Tensor, n: int) -> Tensor:
    """Return i/n, correctly rounded in fp64."""
    return i_M.double() / n


def alternating(i_M: Tensor, n: int) -> Tensor:
    """Return cos iπ: +1 at even positions, -1 at odd ones."""
    return (1 - 2 * (i_M % 2)).double()


def is_position(which: int) -> Code:
    """Return the code I[i = which]."""

    def indicator(i_M: Tensor, n: int) -> Tensor:
        return (i_M == which).double()

    return indicator


is_first_symbol = is_position(1)
"""I[i = 1]: the first symbol behind CLS (Chiang & Cholak 2022, §2.3)."""


def constant(value: float) -> Code:
    """Return the code that is the same everywhere."""

    def same(i_M: Tensor, n: int) -> Tensor:
        return torch.full_like(i_M, value, dtype=torch.float64)

    return same


def cosine(turns: Code) -> Code:
    """Return the cosine of 2π times another code."""

    def code(i_M: Tensor, n: int) -> Tensor:
        return (2 * torch.pi * turns(i_M, n)).cos()

    return code


def sine(turns: Code) -> Code:
    """Return the sine of 2π times another code."""

    def code(i_M: Tensor, n: int) -> Tensor:
        return (2 * torch.pi * turns(i_M, n)).sin()

    return code


def rounded(code: Code, bits: int) -> Code:
    """Return another code rounded to multiples of 2^-bits."""

    def coarse(i_M: Tensor, n: int) -> Tensor:
        return (code(i_M, n) * 2.0**bits).round() * 2.0**-bits

    return coarse
