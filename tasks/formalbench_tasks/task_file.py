"""Types of values that YAML files of tasks share."""

from __future__ import annotations

from reprlib import repr as show
from typing import Annotated

from formalbench.contracts.protocol import Part
from formalbench.contracts.specs import Splits
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from formalbench_tasks.limits import LONGEST_SPLIT, MOST_SYMBOLS

MOST_VERSIONS = 1_000
"""The version in a file is below it."""


def text_of(value: object) -> object:
    """Return a symbol's or state's name as text, refusing what YAML made of bare words."""
    if isinstance(value, bool):
        raise ValueError(
            "YAML reads bare yes, no, on, off, true and false as truth values; put it in quotes"
        )
    if isinstance(value, int) and abs(value) < 10**18:
        return str(value)
    if not isinstance(value, str):
        raise ValueError("must be a string (in quotes) or a whole number")
    if not value:
        raise ValueError("must not be empty")
    return value


def _line(text: str) -> str:
    line = " ".join(text.split())
    if not line.isprintable():
        raise ValueError("cannot be printed")
    return line


def _symbol(symbol: str) -> str:
    if not symbol.isprintable() or " " in symbol:
        raise ValueError("holds white space or cannot be printed")
    return symbol


def _keyword(word: str) -> str:
    if not word.isprintable() or word.isspace():
        raise ValueError("cannot be printed")
    return word


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"{show(name)} is there twice")
        seen.add(name)
    return names


def _characters(value: object) -> object:
    if isinstance(value, bool | int | float):
        raise ValueError("must be a list of symbols, or their characters in quotes")
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
