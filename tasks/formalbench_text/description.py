r"""Corpora and parallel texts as YAML files describe them.

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

Texts and their translations::

    name: iwslt-en-vi
    pairs:
      train: {source: {file: train.en, sha256: 3b7c…}, target: {file: train.vi, sha256: …}}
      validation: {source: {file: tst2012.en, …}, target: {file: tst2012.vi, …}}
      test: {source: {file: tst2013.en, …}, target: {file: tst2013.vi, …}}
    tokeniser: {kind: bpe, vocabulary: 8000, sha256: …}
    tokenised: true
    short: 20

A text is a line, its translation the same line of the other file. ``tokeniser`` is of both
languages, trained on all training files, as for corpora, but for ``words``, which forgets rare
ones: BLEU is of whole texts.

``tokenised`` says that words and marks stand apart already, as in the data of IWSLT'15 that
Stanford has prepared; BLEU then takes them as they are (sacrebleu's ``none``), and else cuts them
itself (``13a``). The test has two parts, of texts of at most ``short`` words and marks and of more.

A line that is empty in a training file, in one language or both, is left out with its partner;
in the other files, which are tested on, it is refused. Training leaves out what has more than
1,000 tokens, as Chiang and Cholak (2022) do.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, cast

from formalbench import Config, RequestError, Splits, TaskSpec, option
from formalbench.contracts.errors import validate
from formalbench.contracts.protocol import Part
from formalbench.contracts.source import Split
from pydantic import Field, field_validator, model_validator

from formalbench_text.reading import Pieces, Place, pairs_of, pieces_of

MOST_VERSIONS = 1_000
LONGEST = 1_000_000
FACTORS = (1, 2, 4, 8, 16)
"""Where no lengths to test at are given: how many times as long as in training."""

SPLITS: tuple[Split, ...] = ("train", "validation", "test")
SIDES = ("source", "target")

WORD = re.compile(r"\w+|[^\w\s]")
"""A word, or a mark."""

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
    """What every YAML file of texts holds."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)]
    tokeniser: TokeniserChoice = TokeniserChoice()
    summary: Line = ""
    reference: Line = ""
    version: Annotated[int, Field(ge=1, lt=MOST_VERSIONS)] = 1


class CorpusContents(Contents):
    """What the YAML file of a corpus holds."""

    corpus: SplitFiles
    documents: Literal["file", "lines", "blank-lines", "headings", "jsonl"] = "file"
    lengths: WindowLengths = WindowLengths()
    windows: Annotated[int, Field(ge=1, le=100_000)] = 256
    within: bool = False


class PairFiles(Part):
    """Texts and their translations."""

    source: TextFile
    target: TextFile


class PairSplits(Part):
    """The files of each split."""

    train: PairFiles
    validation: PairFiles
    test: PairFiles


class PairContents(Contents):
    """What the YAML file of parallel texts holds."""

    pairs: PairSplits
    tokenised: bool = False
    short: Annotated[int, Field(ge=1, le=1000)] = 20

    @field_validator("tokeniser")
    @classmethod
    def _forgets_nothing(cls, choice: TokeniserChoice) -> TokeniserChoice:
        if choice.kind == "words":
            raise ValueError("words forget rare ones, and BLEU is of whole texts: take bpe")
        return choice


class PairOptions(Config):
    """What `--set task.key=value` changes of parallel texts."""

    longest: int = option(
        0, "longest text of training and validation, in words and marks; 0 for all", minimum=0
    )
    whole: bool = option(
        False, "test all texts as one part instead of short and long ones separately"
    )


