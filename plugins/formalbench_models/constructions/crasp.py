"""C-RASP programs, and a program from an automaton.

Source: Yang & Chiang, "Counting like transformers" (2024), §2; Huang et al., "A formal framework
for understanding length generalization in transformers" (2025), §3; counting up to a position or
strictly before it: Yang, Cadilhac & Chiang, "Knee-deep in C-RASP" (2025).

A program is a list of lines, each true or false at every position: position 0 is `BEGIN`, which
stands before the string, position i its i-th symbol. A line tests the symbol, joins earlier lines,
or compares a weighted sum of counts with a number. There is nothing else: no successor, no
position.

Source: Yang et al. (2026), arXiv:2608.13433, appendix J, which proves which regular languages are
in C-RASP; the program is ours. Any of them is taken: the witness of the decision procedure
(`formalbench.theory.c_rasp`) says what to count.

A run goes from one strongly connected component of the automaton to the next and never back. For
component W, once it is known where and in which state s it is entered (``enter.s``):

* ``after.W``: it was entered strictly before this position.
* Within W every step has a weight, so that the sum of the weights since the entry, with the
  potential of s, is the potential of the present state. One count, of all steps with their weights,
  tells states of different potential apart; a second one may weigh a step by what the first told
  of the state it leads to, and so on (``is.W.r.k``: after round r, a state of class k). Counting
  strictly before a position tells of the state before it (``was.W.r.k``).
* ``leave.W.t``: the state before is in W, and this symbol leads out of it, to t. What is told of
  states after W was left means nothing, but the first such position is right: ``first.W.t``,
  where the count of leaves is 1.

So a component takes one layer to know that it was entered, one for each round, and one for the
first leave. The answer is ``at.q``: the state is q, and its component was not left.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from formalbench.theory.c_rasp import Ints, Weights, components, counting_weights

BEGIN = "BOS"
"""The symbol at position 0."""

NOT = "¬"
"""Prefix of a name that denotes the negation of a line."""


@dataclass(frozen=True)
class OneOf:
    """True where the symbol is one of these."""

    symbols: tuple[str, ...]


@dataclass(frozen=True)
class Every:
    """True where all of these lines are true (negated ones with `NOT` false)."""

    of: tuple[str, ...]


@dataclass(frozen=True)
class Some:
    """True where at least one of these lines is true."""

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
        earlier: set[str] = set()
        for name, line in self.lines.items():
            for read in reads(line):
                if read not in earlier:
                    raise ValueError(f"{name} reads {read!r}, which is no earlier line")
            earlier.add(name)

    def run(self, string: Sequence[str]) -> dict[str, list[bool]]:
        """Return each line at each position 0 … N, straight from the definition."""
        symbols, values = (BEGIN, *string), dict[str, list[bool]]()
        for name, line in self.lines.items():
            values[name] = [_true(line, values, symbols, i) for i in range(len(symbols))]
        return values

    def text(self) -> str:
        """Return the program as text, a line each."""
        return "\n".join(f"{name} := {_line_text(line)}" for name, line in self.lines.items())


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
    positions = range(position if line.sum.strict else position + 1)
    total = sum(weight * holds(name, j) for weight, name in line.sum.terms for j in positions)
    return bool(positions) and (total >= line.bound if line.at_least else total <= line.bound)


def _line_text(line: Line) -> str:
    if isinstance(line, OneOf):
        return f"symbol in {{{', '.join(line.symbols)}}}"
    if isinstance(line, Compare):
        range_ = "<" if line.sum.strict else "≤"
        terms = " + ".join(f"{weight}·#[j {range_} i: {name}]" for weight, name in line.sum.terms)
        return f"{terms} {'≥' if line.at_least else '≤'} {line.bound}"
    return (" ∧ " if isinstance(line, Every) else " ∨ ").join(line.of)


def program_of(
    table: Sequence[Sequence[int]], start: int, alphabet: Sequence[str]
) -> CraspProgram | None:
    """Return a program with a line ``at.q`` for every state q; None if C-RASP has none.

    Args:
        table: (Q, S) the state reached from each state by each symbol, of a minimal automaton.
        start: the state of the empty string.
        alphabet: the symbols.
    """
    table_QS = np.asarray(table, dtype=np.int64)
    label_Q = components(table_QS)
    weights = counting_weights(table_QS, label_Q)
    if weights is None:
        return None
    writer = _Writer(table_QS, label_Q, tuple(alphabet))
    writer.lines[f"enter.{start}"] = OneOf((BEGIN,))
    for label in writer.order(int(label_Q[start])):
        writer.component(label, weights.get(label, []))
    return CraspProgram(writer.lines)


class _Writer:
    """Writes the lines of components one by one.

    Attributes:
        lines: the written lines.
    """

    def __init__(self, table_QS: Ints, label_Q: Ints, alphabet: tuple[str, ...]) -> None:
        self.table_QS, self.label_Q, self.alphabet = table_QS, label_Q, alphabet
        self.lines: dict[str, Line] = {}
        self._entries: dict[int, list[str]] = defaultdict(list)  # how a state may be entered
        # Symbols with equal transitions, by the first of them.
        _, first_S = np.unique(table_QS, axis=1, return_index=True)
        self._alike = {
            int(first): [
                symbol
                for symbol in range(len(alphabet))
                if (table_QS[:, symbol] == table_QS[:, first]).all()
            ]
            for first in first_S
        }

    def order(self, first: int) -> list[int]:
        """Return the reachable components in topological order."""
        postorder: list[int] = []

        def visit(label: int) -> None:
            if label in postorder:
                return
            targets = self.label_Q[self.table_QS[self.label_Q == label]]
            for target in sorted(set(targets.flatten().tolist()) - {label}):
                visit(target)
            postorder.append(label)

        visit(first)
        return postorder[::-1]

    def component(self, label: int, rounds: Sequence[Weights]) -> None:
        """Write all lines about one component."""
        states = np.flatnonzero(self.label_Q == label).tolist()
        entered = []
        for state in states:
            if self._entries[state]:
                self.lines[f"enter.{state}"] = Some(tuple(self._entries[state]))
            if f"enter.{state}" in self.lines:
                entered.append(state)
        terms = tuple((1, f"enter.{state}") for state in entered)
        self.lines[f"in.{label}"] = Compare(Sum(terms), 1)
        self.lines[f"after.{label}"] = Compare(Sum(terms, strict=True), 1)
        now, before = f"in.{label}", f"after.{label}"
        pairs = dict.fromkeys(states, (now, before))
        for number, weights in enumerate(rounds):
            pairs = self._round(label, number, weights, entered, pairs)
        stayed = self._leave(label, {state: was for state, (_, was) in pairs.items()})
        for state, (name, _) in pairs.items():
            self.lines[f"at.{state}"] = Every((name, *stayed))

    def _round(
        self,
        label: int,
        number: int,
        weights: Weights,
        entered: Sequence[int],
        pairs: Mapping[int, tuple[str, str]],
    ) -> dict[int, tuple[str, str]]:
        """Add a count that separates states at a position and before it."""
        terms = [(weights.potential[state], f"enter.{state}") for state in entered]
        terms += self._steps(label, number, weights, pairs)
        counted = tuple((weight, name) for weight, name in terms if weight)
        result = {}
        for state in pairs:
            parts, value = pairs[state], weights.potential[state]
            names = []
            for word, part, strict in (("is", parts[0], False), ("was", parts[1], True)):
                name = f"{word}.{label}.{number}.{weights.finer[state]}"
                equal = self._equal(f"{word}.{label}.{number}", Sum(counted, strict), value)
                self.lines[name] = Every((part, *equal))
                names.append(name)
            result[state] = (names[0], names[1])
        return result

    def _steps(
        self, label: int, number: int, weights: Weights, pairs: Mapping[int, tuple[str, str]]
    ) -> list[tuple[int, str]]:
        """Write lines for the weighted steps; return them with their weights."""
        classes = {weights.known[state]: pairs[state][0] for state in pairs}
        symbols: dict[tuple[int, int], list[int]] = defaultdict(list)
        for (symbol, known), weight in weights.weight.items():
            if weight:
                symbols[known, weight] += self._alike[symbol]
        terms = []
        for (known, weight), each in sorted(symbols.items()):
            name = f"step.{label}.{number}.{known}.{weight}"
            # Being after the entry is a stronger condition than being in the component.
            target = () if classes[known] == f"in.{label}" else (classes[known],)
            self.lines[name] = Every((self._symbol(each), f"after.{label}", *target))
            terms.append((weight, name))
        return terms

    def _equal(self, about: str, total: Sum, value: int) -> tuple[str, str]:
        """Write that a sum is a number, as two comparisons."""
        least, most = f"{about}≥{value}", f"{about}≤{value}"
        self.lines[least] = Compare(total, value)
        self.lines[most] = Compare(total, value, at_least=False)
        return least, most

    def _leave(self, label: int, was: Mapping[int, str]) -> tuple[str, ...]:
        """Write where a component is first left; return the line for "not left yet"."""
        exits: dict[int, list[str]] = defaultdict(list)
        for state, before in was.items():
            symbols: dict[int, list[int]] = defaultdict(list)
            for symbol, target in enumerate(self.table_QS[state].tolist()):
                if self.label_Q[target] != label:
                    symbols[target].append(symbol)
            for target, each in symbols.items():
                name = f"exit.{state}.{target}"
                self.lines[name] = Every((before, self._symbol(each)))
                exits[target].append(name)
        if not exits:
            return ()
        for target, names in exits.items():
            self.lines[f"leave.{label}.{target}"] = Some(tuple(names))
        leaves = Sum(tuple((1, f"leave.{label}.{target}") for target in exits))
        self.lines[f"once.{label}"] = Compare(leaves, 1, at_least=False)
        self.lines[f"stay.{label}"] = Compare(leaves, 0, at_least=False)
        for target in exits:
            name = f"first.{label}.{target}"
            self.lines[name] = Every((f"leave.{label}.{target}", f"once.{label}"))
            self._entries[target].append(name)
        return (f"stay.{label}",)

    def _symbol(self, symbols: Sequence[int]) -> str:
        """Return the line for a set of symbols, written once."""
        chosen = tuple(self.alphabet[symbol] for symbol in sorted(symbols))
        name = f"symbol in {{{', '.join(chosen)}}}"
        self.lines.setdefault(name, OneOf(chosen))
        return name
