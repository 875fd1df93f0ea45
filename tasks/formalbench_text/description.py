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

``lengths`` are those of windows. Those that are not given are 512 and up to 16 times as many, as
far as the texts are that long.

``windows`` is how many the test has, and at most the validation; each is tested at each length, and
ends with the same token at all of them. With ``within`` none reaches across the end of a text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, TypeVar, get_args

from formalbench import RequestError, Splits, TaskSpec
from formalbench.contracts.errors import nearest
from formalbench.contracts.protocol import Part
from formalbench.contracts.source import Split
from pydantic import Field, ValidationError, field_validator, model_validator

from formalbench_text.reading import Pieces, pieces_of

P = TypeVar("P", bound=Part)

READER = 1
"""Version of the sampling; raise it whenever tokens or windows of the same files could change."""

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


class Described(Protocol):
    """What tokens are made of, and how."""

    @property
    def path(self) -> Path:
        """The YAML file."""
        ...

    @property
    def key(self) -> str:
        """What decides the tokens, as text."""
        ...

    @property
    def tokeniser(self) -> TokeniserChoice:
        """How text becomes tokens."""
        ...

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of what is kept apart."""
        ...

    @property
    def trained(self) -> tuple[str, ...]:
        """Those that a tokeniser is trained on."""
        ...

    def pieces(self, part: str) -> Pieces:
        """Return the texts of a part."""
        ...


@dataclass(frozen=True)
class CorpusDescription:
    """A corpus, as its YAML file has it.

    Attributes:
        path: of the YAML file.
        contents: what it holds.
    """

    path: Path
    contents: Contents
    parts = SPLITS
    trained = SPLITS[:1]

    def __hash__(self) -> int:
        return hash((self.path, self.key))

    @property
    def key(self) -> str:
        """What decides the tokens, as text."""
        facts = self.contents.model_dump(mode="json", include={"documents", "tokeniser"})
        digests = {split: [one.sha256 for one in self.files(split)] for split in SPLITS}
        return json.dumps(["corpus", READER, facts, digests], sort_keys=True)

    @property
    def tokeniser(self) -> TokeniserChoice:
        """How text becomes tokens."""
        return self.contents.tokeniser

    def pieces(self, part: str) -> Pieces:
        """Return the texts of a split."""
        files: tuple[TextFile, ...] = getattr(self.contents.corpus, part)
        paths = ((self.place(one.file), one.sha256) for one in files)
        return pieces_of(paths, self.contents.documents)

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
    files = {split: described.files(split) for split in SPLITS}
    check_digests(path, [*chain(*files.values())], contents.tokeniser)
    check_files_apart(path, files)
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
    """Validate the contents of a corpus's YAML file.

    Raises:
        RequestError: one line, if it is not, or a file that it names is not there.
    """
    described = CorpusDescription(path, checked(path, data, Contents))
    named = [one.file for split in SPLITS for one in described.files(split)]
    check_files(path, named, described.contents.tokeniser)
    return described


def checked(path: Path, data: Mapping[str, Any], kind: type[P]) -> P:
    """Validate the contents of a YAML file with a class.

    Raises:
        RequestError: one line that names every key that is wrong.
    """
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False)
        told = "; ".join(dict.fromkeys(_told(kind, problem) for problem in problems))
        raise RequestError(f"{path}: {told}") from None


def check_files(path: Path, named: Sequence[str], tokeniser: TokeniserChoice) -> None:
    """Check that the files named by a YAML file exist.

    Raises:
        RequestError: one line.
    """
    for file in [*named, *([tokeniser.file] if tokeniser.file else [])]:
        if not file.isprintable() or not (path.parent / file).is_file():
            raise RequestError(f"{path}: no file {str(path.parent / file)!r}")


def check_digests(path: Path, files: Sequence[TextFile], tokeniser: TokeniserChoice) -> None:
    """Check that a YAML file has all checksums, which are part of the task's identity.

    Raises:
        RequestError: one line that says how to add it.
    """
    missing = [one.file for one in files if not one.sha256]
    if tokeniser.kind != "bytes" and tokeniser.sha256 is None:
        missing.append("the tokeniser")
    if missing:
        raise RequestError(
            f"{path}: no sha256 of {missing[0]}: `formalbench corpus complete {path}` adds it"
        )


def check_files_apart(path: Path, files: Mapping[Split, Sequence[TextFile]]) -> None:
    """Check that no two splits have the same file.

    Raises:
        RequestError: one line that names both.
    """
    splits: dict[str, tuple[Split, str]] = {}
    for split, some in files.items():
        for one in some:
            before, name = splits.setdefault(one.sha256 or one.file, (split, one.file))
            if before != split:
                raise RequestError(
                    f"{path}: {one.file} ({split}) has the same contents as {name} ({before}): "
                    "give each split its own texts"
                )


def splits_of(lengths: WindowLengths) -> Splits:
    """Return the lengths of windows as the engine has them."""
    return Splits((lengths.train, lengths.train), (lengths.tested[0], lengths.tested[-1]))


def fitted(lengths: WindowLengths, longest: Mapping[Split, int]) -> WindowLengths:
    """Return lengths of windows; those that are not given are chosen to fit the texts.

    Args:
        lengths: as the description gives them.
        longest: the longest window that each split has room for.
    """
    train = lengths.train
    if "train" not in lengths.model_fields_set:
        while train > max(min(longest.values()), 2):
            train //= 2
    times = [train * factor for factor in FACTORS]
    fits = [length for length in times if length == train or length <= longest["test"]]
    return WindowLengths(train=train, test=lengths.test or tuple(fits))


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
    from formalbench_text.corpus import TextCorpus  # lazy: imports numpy

    return TextCorpus(described)


def _told(kind: type[Part], problem: Mapping[str, Any]) -> str:
    """Return what is wrong with one key."""
    *outer, last = problem["loc"] or ("",)
    key = ".".join(map(str, problem["loc"]))
    if problem["type"] != "extra_forbidden":
        said = " ".join(str(problem["msg"]).removeprefix("Value error, ").split())
        return f"{key}: {said}" if key else said
    known = _part_at(kind, outer).model_fields
    close = nearest(str(last), known, count=1)
    hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}"
    return f"unknown key {key!r}: {hint}"


def _part_at(kind: type[Part], place: Sequence[str | int]) -> type[Part]:
    """Return the class of what stands at a place in the contents that a class is for."""
    for key in place:
        if isinstance(key, str):
            kind = _part_of(kind.model_fields[key].annotation) or kind
    return kind


def _part_of(annotation: Any) -> type[Part] | None:
    if isinstance(annotation, type) and issubclass(annotation, Part):
        return annotation
    return next((found for one in get_args(annotation) if (found := _part_of(one))), None)
