"""A language as a YAML file, and the index of those that come with the package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formalbench.contracts.errors import RequestError, nearest
from formalbench.contracts.specs import TaskSpec

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
    MistakeError,
    Mistakes,
    alphabet_of,
    check_known,
    distinct,
    label_of,
    line_of,
    list_of,
    name_of,
    show,
    splits_of,
    version_of,
)

if TYPE_CHECKING:
    from formalbench.contracts.source import Language


SAMPLERS = {"near-misses": 2, "edited": 0, "uniform": 0, "long-runs": 0}
"""The ways of drawing strings; raised whenever one draws any other string of the same file."""


OBJECTIVES = ("classify", "tag", "next-symbols")


_COMMON = (
    *("name", "alphabet", "summary", "reference", "version"),
    *("keywords", "objectives", "splits", "sampling"),
)


_TABLE = ("states", "start", "transitions", "accept")


def read(path: Path, data: Mapping[str, Any]) -> TaskSpec:
    """Turn the contents of a YAML file into a task.

    Args:
        path: the file, for messages.
        data: what it holds, as read by a safe YAML loader.

    Raises:
        RequestError: one line, if anything in it cannot be used.
    """
    try:
        return _task(path, data)
    except MistakeError as problem:
        raise RequestError(f"{path}: {problem}") from None


def _task(path: Path, data: Mapping[str, Any]) -> TaskSpec:
    found = Mistakes()
    found.of(check_known, data, (*_COMMON, "regex", *_TABLE))
    found.of(_check_name_given, data)
    found.of(_check_defined, data)
    name = found.of(name_of, data["name"]) if "name" in data else None
    definition = found.of(_definition, data)
    version = found.of(version_of, data.get("version", 1))
    summary, reference = (found.of(line_of, data, key) for key in ("summary", "reference"))
    keywords = found.of(_keywords, data.get("keywords", []))
    objectives = found.of(_objectives, data.get("objectives", list(OBJECTIVES)))
    splits = found.of(splits_of, data.get("splits", {}))
    sampling = found.of(_sampling, data.get("sampling", "near-misses"))
    found.refuse()
    assert name
    assert definition
    assert version
    assert objectives
    assert splits
    assert sampling
    return TaskSpec(
        name=name,
        version=MOST_VERSIONS * SAMPLERS[sampling] + version,
        summary=summary or definition.summary,
        factory=_factory(path, definition, sampling),
        objectives=objectives,
        splits=splits,
        reference=reference or "",
        keywords=keywords or (),
    )


def _definition(data: Mapping[str, Any]) -> Definition | None:
    """Return what defines the language; None if a key is missing, which is told elsewhere."""
    if "alphabet" not in data:
        return None
    alphabet = alphabet_of(data["alphabet"])
    if "regex" in data:
        return _regex(data["regex"], alphabet)
    return _table(data, alphabet) if set(_TABLE) <= set(data) else None


def _factory(path: Path, definition: Definition, sampling: str) -> Callable[[], Language]:
    def build() -> Language:
        from formalbench_tasks.automata.regular_language import DRAWN  # here: it imports numpy

        try:
            return DRAWN[sampling](definition)
        except RegexError as problem:  # its automaton is too large
            raise RequestError(f"{path}: regex: {problem}") from None

    return build


def _check_name_given(data: Mapping[str, Any]) -> None:
    if "name" not in data:
        raise MistakeError("the key 'name' is missing")


def _check_defined(data: Mapping[str, Any]) -> None:
    given = [key for key in _TABLE if key in data]
    if "regex" in data and given:
        raise MistakeError(f"give either 'regex' or an automaton, not 'regex' and {given[0]!r}")
    if "regex" not in data and not given:
        raise MistakeError(f"give either 'regex' or an automaton ({', '.join(_TABLE)})")
    if given and len(given) < len(_TABLE):
        missing = " and ".join(repr(key) for key in _TABLE if key not in data)
        raise MistakeError(f"an automaton needs the key {missing}")


def _regex(value: object, alphabet: tuple[str, ...]) -> RegexDefinition:
    if not isinstance(value, str):
        raise MistakeError(f"regex must be a string (put it in quotes), not {show(value)}")
    for symbol in alphabet:
        if len(symbol) > 1:
            raise MistakeError(f"regex needs one-character symbols, but {show(symbol)} has more")
    try:
        parse(value, alphabet)
    except RegexError as error:
        raise MistakeError(f"regex {show(value)}, {error}") from None
    return RegexDefinition(alphabet, value)


def _table(data: Mapping[str, Any], alphabet: tuple[str, ...]) -> TableDefinition:
    names = list_of(data["states"], "states")
    if len(names) > MOST_STATES:
        raise MistakeError(f"there are {len(names)} states: at most {MOST_STATES}")
    states = distinct([label_of(state, "state") for state in names], "state")
    if not states:
        raise MistakeError("states is empty")
    number = {state: index for index, state in enumerate(states)}
    found = Mistakes()
    accept = found.of(_accepting, data["accept"], number)
    start = found.of(_look_up, data["start"], number, "state", "start")
    rows = found.of(_rows, data["transitions"], number, alphabet)
    found.refuse()
    assert accept is not None
    assert start is not None
    assert rows is not None
    return TableDefinition(alphabet=alphabet, rows=rows, accept=accept, start=start)


def _accepting(value: object, number: Mapping[str, int]) -> frozenset[int]:
    found = Mistakes()
    states = [
        found.of(_look_up, state, number, "state", "accept") for state in list_of(value, "accept")
    ]
    found.refuse()
    return frozenset(state for state in states if state is not None)


def _rows(
    value: object, number: Mapping[str, int], alphabet: tuple[str, ...]
) -> tuple[tuple[int, ...], ...]:
    found = Mistakes()
    named = _mapping(value, "transitions", number, "state")
    rows = [found.of(_row, named[state], state, number, alphabet) for state in number]
    found.refuse()
    return tuple(row for row in rows if row is not None)


def _row(
    value: object, state: str, number: Mapping[str, int], alphabet: tuple[str, ...]
) -> tuple[int, ...]:
    found = Mistakes()
    place = f"transitions of state {show(state)}"
    targets = _mapping(value, place, dict.fromkeys(alphabet), "symbol")
    row = [found.of(_look_up, targets[symbol], number, "state", place) for symbol in alphabet]
    found.refuse()
    return tuple(target for target in row if target is not None)


def _mapping(value: object, place: str, needed: Mapping[str, object], kind: str) -> dict[str, Any]:
    """Return a mapping with exactly the `needed` keys, which are written as strings."""
    if not isinstance(value, dict):
        raise MistakeError(
            f"{place} must be a mapping with one entry per {kind}, not {show(value)}"
        )
    keys = distinct([label_of(key, kind) for key in value], kind)
    for key in keys:
        if key not in needed:
            raise MistakeError(f"{place}: unknown {kind} {show(key)}")
    entries = dict(zip(keys, value.values(), strict=True))
    for key in needed:
        if key not in entries:
            raise MistakeError(f"{place}: nothing for {kind} {show(key)}")
    return entries


def _look_up(value: object, number: Mapping[str, int], kind: str, place: str) -> int:
    name = label_of(value, kind)
    if name not in number:
        raise MistakeError(f"{place}: unknown {kind} {show(name)}")
    return number[name]


def _sampling(value: object) -> str:
    known = ", ".join(SAMPLERS)
    if not isinstance(value, str) or value not in SAMPLERS:
        close = nearest(str(value), SAMPLERS, count=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        raise MistakeError(f"unknown sampling {show(value)}{hint}; known: {known}")
    return value


def _keywords(value: object) -> tuple[str, ...]:
    words = [label_of(word, "keyword") for word in list_of(value, "keywords")]
    for word in words:
        if not word.isprintable() or word.isspace():
            raise MistakeError(f"keyword {show(word)} cannot be printed")
    return tuple(words)


def _objectives(value: object) -> tuple[str, ...]:
    names = [label_of(name, "objective") for name in list_of(value, "objectives")]
    for name in names:
        if name not in OBJECTIVES:
            close = nearest(name, OBJECTIVES, count=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            known = ", ".join(OBJECTIVES)
            raise MistakeError(f"unknown objective {show(name)}{hint}; known: {known}")
    if not names:
        raise MistakeError("objectives is empty")
    return distinct(names, "objective")
