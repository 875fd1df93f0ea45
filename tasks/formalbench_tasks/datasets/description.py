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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formalbench.cache import cached
from formalbench.contracts.errors import RequestError, nearest
from formalbench.contracts.specs import Splits, TaskSpec
from formalbench.contracts.theory import CLASSES, Theory
from formalbench.host.plugin import data_hash

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
    version_of,
)

if TYPE_CHECKING:
    from formalbench_tasks.datasets.source import DataSet, FunctionSet

READER = 1
"""Raised whenever another string is drawn, or another answer given, of the same files."""

KEYS = (
    *("name", "data", "alphabet", "classes", "separated", "theory"),
    *("summary", "reference", "version"),
)
SPLITS = ("train", "validation", "test")

_FORMS = ({"strings"}, {"strings", "labels"}, {"strings", "outputs"})

MOST_PARTS = 100
"""Of a test."""

LONGEST_NAME = 64
"""Of a part, in characters."""


@dataclass(frozen=True, slots=True)
class FilePart:
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


@dataclass(frozen=True, slots=True)
class Description:
    """A data set, as its YAML file has it.

    Attributes:
        path: of the YAML file.
        digest: SHA-256 of it and of all files that it names.
        parts: the training strings first.
        alphabet: None for the symbols of the training strings.
        classes: None for the labels of the training strings.
        separated: whether symbols are separated by spaces.
        theory: what theory says of it, as far as the file does.
        function: whether answers are strings.
    """

    path: Path
    digest: str
    parts: tuple[FilePart, ...]
    alphabet: tuple[str, ...] | None
    classes: tuple[str, ...] | None
    separated: bool
    theory: Theory | None
    function: bool


def read(path: Path, data: Mapping[str, Any]) -> TaskSpec:
    """Turn the contents of a YAML file into a task; the data itself is looked through once.

    Args:
        path: the file.
        data: what it holds, as read by a safe YAML loader.

    Raises:
        RequestError: one line, if anything in it, or in a file that it names, cannot be used.
    """
    try:
        spec, described = _described(path, data)
    except MistakeError as problem:
        raise RequestError(f"{path}: {problem}") from None

    def look() -> dict[str, Any]:
        from formalbench_tasks.datasets.reading import facts_of  # here: it imports numpy

        return facts_of(described)

    facts = cached(["data set", READER, described.digest], look)
    return replace(
        spec,
        summary=spec.summary or facts["summary"],
        splits=Splits(tuple(facts["train"]), tuple(facts["test"])),
    )


def _described(path: Path, data: Mapping[str, Any]) -> tuple[TaskSpec, Description]:
    found = Mistakes()
    found.of(check_known, data, KEYS)
    name = found.of(_required_name, data)
    version = found.of(version_of, data.get("version", 1))
    summary, reference = (found.of(line_of, data, key) for key in ("summary", "reference"))
    alphabet = found.of(alphabet_of, data["alphabet"]) if "alphabet" in data else None
    classes = found.of(_classes, data["classes"]) if "classes" in data else None
    separated = found.of(_truth, data, "separated")
    theory = found.of(_theory, data["theory"]) if "theory" in data else None
    parts = _parts(path.parent, data["data"], found)
    function = found.of(_function, data)
    found.of(_check_apart, parts)
    found.refuse()
    assert name
    assert version
    described = Description(
        path=path,
        digest=data_hash(path),
        parts=tuple(parts),
        alphabet=alphabet,
        classes=classes,
        separated=bool(separated),
        theory=theory,
        function=bool(function),
    )
    spec = TaskSpec(
        name=name,
        version=MOST_VERSIONS * READER + version,
        summary=summary or "",
        factory=lambda: _build(described),
        objectives=("transduce", "decode") if function else ("classify",),
        reference=reference or "",
        theory=theory,
    )
    return spec, described


def _build(described: Description) -> DataSet | FunctionSet:
    from formalbench_tasks.datasets.source import (
        FunctionSet,  # here: they import numpy
        data_set,
    )

    data = data_set(described)
    return FunctionSet(data) if described.function else data


