"""Shared by YAML files of tasks: types of values, and one-line errors."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

from formalbench.contracts.errors import RequestError, nearest
from formalbench.contracts.protocol import Part
from formalbench.contracts.specs import Splits
from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from formalbench_tasks.limits import LONGEST_SPLIT, MOST_SYMBOLS

P = TypeVar("P", bound=Part)

MOST_SHOWN = 20
"""Maximum mistakes in one error."""

MOST_VERSIONS = 1_000
"""The version in a file is below it."""


def text_of(value: object) -> object:
    """Return a symbol's or state's name as text, refusing what YAML made of bare words."""
    if isinstance(value, bool):
        raise ValueError(
            f"{value}: YAML reads bare yes, no, on, off, true and false as truth values; put it in "
            "quotes"
        )
    if isinstance(value, int) and abs(value) < 10**18:
        return str(value)
    if not isinstance(value, str):
        raise ValueError(f"{show(value)} must be a string (in quotes) or a whole number")
    if not value:
        raise ValueError("an empty string")
    return value


def _line(text: str) -> str:
    line = " ".join(text.split())
    if not line.isprintable():
        raise ValueError(f"{show(line)} cannot be printed")
    return line


def _symbol(symbol: str) -> str:
    if not symbol.isprintable() or " " in symbol:
        raise ValueError(f"{show(symbol)} holds white space or cannot be printed")
    return symbol


def _keyword(word: str) -> str:
    if not word.isprintable() or word.isspace():
        raise ValueError(f"{show(word)} cannot be printed")
    return word


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"{show(name)} is there twice")
        seen.add(name)
    return names


def _characters(value: object) -> object:
    return tuple(value) if isinstance(value, str) else value


Name = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)]
Line = Annotated[str, AfterValidator(_line)]
Label = Annotated[str, BeforeValidator(text_of)]
Keyword = Annotated[Label, AfterValidator(_keyword)]
Symbol = Annotated[Label, AfterValidator(_symbol)]
Distinct = AfterValidator(_distinct)
Alphabet = Annotated[
    tuple[Symbol, ...],
    Field(min_length=1, max_length=MOST_SYMBOLS),
    Distinct,
    BeforeValidator(_characters),
]
"""A list of symbols, or a string of symbols of one character."""

Whole = Annotated[int, Field(ge=0, le=LONGEST_SPLIT, strict=True)]


class SplitLengths(Part):
    """The lengths to train and test at."""

    train: tuple[Whole, Whole] = Splits().train
    test: tuple[Whole, Whole] = Splits().test
    step: Annotated[int, Field(ge=1, le=LONGEST_SPLIT, strict=True)] = 1

    @model_validator(mode="after")
    def _in_order(self) -> SplitLengths:
        for key, (first, last) in (("train", self.train), ("test", self.test)):
            if first > last:
                raise ValueError(f"{key} must be [shortest, longest], not [{first}, {last}]")
            if first < last < first + self.step - 1:
                raise ValueError(f"step {self.step} is longer than {key}, {first} to {last}")
        return self


class TaskFile(Part):
    """Keys of every task file."""

    name: Name
    summary: Line = ""
    reference: Line = ""
    version: Annotated[int, Field(ge=1, lt=MOST_VERSIONS, strict=True)] = 1


def read_file(path: Path, data: Mapping[str, Any], kind: type[P], folder: Path | None = None) -> P:
    """Check the contents of a file.

    Args:
        path: the file, for messages.
        data: its contents, read by a safe YAML loader.
        kind: what it must be.
        folder: where the files are that it names; the validation context.

    Raises:
        RequestError: one line with all mistakes.
    """
    try:
        return kind.model_validate(data, context=folder)
    except ValidationError as error:
        problems = error.errors(include_url=False)
        wrong = {problem["loc"][:-1] for problem in problems}  # a list is too short without these
        lines = [
            _problem_text(kind, problem)
            for problem in problems
            if problem["type"] != "too_short" or problem["loc"] not in wrong
        ]
        more = len(lines) - MOST_SHOWN
        others = [f"and {more} more"] if more > 0 else []
        raise RequestError(f"{path}: {'; '.join(lines[:MOST_SHOWN] + others)}") from None


def _problem_text(kind: type[Part], problem: Mapping[str, Any]) -> str:
    """Return pydantic's error in terms of YAML."""
    parts = [str(part) for part in problem["loc"] if part != "[key]" and not isinstance(part, int)]
    place, value, fault = ": ".join(parts), problem["input"], problem["type"]
    message = " ".join(str(problem["msg"]).split()).removeprefix("Value error, ")
    if fault == "extra_forbidden":
        known = list(kind.model_fields) if len(parts) == 1 else []
        return f"unknown key {place!r:.60}{_hint(place, known)}"
    if fault == "missing":
        short = isinstance(problem["loc"][-1], int)
        return f"{place}: too short" if short else f"the key {place!r} is missing"
    if fault == "literal_error":
        known = re.findall(r"'([^']+)'", problem["ctx"]["expected"])
        message = f"unknown {show(value)}{_hint(str(value), known)}"
    elif fault == "string_pattern_mismatch":
        message = f"must be lower-case letters, digits and single hyphens, not {show(value)}"
    elif fault not in ("value_error", "too_short", "too_long"):
        message = f"{message}, not {show(value)}"
        if fault in ("string_type", "tuple_type") and isinstance(value, bool | int | float):
            message += ", as YAML reads it: put it in quotes"
    for pattern, text in _WORDS.items():
        message = re.sub(pattern, text, message)
    return f"{place}: {message}" if place else message


_WORDS = {
    r"^(Input|Tuple|Keys|Dictionary|String) should": "must",
    r"a valid tuple": "a list",
    r"a valid string": "text",
    r"a valid dictionary( or instance of \w+)?": "a mapping",
    r" after validation": "",
}
"""pydantic's terms and those of YAML."""


def _hint(wrong: str, known: list[str]) -> str:
    close = nearest(wrong, known, count=1)
    if close:
        return f" (did you mean {close[0]!r}?)"
    return f"; known: {', '.join(known)}" if known else ""


def show(value: object) -> str:
    """Format a value of a file for an error message."""
    try:
        return reprlib.repr(value)
    except ValueError:  # Python refuses to write a number of thousands of digits
        return f"a huge {type(value).__name__}"