@dataclass(frozen=True)
class TextDescription(ABC):
    """Texts, as their YAML file has them.

    Attributes:
        path: of the YAML file.
        contents: what it holds.
        kind: what that must be.
        reader: version of the sampling; raise it whenever tokens, windows or tests of the same
            files could change.
        parts: the names of what is kept apart.
        trained: those that a tokeniser is trained on.
    """

    path: Path
    contents: Contents
    kind: ClassVar[type[Contents]]
    reader: ClassVar[int]
    parts: ClassVar[tuple[str, ...]]
    trained: ClassVar[tuple[str, ...]]

    @classmethod
    def of(cls, path: Path, data: Mapping[str, Any]) -> Self:
        """Validate the contents of a YAML file.

        Raises:
            RequestError: one line, if a key is wrong, or a file that it names is not there.
        """
        described = cls(path, validate(cls.kind, data, path))
        named = [one.file for one in described.every_file()]
        for file in [*named, *filter(None, [described.tokeniser.file])]:
            if not file.isprintable() or not (path.parent / file).is_file():
                raise RequestError(f"{path}: no file {str(path.parent / file)!r}")
        return described

    @property
    def tokeniser(self) -> TokeniserChoice:
        """How text becomes tokens."""
        return self.contents.tokeniser

    @property
    @abstractmethod
    def key(self) -> str:
        """What decides the tokens, as text."""

    @abstractmethod
    def files(self, split: Split) -> tuple[TextFile, ...]:
        """Return the files of a split."""

    @abstractmethod
    def pieces(self, part: str) -> Pieces:
        """Return the texts of a part."""

    def every_file(self) -> list[TextFile]:
        """Return the files of all splits."""
        return [one for split in SPLITS for one in self.files(split)]

    def places(self, split: Split) -> list[Place]:
        """Return where the files of a split are, with their checksums."""
        return [(self.path.parent / one.file, one.sha256) for one in self.files(split)]

    def spec(
        self, kind: str, factory: Callable[..., Any], splits: Splits, **facts: Any
    ) -> TaskSpec:
        """Return the task of these texts.

        Args:
            kind: what they are, for the summary of a file without one.
            factory: builds the source.
            splits: the lengths to train and test at.
            **facts: others of a `formalbench.TaskSpec`.

        Raises:
            RequestError: one line, if a checksum is missing (they are part of the task's identity),
                or two splits have the same file.
        """
        self._check_digests()
        self._check_apart()
        return TaskSpec(
            name=self.contents.name,
            version=MOST_VERSIONS * self.reader + self.contents.version,
            summary=self.contents.summary or f"{kind}, as {self.tokeniser.kind}",
            factory=factory,
            splits=splits,
            reference=self.contents.reference,
            **facts,
        )

    def _check_digests(self) -> None:
        missing = [one.file for one in self.every_file() if not one.sha256]
        if self.tokeniser.kind != "bytes" and self.tokeniser.sha256 is None:
            missing.append("the tokeniser")
        if missing:
            raise RequestError(
                f"{self.path}: no sha256 of {missing[0]}: `formalbench corpus complete "
                f"{self.path}` adds it"
            )

    def _check_apart(self) -> None:
        splits: dict[str, tuple[Split, str]] = {}
        for split in SPLITS:
            for one in self.files(split):
                before, name = splits.setdefault(one.sha256 or one.file, (split, one.file))
                if before != split:
                    raise RequestError(
                        f"{self.path}: {one.file} ({split}) has the same contents as {name} "
                        f"({before}): give each split its own texts"
                    )


@dataclass(frozen=True)
class CorpusDescription(TextDescription):
    """A corpus, as its YAML file has it."""

    contents: CorpusContents
    reader = 1
    kind = CorpusContents
    parts = SPLITS
    trained = SPLITS[:1]

    @property
    def key(self) -> str:
        """What decides the tokens, as text."""
        facts = self.contents.model_dump(mode="json", include={"documents", "tokeniser"})
        digests = {split: [one.sha256 for one in self.files(split)] for split in SPLITS}
        return json.dumps(["corpus", self.reader, facts, digests], sort_keys=True)

    def files(self, split: Split) -> tuple[TextFile, ...]:
        """Return the files of a split."""
        files: tuple[TextFile, ...] = getattr(self.contents.corpus, split)
        return files

    def pieces(self, part: str) -> Pieces:
        """Return the texts of a split."""
        return pieces_of(self.places(cast("Split", part)), self.contents.documents)


@dataclass(frozen=True)
class PairDescription(TextDescription):
    """Parallel texts, as their YAML file has them."""

    contents: PairContents
    reader = 1
    kind = PairContents
    parts = tuple(f"{split}.{side}" for split in SPLITS for side in SIDES)
    trained = parts[: len(SIDES)]

    @property
    def key(self) -> str:
        """What decides the tokens, as text."""
        tokeniser = self.tokeniser.model_dump(mode="json")
        digests = [[one.sha256 for one in self.files(split)] for split in SPLITS]
        return json.dumps(["pairs", self.reader, tokeniser, digests], sort_keys=True)

    def files(self, split: Split) -> tuple[TextFile, ...]:
        """Return the files of a split, of texts and of translations."""
        both: PairFiles = getattr(self.contents.pairs, split)
        return both.source, both.target

    def pieces(self, part: str) -> Pieces:
        """Return the texts or the translations of a split."""
        split, _, side = part.partition(".")
        source, target = self.places(cast("Split", split))
        for pair in pairs_of(source, target, skip_empty=split == "train"):
            yield pair[SIDES.index(side)]
            yield None

    def words(self, text: str) -> int:
        """Return how many words and marks a text has."""
        return len(text.split() if self.contents.tokenised else WORD.findall(text))


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
