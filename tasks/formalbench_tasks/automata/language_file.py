r"""A language as a YAML file.

A regular expression (`formalbench_tasks.automata.regex` documents the dialect)::

    name: star-free-4
    alphabet: "ab"            # one-character symbols, in quotes; or a list: [a, b]
    regex: "(ab)*(a|())"

or an automaton, with every transition::

    name: even-as
    alphabet: [a, b]
    states: [even, odd]
    start: even
    accept: [even]
    transitions:
      even: {a: odd, b: even}
      odd: {a: even, b: odd}

Optional: ``summary``, ``reference``, ``keywords`` (other names), ``version`` (raise it with every
change to the language), ``objectives`` (the default first), ``splits`` and ``sampling``: how
strings are drawn.

The version in listings and records is 1000 times the number that `SAMPLERS` gives the sampling,
plus the file's. If a sampling changes, every file's task is a new one, and old records no longer
count. A task with the option ``sampling=uniform`` has its file's version: a change to uniform
drawing raises all numbers of `SAMPLERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from reprlib import repr as show
from typing import TYPE_CHECKING, Annotated, Any, Literal

from formalbench.contracts.errors import RequestError, validate
from formalbench.contracts.specs import Splits, TaskSpec
from pydantic import BeforeValidator, Field, model_validator

from formalbench_tasks.automata.regex import (
    Definition,
    RegexDefinition,
    RegexError,
    TableDefinition,
    parse,
)
from formalbench_tasks.limits import MOST_STATES
from formalbench_tasks.task_file import (
    MOST_VERSIONS,
    Alphabet,
    Distinct,
    Keyword,
    Label,
    SplitLengths,
    TaskFile,
)

if TYPE_CHECKING:
    from formalbench.contracts.source import Language

    from formalbench_tasks.configs import FileConfig

CONFIG = "formalbench_tasks.configs:FileConfig"
"""The options of a task from a file."""

SAMPLERS = {"near-misses": 2, "edited": 0, "uniform": 0, "long-runs": 0}
"""Version of each sampling; raise it whenever it draws a different string for the same file. If
``uniform`` does, raise all."""

Objective = Literal["classify", "tag", "next-symbols"]
OBJECTIVES: tuple[Objective, ...] = ("classify", "tag", "next-symbols")
_AUTOMATON = ("states", "start", "transitions", "accept")


def _once(targets: object) -> object:
    """Check that no symbol is given both as a number and as text."""
    if isinstance(targets, dict) and len(set(map(str, targets))) < len(targets):
        raise ValueError("a symbol is there twice")
    return targets


States = Annotated[tuple[Label, ...], Field(min_length=1, max_length=MOST_STATES), Distinct]
Targets = Annotated[dict[Label, Label], BeforeValidator(_once)]


class LanguageFile(TaskFile):
    """The contents of the file."""

    alphabet: Alphabet
    regex: Annotated[str, Field(strict=True)] | None = None
    states: States | None = None
    start: Label | None = None
    accept: tuple[Label, ...] | None = None
    transitions: dict[Label, Targets] | None = None
    keywords: tuple[Keyword, ...] = ()
    objectives: Annotated[tuple[Objective, ...], Field(min_length=1), Distinct] = OBJECTIVES
    splits: SplitLengths = SplitLengths()
    sampling: Literal["near-misses", "edited", "uniform", "long-runs"] = "near-misses"

    @model_validator(mode="after")
    def _defined(self) -> LanguageFile:
        given = [key for key in _AUTOMATON if getattr(self, key) is not None]
        if (self.regex is None) == (not given):
            raise ValueError(f"give either 'regex' or an automaton ({', '.join(_AUTOMATON)})")
        if given and len(given) < len(_AUTOMATON):
            missing = " and ".join(repr(key) for key in _AUTOMATON if key not in given)
            raise ValueError(f"an automaton needs the key {missing}")
        self.definition()  # its errors are reported as the file's
        return self

    def definition(self) -> Definition:
        """Return what defines the language."""
        return self._table() if self.regex is None else self._expression(self.regex)

    def _expression(self, regex: str) -> RegexDefinition:
        if long := [symbol for symbol in self.alphabet if len(symbol) > 1]:
            raise ValueError(f"regex needs one-character symbols, but {show(long[0])} has more")
        try:
            parse(regex, self.alphabet)
        except RegexError as error:
            raise ValueError(f"regex {show(regex)}, {error}") from None
        return RegexDefinition(self.alphabet, regex)

    def _table(self) -> TableDefinition:
        assert self.states
        assert self.start
        assert self.accept is not None
        assert self.transitions is not None
        number = {state: index for index, state in enumerate(self.states)}
        rows = []
        for state in self.states:
            row, place = self.transitions.get(state, {}), f"transitions of state {show(state)}"
            if missing := [symbol for symbol in self.alphabet if symbol not in row]:
                raise ValueError(f"{place}: nothing for symbol {show(missing[0])}")
            if unknown := row.keys() - set(self.alphabet):
                raise ValueError(f"{place}: unknown symbol {show(min(unknown))}")
            rows.append(tuple(row[symbol] for symbol in self.alphabet))
        targets = {target for row in rows for target in row}
        for place, named in (
            *(("start", {self.start}), ("accept", set(self.accept))),
            ("transitions", targets | self.transitions.keys()),
        ):
            if unknown := named - number.keys():
                raise ValueError(f"{place}: unknown state {show(min(unknown))}")
        return TableDefinition(
            alphabet=self.alphabet,
            rows=tuple(tuple(number[target] for target in row) for row in rows),
            accept=frozenset(number[state] for state in self.accept),
            start=number[self.start],
        )


def read(path: Path, data: Mapping[str, Any]) -> TaskSpec:
    """Turn the contents of a YAML file into a task.

    Args:
        path: the file, for messages.
        data: its contents, read by a safe YAML loader.

    Raises:
        RequestError: one line, if anything in it cannot be used.
    """
    file = validate(LanguageFile, data, path)
    definition = file.definition()
    return TaskSpec(
        name=file.name,
        version=MOST_VERSIONS * SAMPLERS[file.sampling] + file.version,
        summary=file.summary or definition.summary,
        factory=factory_of(path, definition, file.sampling),
        objectives=file.objectives,
        splits=Splits(file.splits.train, file.splits.test, file.splits.step),
        reference=file.reference,
        keywords=file.keywords,
        config=CONFIG,
    )


def factory_of(
    path: Path, definition: Definition, sampling: str
) -> Callable[[FileConfig], Language]:
    """Return what makes the language of a file, whose `sampling` is this."""

    def build(config: FileConfig) -> Language:
        from formalbench_tasks.automata.regular_language import DRAWN  # lazy: imports numpy

        try:
            return DRAWN[sampling if config.sampling == "own" else config.sampling](definition)
        except RegexError as problem:  # its automaton is too large
            raise RequestError(f"{path}: regex: {problem}") from None

    return build
