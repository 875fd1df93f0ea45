r"""Regular expressions over one-character symbols: a small dialect, and what it compiles to.

=========  =====================================================================
``ab``     a, then b
``a|b``    a or b
``a*``     a, any number of times
``a+``     a, at least once
``a?``     a or nothing
``(…)``    grouping
``()``     the empty string
``\+``     the symbol ``+`` itself; any symbol may be written with a backslash
=========  =====================================================================

Everything else is a symbol and must be in the alphabet. There are no character
classes and no wildcard: ``.`` is the symbol ``.``. White space is ignored, unless it is
in the alphabet. An alternative must not be empty: ``(a|())`` rather than ``(a|)``.

The automaton comes from automata-lib. `formalbench_tasks.matcher` decides membership
on the parsed expression itself, and shares nothing with the automaton.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from formalbench_tasks.limits import MOST_CHARACTERS, MOST_STATES

if TYPE_CHECKING:
    from formalbench_tasks.automaton import Automaton


class RegexError(ValueError):
    """A regular expression that cannot be used; the message is one line."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """One symbol of the alphabet, by its id."""

    id: int


@dataclass(frozen=True, slots=True)
class Sequel:
    """The parts one after another; without parts, the empty string."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """One of the parts."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """The part again and again, as `operator` (one of ``* + ?``) says."""

    part: Node
    operator: str


Node = Symbol | Sequel | Either | Repeat


def parse(text: str, alphabet: Sequence[str]) -> Node:
    """Read a regular expression.

    Raises:
        RegexError: naming the place (counted from 1) and what is wrong there.
    """
    if len(text) > MOST_CHARACTERS:
        raise RegexError(f"{len(text)} characters are too many: at most {MOST_CHARACTERS}")
    return _Parser(text, alphabet).expression()


class _Parser:
    """Recursive descent: either := sequel ('|' sequel)*; sequel := (atom [*+?]*)+."""

    def __init__(self, text: str, alphabet: Sequence[str]) -> None:
        self._text = text
        self._ids = {symbol: index for index, symbol in enumerate(alphabet)}
        self._at = 0
        self._opened: list[int] = []

    def expression(self) -> Node:
        node = self._either()
        if self._peek():  # only a parenthesis too many ends an expression early
            raise self._error("this ')' closes nothing")
        return node

    def _either(self) -> Node:
        parts = [self._sequel()]
        while self._peek() == "|":
            self._at += 1
            parts.append(self._sequel())
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def _sequel(self) -> Node:
        parts: list[Node] = []
        while (char := self._peek()) and char not in "|)":
            parts.append(self._repeated())
        if not parts:
            if not self._peek() and self._opened:
                raise self._never_closed()
            raise self._error("nothing stands here (the empty string is written '()')")
        return parts[0] if len(parts) == 1 else Sequel(tuple(parts))

    def _repeated(self) -> Node:
        node = self._atom()
        operators = set[str]()
        while (char := self._peek()) and char in "*+?":
            self._at += 1
            operators.add(char)
        if not operators:
            return node
        if isinstance(node, Repeat):  # as in (a+)?
            operators.add(node.operator)
            node = node.part
        # one after another, as in a+?, two different operators mean a*
        return Repeat(node, operators.pop() if len(operators) == 1 else "*")

    def _atom(self) -> Node:
        char = self._peek()
        if char == "(":
            return self._group()
        if char == "\\":
            return self._escaped()
        if char in "*+?":
            raise self._error(f"{char!r} has nothing to repeat (the symbol is written '\\{char}')")
        if char not in self._ids:
            raise self._error(f"{char!r} is not in the alphabet")
        self._at += 1
        return Symbol(self._ids[char])

    def _group(self) -> Node:
        self._opened.append(self._at)
        if len(self._opened) > 100:
            raise self._error("more than 100 parentheses inside each other")
        self._at += 1
        node = Sequel(()) if self._peek() == ")" else self._either()
        if self._peek() != ")":
            raise self._never_closed()
        self._opened.pop()
        self._at += 1
        return node

    def _escaped(self) -> Node:
        char = self._text[self._at + 1 : self._at + 2]
        if char not in self._ids:
            raise self._error(
                f"'\\{char}' is not a symbol of the alphabet" if char else "a lone '\\' at the end"
            )
        self._at += 2
        return Symbol(self._ids[char])

    def _peek(self) -> str:
        """Return the next character that means something, or '' at the end."""
        while self._at < len(self._text):
            char = self._text[self._at]
            if not char.isspace() or char in self._ids:
                return char
            self._at += 1
        return ""

    def _never_closed(self) -> RegexError:
        self._at = self._opened[-1]
        return self._error("this '(' is never closed")

    def _error(self, problem: str) -> RegexError:
        return RegexError(f"at character {self._at + 1}: {problem}")


def compile_regex(text: str, alphabet: Sequence[str]) -> Automaton:
    """Return the minimal automaton of a regular expression (class 1: matched as a whole).

    Raises:
        RegexError: if the expression does not follow the dialect, or if its automaton
            would be too large.
    """
    # numpy and automata-lib are imported here, so that checking a file needs neither
    from automata.fa.nfa import NFA

    from formalbench_tasks.automaton import from_table
    from formalbench_tasks.subsets import TooLargeError, determinise

    letters = [_letter(index) for index in range(len(alphabet))]
    nfa = NFA.from_regex(_translate(parse(text, alphabet)), input_symbols=set(letters))
    try:
        automaton = from_table(*determinise(nfa, letters))
    except TooLargeError:
        problem = "its automaton is too large, even before it is minimised"
        raise RegexError(problem) from None
    if automaton.num_states > MOST_STATES:
        raise RegexError(f"its automaton has {automaton.num_states} states: at most {MOST_STATES}")
    return automaton


def _letter(index: int) -> str:
    """Return a letter that automata-lib's own dialect gives no meaning to."""
    return chr(0x4E00 + index)


def _translate(node: Node) -> str:
    """Write a parsed expression in automata-lib's dialect, every group in parentheses."""
    if isinstance(node, Symbol):
        return _letter(node.id)
    if isinstance(node, Repeat):
        return f"({_translate(node.part)}){node.operator}"
    between = "|" if isinstance(node, Either) else ""
    return f"({between.join(_translate(part) for part in node.parts)})"
