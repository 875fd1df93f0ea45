"""C-RASP: programs that count.

Source: Yang & Chiang, "Counting like transformers" (2024), §2; Huang et al., "A formal framework
for understanding length generalization in transformers" (2025), §3; counting up to a position or
strictly before it: Yang, Cadilhac & Chiang, "Knee-deep in C-RASP" (2025).

A program is a list of lines, each true or false at every position: position 0 is `BEGIN`, which
stands before the string, position i its i-th symbol. A line tests the symbol, joins earlier lines,
or compares a weighted sum of counts with a number. There is nothing else: no successor, no
position.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

BEGIN = "BOS"
"""The symbol at position 0."""

NOT = "¬"
"""What a name begins with where the opposite of a line is meant."""


@dataclass(frozen=True)
class OneOf:
    """True where the symbol is one of these."""

    symbols: tuple[str, ...]


@dataclass(frozen=True)
class Every:
    """True where all of these lines are, or with `NOT` are not."""

    of: tuple[str, ...]


@dataclass(frozen=True)
class Some:
    """True where one of these lines is, at least."""

    of: tuple[str, ...]


@dataclass(frozen=True)
class Sum:
    """A weighted sum of counts: of the positions at which each line is true.

    Attributes:
        terms: a weight and a line each.
        strict: whether only positions before this one count, and not itself.
    """

    terms: tuple[tuple[int, str], ...]
    strict: bool = False


@dataclass(frozen=True)
class Compare:
    """True where a sum is at least, or at most, a number; false if there is nothing to count.

    Nothing lies strictly before position 0, so that every strict comparison is false there.
    """

    sum: Sum
    bound: int
    at_least: bool = True


Line = OneOf | Every | Some | Compare


@dataclass(frozen=True)
class CraspProgram:
    """Lines by name, each reading earlier ones only."""

    lines: Mapping[str, Line]

    def __post_init__(self) -> None:
        known: set[str] = set()
        for name, line in self.lines.items():
            for read in reads(line):
                if read not in known:
                    raise ValueError(f"{name} reads {read!r}, which is no earlier line")
            known.add(name)

    def run(self, string: Sequence[str]) -> dict[str, list[bool]]:
        """Return each line at each position 0 … N, straight from the definition."""
        symbols, values = (BEGIN, *string), dict[str, list[bool]]()
        for name, line in self.lines.items():
            values[name] = [_true(line, values, symbols, i) for i in range(len(symbols))]
        return values

    def text(self) -> str:
        """Return the program, a line each."""
        return "\n".join(f"{name} := {_told(line)}" for name, line in self.lines.items())


def reads(line: Line) -> list[str]:
    """Return the lines that one reads, without `NOT`."""
    if isinstance(line, OneOf):
        return []
    if isinstance(line, Compare):
        return [name.removeprefix(NOT) for _, name in line.sum.terms]
    return [name.removeprefix(NOT) for name in line.of]


def _true(
    line: Line, values: Mapping[str, list[bool]], symbols: Sequence[str], position: int
) -> bool:
    def holds(name: str, at: int) -> bool:
        return values[name.removeprefix(NOT)][at] != name.startswith(NOT)

    if isinstance(line, OneOf):
        return symbols[position] in line.symbols
    if isinstance(line, Every):
        return all(holds(name, position) for name in line.of)
    if isinstance(line, Some):
        return any(holds(name, position) for name in line.of)
    seen = range(position if line.sum.strict else position + 1)
    total = sum(weight * holds(name, j) for weight, name in line.sum.terms for j in seen)
    return bool(seen) and (total >= line.bound if line.at_least else total <= line.bound)


def _told(line: Line) -> str:
    if isinstance(line, OneOf):
        return f"symbol in {{{', '.join(line.symbols)}}}"
    if isinstance(line, Compare):
        range_ = "<" if line.sum.strict else "≤"
        terms = " + ".join(f"{weight}·#[j {range_} i: {name}]" for weight, name in line.sum.terms)
        return f"{terms} {'≥' if line.at_least else '≤'} {line.bound}"
    return (" ∧ " if isinstance(line, Every) else " ∨ ").join(line.of)
