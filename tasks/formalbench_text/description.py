r"""Corpora as YAML files describe them.

::

    name: my-corpus
    corpus:
      train: [{file: train.txt, sha256: 3b7c…}]     # one file or several
      validation: [{file: validation.txt, sha256: …}]
      test: [{file: test.txt, sha256: …}]
    documents: blank-lines
    tokeniser: {kind: bpe, vocabulary: 4096, sha256: …}
    lengths: {train: 512, test: [512, 1024, 2048, 4096, 8192]}
    windows: 256
    within: false

Paths are relative to the YAML file; the files are UTF-8. `formalbench corpus complete` adds the
checksums that are missing: they stand in the YAML file, which is part of what a run is known by,
so that other texts, or another tokeniser, are another task.

``documents`` says where a text ends: each ``file`` is one (the default), or each of the ``lines``;
``blank-lines`` part them; ``headings`` begin them, as in WikiText; ``jsonl`` has one a line, under
the key ``text``, as in OpenWebText2.

``tokeniser``: ``bytes`` (the default), ``bpe`` (of bytes) or ``words`` (what stands between white
space, the most frequent ones), both trained on the training files alone, or ``file``, a tokeniser
that the library `tokenizers` has saved.

``windows`` is how many the test has, and at most the validation; each is tested at each length, and
ends with the same token at all of them. With ``within`` none reaches across the end of a text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from formalbench import RequestError, Splits, TaskSpec
from formalbench.contracts.errors import nearest
from formalbench.contracts.language import Split
from formalbench.contracts.part import Part
from pydantic import Field, ValidationError, field_validator, model_validator

READER = 1
"""Raised whenever other tokens, or other windows, are made of the same files."""

MOST_VERSIONS = 1_000
LONGEST = 1_000_000
FACTORS = (1, 2, 4, 8, 16)
"""Where no lengths to test at are given: how many times as long as in training."""

SPLITS: tuple[Split, ...] = ("train", "validation", "test")

FileName = Annotated[str, Field(min_length=1, max_length=1000)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Line = Annotated[str, Field(max_length=200)]
Length = Annotated[int, Field(ge=2, le=LONGEST)]


class TextFile(Part):
    """A file, and what it must hold."""

    file: FileName
    sha256: Digest | None = None


Files = Annotated[tuple[TextFile, ...], Field(min_length=1, max_length=100_000)]


class SplitFiles(Part):
    """The files of each split."""

    train: Files
    validation: Files
    test: Files


class TokeniserChoice(Part):
    """How text becomes tokens."""

    kind: Literal["bytes", "bpe", "words", "file"] = "bytes"
    vocabulary: Annotated[int, Field(ge=2, le=1_000_000)] | None = None
    file: FileName | None = None
    sha256: Digest | None = None

    @model_validator(mode="after")
    def _whole(self) -> TokeniserChoice:
        if (self.vocabulary is not None) != (self.kind in ("bpe", "words")):
            raise ValueError("bpe and words have a vocabulary, as 4096, and no others")
        if self.kind == "bpe" and self.vocabulary is not None and self.vocabulary < 256:
            raise ValueError("bpe has a vocabulary of at least 256, all bytes")
        if (self.file is not None) != (self.kind == "file"):
            raise ValueError("the kind file has a file, and no other")
        return self


class WindowLengths(Part):
    """How many tokens the windows have."""

    train: Length = 512
    test: Annotated[tuple[Length, ...], Field(max_length=64)] = ()

    @field_validator("test")
    @classmethod
    def _in_order(cls, test: tuple[int, ...]) -> tuple[int, ...]:
        if list(test) != sorted(set(test)):
            raise ValueError("lengths must grow")
        return test

    @property
    def tested(self) -> tuple[int, ...]:
        """The lengths to test at, also where none are given."""
        return self.test or tuple(self.train * factor for factor in FACTORS)


class Contents(Part):
    """What the YAML file holds."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)]
    corpus: SplitFiles
    documents: Literal["file", "lines", "blank-lines", "headings", "jsonl"] = "file"
    tokeniser: TokeniserChoice = TokeniserChoice()
    lengths: WindowLengths = WindowLengths()
    windows: Annotated[int, Field(ge=1, le=100_000)] = 256
    within: bool = False
    summary: Line = ""
    reference: Line = ""
    version: Annotated[int, Field(ge=1, lt=MOST_VERSIONS)] = 1


