"""Expressions the slow way: bracket after bracket is replaced by its value in the text."""

from __future__ import annotations

import re
from math import prod

_INNERMOST = re.compile(r"\(([^()]*)\)")
_FACTOR = re.compile(r"(^|[+\-*])(-*)(\d+)")


def value_of(text: str) -> int:
    """Return the value of an expression, as it is if nothing is done mod 5 but at the brackets."""
    while found := _INNERMOST.search(text):
        text = text[: found.start()] + str(_flat(found[1]) % 5) + text[found.end() :]
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
