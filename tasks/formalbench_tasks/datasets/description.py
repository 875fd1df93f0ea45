r"""Data sets as YAML files describe them.

::

    name: my-data
    data:
      train: {strings: main.tok, labels: labels.txt}
      validation: {strings: validation/main.tok, labels: validation/labels.txt}
      test:                                     # or a single part, as the others
        short: {strings: short/main.tok, labels: short/labels.txt}
        long: {strings: long/main.tok, labels: long/labels.txt}

Paths are relative to the YAML file. A file of strings has one a line, its symbols separated by
spaces, and an empty line is the empty string; a file of labels has one a line. Where ``labels`` is
not given, a line is a string, a tab and its label. With ``outputs`` in the place of ``labels``, a
file of strings, the task is a function from strings to strings.

Optional: ``alphabet`` (the symbols of the training strings, if not given), ``classes`` (all labels,
the first is class 0; those of the training strings, if not given, in order), ``separated: false``
if symbols are single characters that stand without spaces, ``theory``, the smallest class of
`formalbench.contracts.theory` that the language is in, ``summary``, ``reference``, ``version``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from formalbench.contracts.protocol import Part
from formalbench.contracts.theory import CLASSES, Theory
from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from formalbench_tasks.task_file import (
    Alphabet,
    Distinct,
    Label,
    TaskFile,
)

READER = 1
"""Version of the sampling; raise it whenever strings or answers of the same files could change."""

SPLITS = ("train", "validation", "test")

MOST_PARTS = 100
"""Maximum number of parts of a test."""


def _existing(name: object, info: ValidationInfo) -> Path:
    """Return the file of this name, in the folder that is the validation's context."""
    assert isinstance(info.context, Path)
    if not isinstance(name, str):
        raise ValueError("must be the name of a file")
    path = info.context / name
    try:
        exists = name.isprintable() and path.is_file()
    except OSError:  # the name is too long for the file system
        exists = False
    if not exists:
        raise ValueError(f"no file {path if name.isprintable() else repr(name)}")
    return path


def _parts(value: object) -> object:
    """Return the parts of a test by name; the only one has none."""
    return {"": value} if isinstance(value, dict) and "strings" in value else value


def _spelt(value: object) -> object:
    return str(value) if isinstance(value, bool) else value


File = Annotated[Path, BeforeValidator(_existing)]
PartName = Annotated[str, Field(pattern=r"^$|^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)]
ClassName = Annotated[Label, BeforeValidator(_spelt)]


class FilePart(NamedTuple):
    """A part of a data set.

    Attributes:
        split: what it is for.
        group: its name, if the test has named parts.
        strings: the file.
        labels: the file of labels, or of answers; None if labels stand behind the strings.
    """

    split: str
    group: str
    strings: Path
    labels: Path | None


class DataFiles(Part):
    """The files of a part."""

    strings: File
    labels: File | None = None
    outputs: File | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> DataFiles:
        if self.labels and self.outputs:
            raise ValueError("labels or outputs, not both")
        return self

    def part(self, split: str, group: str = "") -> FilePart:
        """Return these files as a part for a split."""
        return FilePart(split, group, self.strings, self.labels or self.outputs)


class DataParts(Part):
    """The files of each split."""

    train: DataFiles
    validation: DataFiles
    test: Annotated[
        dict[PartName, DataFiles],
        Field(min_length=1, max_length=MOST_PARTS),
        BeforeValidator(_parts),
    ]

    @property
    def parts(self) -> tuple[FilePart, ...]:
        """All parts, the training strings first."""
        train, validation = self.train.part("train"), self.validation.part("validation")
        return (train, validation, *(files.part("test", name) for name, files in self.test.items()))

    @model_validator(mode="after")
    def _disjoint(self) -> DataParts:
        splits: dict[Path, str] = {}
        for part in self.parts:
            before = splits.setdefault(part.strings.resolve(), part.split)
            if before != part.split:
                raise ValueError(f"{part.strings} is both the {before} and the {part.split}")
        return self


class DataFile(TaskFile):
    """The contents of the YAML file."""

    data: DataParts
    alphabet: Alphabet | None = None
    classes: Annotated[tuple[ClassName, ...], Field(min_length=2), Distinct] | None = None
    separated: Annotated[bool, Field(strict=True)] = True
    theory: Literal[CLASSES] | None = None  # type: ignore[valid-type]

    @property
    def function(self) -> bool:
        """Whether answers are strings."""
        return self.data.train.outputs is not None

    @property
    def known_theory(self) -> Theory | None:
        """Its language classes, if the file states them."""
        note = "as the data set states it"
        if self.theory == "regular":  # `regular` would mean a group that is not solvable
            return Theory("regular", note=note)
        return None if self.theory is None else Theory.least(self.theory, note)

    @model_validator(mode="after")
    def _one_kind(self) -> DataFile:
        every = (self.data.train, self.data.validation, *self.data.test.values())
        if len({files.outputs is None for files in every}) == 2:
            raise ValueError("data: either all parts have outputs, or none")
        if self.function and (self.classes or self.theory):
            given = "classes" if self.classes else "theory"
            raise ValueError(f"{given} is for labels, and the data has outputs")
        return self


@dataclass(frozen=True, slots=True)
class Description:
    """A data set, as its YAML file has it.

    Attributes:
        path: of the YAML file.
        digest: SHA-256 of it and of all files that it names.
        file: what it holds.
    """

    path: Path
    digest: str
    file: DataFile = field(compare=False)

    @property
    def parts(self) -> tuple[FilePart, ...]:
        """All parts, the training strings first."""
        return self.file.data.parts
