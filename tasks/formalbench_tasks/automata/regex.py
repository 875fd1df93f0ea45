r"""Regular expressions: the dialect, its compiler, and the matcher that is the oracle.

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

The automaton comes from automata-lib, but for the subset construction, which is bounded here: the
number of subsets may double with every symbol of an expression. The oracle decides membership on
the parsed expression and shares nothing with the automaton.

For the oracle a set of positions in the string is an integer: bit i stands for the position before
symbol i. Where a repeated part may end is worked out once for each position, so that
repetitions inside each other take polynomial time.

Legend: Q states, S symbols.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from formalbench_tasks.limits import MOST_CHARACTERS, MOST_STATES

if TYPE_CHECKING:
    from automata.fa.nfa import NFA

    from formalbench_tasks.automata.automaton import Automaton


LONGEST_SHOWN = 60


class RegexError(ValueError):
    """An invalid regular expression; the message is one line."""


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
        RegexError: with the position (counted from 1) and the error.
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
        if self._peek():  # only an extra parenthesis ends an expression early
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
        """Return the next significant character, or '' at the end."""
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

    from formalbench_tasks.automata.automaton import from_table

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
    """Return a letter without a special meaning in automata-lib's dialect."""
    return chr(0x4E00 + index)


def _translate(node: Node) -> str:
    """Write a parsed expression in automata-lib's dialect, every group in parentheses."""
    if isinstance(node, Symbol):
        return _letter(node.id)
    if isinstance(node, Repeat):
        return f"({_translate(node.part)}){node.operator}"
    between = "|" if isinstance(node, Either) else ""
    return f"({between.join(_translate(part) for part in node.parts)})"


MOST_SUBSETS = 20_000

MOST_TRANSITIONS = 2_000_000

MOST_MEMBERS = 3_000_000
"""Maximum total size of all subsets."""


class TooLargeError(ValueError):
    """The deterministic automaton would be too large."""


def determinise(nfa: NFA, letters: Sequence[str]) -> tuple[list[list[int]], list[int]]:
    """Return the transitions and classes of the subsets that can be reached, the start first.

    Raises:
        TooLargeError: if they are too many.
    """
    most = min(MOST_SUBSETS, MOST_TRANSITIONS // len(letters))
    subsets: list[frozenset[int]] = []
    numbers: dict[frozenset[int], int] = {}
    closed: dict[frozenset[int], int] = {}
    members = 0

    def number_of(states: frozenset[int]) -> int:
        """Return the number of the smallest closed subset that holds these states."""
        nonlocal members
        if states not in closed:
            subset = _closure(nfa, states)
            if subset not in numbers:
                numbers[subset] = len(subsets)
                subsets.append(subset)
            closed[states] = numbers[subset]
            members += len(subset)
            if len(subsets) > most or members > MOST_MEMBERS:
                raise TooLargeError
        return closed[states]

    number_of(frozenset({nfa.initial_state}))
    rows = []
    for subset in subsets:  # grows during the loop
        moves: dict[str, set[int]] = {}
        for state in subset:
            for letter, targets in nfa.transitions.get(state, {}).items():
                moves.setdefault(letter, set()).update(targets)
        rows.append([number_of(frozenset(moves.get(letter, ()))) for letter in letters])
    return rows, [int(not subset.isdisjoint(nfa.final_states)) for subset in subsets]


def _closure(nfa: NFA, states: frozenset[int]) -> frozenset[int]:
    """Return the states that are reached by moves that read nothing."""
    closure, pending = set(states), list(states)
    while pending:
        fresh = nfa.transitions.get(pending.pop(), {}).get("", set()) - closure
        closure |= fresh
        pending.extend(fresh)
    return frozenset(closure)


def matches(node: Node, string: Sequence[int]) -> bool:
    """Return whether a parsed expression describes the whole string."""
    return bool(_Matcher(string).ends(node, 1) >> len(string) & 1)


class _Matcher:
    """Where parts of one expression may end in one string."""

    def __init__(self, string: Sequence[int]) -> None:
        self._length = len(string)
        self._where: dict[int, int] = {}
        for at, symbol in enumerate(string):
            self._where[symbol] = self._where.get(symbol, 0) | 1 << at
        self._repeated: dict[int, list[int]] = {}  # by the part's identity

    def ends(self, node: Node, begins: int) -> int:
        """Return where a match may end if it may begin at any of `begins`."""
        if isinstance(node, Symbol):
            return (begins & self._where.get(node.id, 0)) << 1
        if isinstance(node, Either):
            either = 0
            for part in node.parts:
                either |= self.ends(part, begins)
            return either
        if isinstance(node, Sequel):
            for part in node.parts:
                begins = self.ends(part, begins)
            return begins
        if node.operator == "?":
            return begins | self.ends(node.part, begins)
        if id(node.part) not in self._repeated:
            self._repeated[id(node.part)] = self._repeat(node.part)
        ends = _union(self._repeated[id(node.part)], begins)
        return begins | ends if node.operator == "*" else ends

    def _repeat(self, part: Node) -> list[int]:
        """Return, for each position, where one match or several in a row may end."""
        several = [0] * (self._length + 1)
        for begin in reversed(range(self._length + 1)):
            once = self.ends(part, 1 << begin)
            later = once >> begin + 1 << begin + 1
            several[begin] = once | _union(several, later)
        return several


def _union(several: list[int], begins: int) -> int:
    """Return the union of `several` over all positions in `begins`."""
    union = 0
    while begins:
        first = begins & -begins
        more = several[first.bit_length() - 1]
        union |= more
        # Everything reachable from this end has been added already.
        begins &= ~(first | more)
    return union


@dataclass(frozen=True, slots=True)
class RegexDefinition:
    """A language given by a regular expression.

    Attributes:
        alphabet: the symbols, one character each.
        regex: in the dialect of `formalbench_tasks.automata.regex`.
    """

    alphabet: tuple[str, ...]
    regex: str

    @property
    def summary(self) -> str:
        """One line for listings."""
        line = " ".join(self.regex.split())
        short = line if len(line) <= LONGEST_SHOWN else f"{line[: LONGEST_SHOWN - 1]}…"
        return f"the regular language {short}"

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
        from formalbench_tasks.automata.automaton import from_table  # lazy: imports numpy

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


Definition = RegexDefinition | TableDefinition
