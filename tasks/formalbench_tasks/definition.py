"""What a YAML file says about its language, checked, and built only when it is asked for.

Legend: Q states, S symbols.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from formalbench_tasks.matcher import matches
from formalbench_tasks.regex import Node, compile_regex, parse

if TYPE_CHECKING:
    from formalbench_tasks.automaton import Automaton


@dataclass(frozen=True, slots=True)
class RegexDefinition:
    """A language given by a regular expression.

    Attributes:
        alphabet: the symbols, one character each.
        regex: in the dialect of `formalbench_tasks.regex`.
    """

    alphabet: tuple[str, ...]
    regex: str

    @property
    def summary(self) -> str:
        """One line for listings."""
        return f"the regular language {_shortened(self.regex)}"

    def build(self) -> Automaton:
        """Return the minimal automaton."""
        return compile_regex(self.regex, self.alphabet)

    def contains(self, string: Sequence[int]) -> bool:
        """Match one string against the expression, without the automaton."""
        return matches(_parsed(self.regex, self.alphabet), string)


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """A language given by a complete automaton.

    Attributes:
        alphabet: the symbols.
        rows: (Q, S) the state reached from each state by each symbol.
        accept: the accepting states.
        start: the state of the empty string.
    """

    alphabet: tuple[str, ...]
    rows: tuple[tuple[int, ...], ...]
    accept: frozenset[int]
    start: int

    @property
    def summary(self) -> str:
        """One line for listings."""
        return f"the language of an automaton with {len(self.rows)} states"

    def build(self) -> Automaton:
        """Return the minimal automaton."""
        from formalbench_tasks.automaton import from_table  # here: it imports numpy

        classes = [int(state in self.accept) for state in range(len(self.rows))]
        return from_table(self.rows, classes, self.start)

    def contains(self, string: Sequence[int]) -> bool:
        """Walk through the table as it was written."""
        state = self.start
        for symbol in string:
            state = self.rows[state][symbol]
        return state in self.accept


@lru_cache(maxsize=8)
def _parsed(regex: str, alphabet: tuple[str, ...]) -> Node:
    return parse(regex, alphabet)


def _shortened(text: str, most: int = 60) -> str:
    """Return text on one line, cut off where it gets too long."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


Definition = RegexDefinition | TableDefinition
