"""Languages from automata in the text format of AT&T's FSM library and OpenFst, as MLRegTest's.

A line is a transition or a final state, its fields separated by white space::

    0  1  a  a      from, to, symbol read, symbol written (the same, or left out)
    1               a lone number is a final state

The state named first starts. Where a symbol has no transition, it leads to a state that accepts
nothing. The alphabet is that of the transitions, in the order of code points. The task's name is
the file's in lower case, with hyphens for dots and underscores: ``04.04.SL.2.1.0.att`` is
``04-04-sl-2-1-0``.

Automata must be deterministic, without weights and without the empty symbol.
`formalbench_tasks.limits` says how large they may be. Every error is a `RequestError` of one line
that names the file and, if possible, the line in it.

Reference: van der Poel et al. (2024), "MLRegTest: a benchmark for the machine learning of regular
    languages".
"""

from __future__ import annotations

import re
from pathlib import Path
from reprlib import repr as show

from formalbench import RequestError, TaskSpec

from formalbench_tasks.automata.language_file import CONFIG, OBJECTIVES, SAMPLERS, factory_of
from formalbench_tasks.automata.regex import TableDefinition
from formalbench_tasks.limits import MOST_BYTES, MOST_STATES, MOST_SYMBOLS, MOST_TRANSITIONS
from formalbench_tasks.task_file import MOST_VERSIONS

EMPTY = ("<eps>", "<epsilon>", "ε", "@0@", "@_EPSILON_SYMBOL_@")
"""Names of the empty symbol."""

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class _AutomatonFile:
    """The contents of an automaton's file.

    Attributes:
        states: a number for each, in the order in which they are named.
        moves: by state and symbol, the state that they lead to.
        accept: the final states.
    """

    def __init__(self) -> None:
        self.states: dict[str, int] = {}
        self.moves: dict[tuple[int, str], int] = {}
        self.accept: set[int] = set()

    def take(self, fields: list[str]) -> None:
        """Add the contents of a line."""
        if len(fields) == 1:
            self.accept.add(self._state(fields[0]))
            return
        if len(fields) not in (3, 4):
            raise ValueError(
                f"{len(fields)} fields: a transition has from, to, in and out, and a final state "
                "one (weights are not taken)"
            )
        source, target = self._state(fields[0]), self._state(fields[1])
        symbol, written = fields[2], fields[-1]
        if written != symbol:
            raise ValueError(f"{show(symbol)} is read and {show(written)} written: no automaton")
        if symbol in EMPTY:
            raise ValueError(f"{symbol} reads nothing: the automaton must be deterministic")
        if not symbol.isprintable():
            raise ValueError(f"symbol {show(symbol)} cannot be printed")
        if self.moves.setdefault((source, symbol), target) != target:
            raise ValueError(
                f"a second way on from state {fields[0]} with {show(symbol)}: the automaton must "
                "be deterministic"
            )

    def definition(self) -> TableDefinition:
        """Return the automaton, completed."""
        alphabet = tuple(sorted({symbol for _, symbol in self.moves}))
        if not alphabet:
            raise ValueError("there is no transition in it")
        if len(alphabet) > MOST_SYMBOLS:
            raise ValueError(f"there are {len(alphabet)} symbols: at most {MOST_SYMBOLS}")
        count, size = len(self.states), len(self.states) * len(alphabet)
        if count > MOST_STATES:
            raise ValueError(f"there are {count} states: at most {MOST_STATES}")
        if size > MOST_TRANSITIONS:
            raise ValueError(
                f"{count} states and {len(alphabet)} symbols are {size} transitions: "
                f"at most {MOST_TRANSITIONS}"
            )
        if not self.accept:
            raise ValueError("there is no final state in it: is its end missing?")
        rows = tuple(
            tuple(self.moves.get((state, symbol), count) for symbol in alphabet)
            for state in range(count)
        )
        dead = () if len(self.moves) == size else ((count,) * len(alphabet),)
        return TableDefinition(alphabet, rows + dead, frozenset(self.accept), start=0)

    def _state(self, name: str) -> int:
        if not (name.isascii() and name.isdigit()) or len(name) > 18:
            raise ValueError(f"{show(name)} is not the number of a state")
        return self.states.setdefault(str(int(name)), len(self.states))


def read(path: Path) -> TaskSpec:
    """Turn a file into a task.

    Raises:
        RequestError: one line, if anything in it cannot be used.
    """
    name = re.sub("[._]", "-", path.stem.lower())
    if not _NAME.fullmatch(name):
        raise RequestError(
            f"{path}: its name must be letters and digits, with single dots between them"
        )
    definition = _definition(path)
    return TaskSpec(
        name=name,
        version=MOST_VERSIONS * SAMPLERS["near-misses"] + 1,
        summary=definition.summary,
        factory=factory_of(path, definition, "near-misses"),
        objectives=OBJECTIVES,
        config=CONFIG,
    )


def _definition(path: Path) -> TableDefinition:
    automaton, place = _AutomatonFile(), str(path)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ValueError(f"larger than {MOST_BYTES} bytes")
        lines = path.read_bytes().decode("utf-8").split("\n")
        for number, line in enumerate(lines, start=1):
            place = f"{path}:{number}"
            if fields := line.split():
                automaton.take(fields)
        place = str(path)
        return automaton.definition()
    except OSError as error:
        raise RequestError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise RequestError(f"{path}: not UTF-8: {error.reason} at byte {error.start}") from None
    except ValueError as problem:
        raise RequestError(f"{place}: {problem}") from None