@dataclass(frozen=True)
class CorpusDescription:
    """A corpus, as its YAML file has it.

    Attributes:
        path: of the YAML file.
        contents: what it holds.
    """

    path: Path
    contents: Contents

    def __hash__(self) -> int:
        return hash((self.path, self.key))

    @property
    def key(self) -> str:
        """What decides the tokens, as text."""
        facts = self.contents.model_dump(mode="json", include={"documents", "tokeniser"})
        digests = {split: [one.sha256 for one in self.files(split)] for split in SPLITS}
        return json.dumps(["corpus", READER, facts, digests], sort_keys=True)

    def files(self, split: Split) -> tuple[TextFile, ...]:
        """Return the files of a split."""
        found: tuple[TextFile, ...] = getattr(self.contents.corpus, split)
        return found

    def place(self, file: str) -> Path:
        """Return where a file is that the YAML file names."""
        return self.path.parent / file


def read(path: Path, data: Mapping[str, Any]) -> TaskSpec:
    """Turn the contents of a YAML file into a task; the texts are read when it is built.

    Raises:
        RequestError: one line, if anything in it cannot be used, or a file is not there.
    """
    described = describe(path, data)
    contents = described.contents
    missing = [one.file for split in SPLITS for one in described.files(split) if not one.sha256]
    if contents.tokeniser.kind != "bytes" and contents.tokeniser.sha256 is None:
        missing.append("the tokeniser")
    if missing:
        raise RequestError(
            f"{path}: no sha256 of {missing[0]}: `formalbench corpus complete {path}` adds it"
        )
    return TaskSpec(
        name=contents.name,
        version=MOST_VERSIONS * READER + contents.version,
        summary=contents.summary or f"texts from files, as {contents.tokeniser.kind}",
        factory=lambda: _build(described),
        objectives=("causal-lm", "masked-lm"),
        splits=splits_of(contents.lengths),
        reference=contents.reference,
    )


def describe(path: Path, data: Mapping[str, Any]) -> CorpusDescription:
    """Hold the contents of a YAML file to what a corpus is described by.

    Raises:
        RequestError: one line, if it is not, or a file that it names is not there.
    """
    try:
        described = CorpusDescription(path, Contents.model_validate(data))
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False)
        told = "; ".join(dict.fromkeys(map(_told, problems)))
        raise RequestError(f"{path}: {told}") from None
    tokeniser = described.contents.tokeniser.file
    named = [one.file for split in SPLITS for one in described.files(split)]
    for file in [*named, *([tokeniser] if tokeniser else [])]:
        if not file.isprintable() or not described.place(file).is_file():
            raise RequestError(f"{path}: no file {str(described.place(file))!r}")
    return described


def splits_of(lengths: WindowLengths) -> Splits:
    """Return the lengths of windows as the engine has them."""
    return Splits((lengths.train, lengths.train), (lengths.tested[0], lengths.tested[-1]))


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file.

    Raises:
        RequestError: one line, if it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise RequestError(f"{path}: {error.strerror}") from None


def _build(described: CorpusDescription) -> Any:
    from formalbench_text.corpus import TextCorpus  # here: it imports numpy

    return TextCorpus(described)


def _told(problem: Mapping[str, Any]) -> str:
    """Return what is wrong with one key."""
    *outer, last = problem["loc"] or ("",)
    key = ".".join(map(str, problem["loc"]))
    if problem["type"] != "extra_forbidden":
        said = " ".join(str(problem["msg"]).removeprefix("Value error, ").split())
        return f"{key}: {said}" if key else said
    known = Contents.model_fields if not outer else _fields(outer)
    close = nearest(str(last), known, count=1)
    hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}"
    return f"unknown key {key!r}: {hint}"


def _fields(place: list[Any]) -> Mapping[str, Any]:
    """Return the keys that a part of the file may have."""
    parts: dict[str, type[Part]] = {
        "tokeniser": TokeniserChoice,
        "lengths": WindowLengths,
        "corpus": SplitFiles,
    }
    return (TextFile if len(place) > 1 else parts[place[0]]).model_fields
