"""What the YAML files of tasks share: their keys, their values, and one-line errors."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Collection, Mapping
from typing import Any, ParamSpec, TypeGuard, TypeVar

from formalbench.contracts.errors import nearest
from formalbench.contracts.specs import Splits

from formalbench_tasks.automata.regex import RegexError
from formalbench_tasks.limits import LONGEST_SPLIT, MOST_SYMBOLS

P = ParamSpec("P")


T = TypeVar("T")


MOST_SHOWN = 20
"""Mistakes in one error."""


class MistakeError(Exception):
    """What is wrong, without the file's name."""


class Mistakes:
    """The mistakes that were found so far."""

    def __init__(self) -> None:
        self._found: list[str] = []

    def of(self, read: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """Read a part; None if it has a mistake, which is kept."""
        try:
            return read(*args, **kwargs)
        except (MistakeError, RegexError) as problem:
            self._found.append(str(problem))
            return None

    def refuse(self) -> None:
        """Refuse the file if there is any mistake in it."""
        if self._found:
            more = len(self._found) - MOST_SHOWN
            others = [f"and {more} more"] if more > 0 else []
            raise MistakeError("; ".join(self._found[:MOST_SHOWN] + others))


MOST_VERSIONS = 1_000
"""The version in a file is below it."""


_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def version_of(version: object) -> int:
    """Return the version in a file, a whole number below `MOST_VERSIONS`."""
    if not is_whole(version) or version < 1:
        raise MistakeError(f"version must be a whole number from 1 up, not {show(version)}")
    if version >= MOST_VERSIONS:
        raise MistakeError(f"version must be below {MOST_VERSIONS}, not {show(version)}")
    return version


def check_known(data: Mapping[str, Any], known: Collection[str]) -> None:
    """Refuse keys that are none of the known ones, each with the nearest of these."""
    found = Mistakes()
    for key in data:
        found.of(_check_key, key, known)
    found.refuse()


def _check_key(key: object, known: Collection[str]) -> None:
    if key not in known:
        close = nearest(str(key), known, count=1)
        hint = f" (did you mean {close[0]!r}?)" if close else f"; known: {', '.join(known)}"
        raise MistakeError(f"unknown key {show(key)}{hint}")


def name_of(value: object) -> str:
    """Return the name of a task."""
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise MistakeError(
            f"name must be lower-case letters, digits and single hyphens, not {show(value)}"
        )
    return value


def line_of(data: Mapping[str, Any], key: str) -> str:
    """Return a text in one line; empty if the key is not there."""
    value = data.get(key, "")
    if not isinstance(value, str):
        raise MistakeError(f"{key} must be text, not {show(value)}")
    line = " ".join(value.split())
    if not line.isprintable():
        raise MistakeError(f"{key} cannot be printed: {show(line)}")
    return line


def alphabet_of(value: object) -> tuple[str, ...]:
    """Return the symbols that a string or a list names."""
    if isinstance(value, str):
        symbols = list(value)
    elif isinstance(value, list):
        symbols = [label_of(symbol, "symbol") for symbol in value]
    else:
        raise MistakeError(
            "alphabet must be a string of one-character symbols in quotes, or a list, "
            f"not {show(value)}"
        )
    if not symbols:
        raise MistakeError("alphabet is empty")
    if len(symbols) > MOST_SYMBOLS:
        raise MistakeError(f"alphabet has {len(symbols)} symbols: at most {MOST_SYMBOLS}")
    for symbol in symbols:
        if not symbol.isprintable() or " " in symbol:
            raise MistakeError(f"symbol {show(symbol)} holds white space or cannot be printed")
    return distinct(symbols, "symbol")


def label_of(value: object, kind: str) -> str:
    """Return a symbol's or state's name as a string, refusing what YAML made of bare words."""
    if isinstance(value, bool):
        raise MistakeError(
            f"{kind} {show(value)}: YAML reads bare yes, no, on, off, true and false as truth "
            "values; put it in quotes"
        )
    if is_whole(value):
        return str(value)
    if not isinstance(value, str):
        raise MistakeError(f"{kind} {show(value)} must be a string (in quotes) or a whole number")
    if not value:
        raise MistakeError(f"a {kind} is an empty string")
    return value


def distinct(names: list[str], kind: str) -> tuple[str, ...]:
    """Return names, refusing one that is there twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise MistakeError(f"{kind} {show(name)} is there twice")
        seen.add(name)
    return tuple(names)


def list_of(value: object, key: str) -> list[object]:
    """Return a list, refusing anything else."""
    if not isinstance(value, list):
        raise MistakeError(f"{key} must be a list, not {show(value)}")
    return value


def is_whole(value: object) -> TypeGuard[int]:
    """Say whether YAML made a number of it that somebody may have meant."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**18


def show(value: object) -> str:
    """Return what stands in a file as an error shows it."""
    try:
        return reprlib.repr(value)
    except ValueError:  # Python refuses to write a number of thousands of digits
        return f"a huge {type(value).__name__}"


def splits_of(value: object) -> Splits:
    """Return the lengths to train and test at, and their step."""
    shown = "splits: {train: [1, 40], test: [41, 500]}"
    if not isinstance(value, dict) or not set(value) <= {"train", "test", "step"}:
        raise MistakeError(f"splits must look like {shown}, not {show(value)}")
    found, default = Mistakes(), Splits()
    windows = {
        key: found.of(_lengths, value[key], key) for key in ("train", "test") if key in value
    }
    step = found.of(_step, value.get("step", 1))
    found.refuse()
    assert step
    both = {"train": windows.get("train"), "test": windows.get("test")}
    splits = Splits(both["train"] or default.train, both["test"] or default.test, step)
    for key, (first, last) in (("train", splits.train), ("test", splits.test)):
        if first < last < first + step - 1:
            found.of(_refuse_step, step, key, first, last)
    found.refuse()
    return splits


def _refuse_step(step: int, key: str, first: int, last: int) -> None:
    raise MistakeError(f"splits: step {step} is longer than {key}, {first} to {last}")


def _step(value: object) -> int:
    if not is_whole(value) or value < 1:
        raise MistakeError(f"splits: step must be a whole number from 1 up, not {show(value)}")
    return value


def _lengths(value: object, key: str) -> tuple[int, int]:
    if (
        not isinstance(value, list)
        or len(value) != 2
        or not all(is_whole(end) for end in value)
        or not 0 <= value[0] <= value[1]
    ):
        raise MistakeError(f"splits: {key} must be [shortest, longest], not {show(value)}")
    if value[1] > LONGEST_SPLIT:
        raise MistakeError(f"splits: {key} ends at {value[1]}: at most {LONGEST_SPLIT}")
    return value[0], value[1]