def _parts(folder: Path, data: object, found: Mistakes) -> list[FilePart]:
    """Return all parts without a mistake; the others are noted."""
    if not isinstance(data, dict):
        found.of(_refuse, "data must have train, validation and test, each with its strings")
        return []
    found.of(_check_splits, data)
    parts = []
    for split in SPLITS:
        value = data.get(split)
        named = split == "test" and isinstance(value, dict) and "strings" not in value
        for group, files in value.items() if named and isinstance(value, dict) else [("", value)]:
            if split in data and (part := found.of(_part, folder, split, group, files)):
                parts.append(part)
    return parts


def _check_splits(data: Mapping[str, Any]) -> None:
    if missing := [split for split in SPLITS if not data.get(split)]:
        raise MistakeError(f"data has no {' and no '.join(missing)}")
    if extra := [key for key in data if key not in SPLITS]:
        raise MistakeError(f"data: unknown key {show(extra[0])}; known: {', '.join(SPLITS)}")
    if isinstance(data["test"], dict) and len(data["test"]) > MOST_PARTS:
        raise MistakeError(f"the test has {len(data['test'])} parts: at most {MOST_PARTS}")


def _part(folder: Path, split: str, group: object, files: object) -> FilePart:
    name = name_of(group) if group != "" else ""
    if len(name) > LONGEST_NAME:
        raise MistakeError(f"the name of a part has {len(name)} characters: at most {LONGEST_NAME}")
    place = f"data: {split} {name}".rstrip()
    keys = set(files) if isinstance(files, dict) else set()
    if not isinstance(files, dict) or keys not in _FORMS:
        raise MistakeError(f"{place} must look like {{strings: FILE, labels: FILE}}")
    for key, file in files.items():
        if not isinstance(file, str) or not 0 < len(file) < 1000 or not file.isprintable():
            raise MistakeError(f"{place}: {key} must be the name of a file, not {show(file)}")
    paths = {key: folder / file for key, file in files.items()}
    if missing := [path for path in paths.values() if not _is_file(path)]:
        raise MistakeError(f"{place}: no file {missing[0]}")
    return FilePart(split, name, paths["strings"], paths.get("labels", paths.get("outputs")))


def _check_apart(parts: Sequence[FilePart]) -> None:
    """Refuse one file of strings for two splits."""
    splits: dict[Path, str] = {}
    for part in parts:
        before = splits.setdefault(part.strings.resolve(), part.split)
        if before != part.split:
            raise MistakeError(f"data: {part.strings} is both the {before} and the {part.split}")


def _function(data: Mapping[str, Any]) -> bool:
    """Say whether answers are strings: those of all parts, or of none."""
    kinds = {"outputs" in files for files in _files_of(data["data"])}
    if kinds == {False, True}:
        raise MistakeError("data: either all parts have outputs, or none")
    if kinds == {True} and (extra := [key for key in ("classes", "theory") if key in data]):
        raise MistakeError(f"{extra[0]} is for labels, and the data has outputs")
    return kinds == {True}


def _files_of(value: object) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if "strings" in value:
            yield value
        for inner in value.values():
            yield from _files_of(inner)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # its name is longer than any can be
        return False


def _required_name(data: Mapping[str, Any]) -> str:
    if "name" not in data:
        raise MistakeError("the key 'name' is missing")
    return name_of(data["name"])


def _classes(value: object) -> tuple[str, ...]:
    labels = [str(one) if isinstance(one, bool) else one for one in list_of(value, "classes")]
    names = distinct([label_of(one, "class") for one in labels], "class")
    if len(names) < 2:
        raise MistakeError(f"classes must name two labels or more, not {show(value)}")
    return names


def _truth(data: Mapping[str, Any], key: str) -> bool:
    value = data.get(key, True)
    if not isinstance(value, bool):
        raise MistakeError(f"{key} must be true or false, not {show(value)}")
    return value


def _theory(value: object) -> Theory:
    if value not in CLASSES:
        close = nearest(str(value), CLASSES, count=1)
        hint = f" (did you mean {close[0]!r}?)" if close else f"; known: {', '.join(CLASSES)}"
        raise MistakeError(f"theory: unknown class {show(value)}{hint}")
    note = "as the data set states it"
    if value == "regular":  # a group that is not solvable is hardly what it means
        return Theory("regular", note=note)
    return Theory.least(str(value), note)


def _refuse(text: str) -> None:
    raise MistakeError(text)
