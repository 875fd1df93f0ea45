"""Parallel texts as YAML files describe them.

::

    name: iwslt-en-vi
    pairs:
      train: {source: {file: train.en, sha256: 3b7c…}, target: {file: train.vi, sha256: …}}
      validation: {source: {file: tst2012.en, …}, target: {file: tst2012.vi, …}}
      test: {source: {file: tst2013.en, …}, target: {file: tst2013.vi, …}}
    tokeniser: {kind: bpe, vocabulary: 8000, sha256: …}
    tokenised: true
    short: 20

Paths are relative to the YAML file; the files are UTF-8, a text a line, its translation in the same
line of the other file. `formalbench corpus complete` adds the checksums that are missing.

``tokeniser`` is of both languages, trained on all training files: ``bytes`` (the default), ``bpe``
or ``file``, as for corpora, but for ``words``, which forgets rare ones: BLEU is of whole texts.

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
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from formalbench import Config, Splits, TaskSpec, option
from formalbench.contracts.protocol import Part
from formalbench.contracts.source import Split
from pydantic import Field, field_validator

from formalbench_text.description import (
    MOST_VERSIONS,
    SPLITS,
    Line,
    TextFile,
    TokeniserChoice,
    check_digests,
    check_files,
    check_files_apart,
    checked,
)
from formalbench_text.reading import Pieces, pairs_of

READER = 1
"""Version of the sampling; raise it whenever tokens or tests of the same files could change."""

SIDES = ("source", "target")

_WORD = re.compile(r"\w+|[^\w\s]")


class PairFiles(Part):
    """Texts and their translations."""

    source: TextFile
    target: TextFile


class PairSplits(Part):
    """The files of each split."""

    train: PairFiles
    validation: PairFiles
    test: PairFiles


class PairContents(Part):
    """What the YAML file holds."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)]
    pairs: PairSplits
    tokeniser: TokeniserChoice = TokeniserChoice()
    tokenised: bool = False
    short: Annotated[int, Field(ge=1, le=1000)] = 20
    summary: Line = ""
    reference: Line = ""
    version: Annotated[int, Field(ge=1, lt=MOST_VERSIONS)] = 1

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
class PairDescription:
    """Parallel texts, as their YAML file has them.

    Attributes:
        path: of the YAML file.
        contents: what it holds.
    """

    path: Path
    contents: PairContents
    parts = tuple(f"{split}.{side}" for split in SPLITS for side in SIDES)
    trained = parts[: len(SIDES)]

    def __hash__(self) -> int:
        return hash((self.path, self.key))

    @property
    def key(self) -> str:
        """What decides the tokens, as text."""
        tokeniser = self.tokeniser.model_dump(mode="json")
        digests = [[one.sha256 for one in self.files(split)] for split in SPLITS]
        return json.dumps(["pairs", READER, tokeniser, digests], sort_keys=True)

    @property
    def tokeniser(self) -> TokeniserChoice:
        """How text becomes tokens."""
        return self.contents.tokeniser

    def files(self, split: Split) -> tuple[TextFile, TextFile]:
        """Return the files of a split, of texts and of translations."""
        both: PairFiles = getattr(self.contents.pairs, split)
        return both.source, both.target

    def pieces(self, part: str) -> Pieces:
        """Return the texts or the translations of a split."""
        split, _, side = part.partition(".")
        both: PairFiles = getattr(self.contents.pairs, split)
        paths = [(self.path.parent / one.file, one.sha256) for one in (both.source, both.target)]
        for pair in pairs_of(*paths, skip_empty=split == "train"):
            yield pair[SIDES.index(side)]
            yield None

    def words(self, text: str) -> int:
        """Return how many words and marks a text has."""
        return len(text.split() if self.contents.tokenised else _WORD.findall(text))


def read(path: Path, data: Mapping[str, Any]) -> TaskSpec:
    """Turn the contents of a YAML file into a task; the texts are read when it is built.

    Raises:
        RequestError: one line, if anything in it cannot be used, or a file is not there.
    """
    described = describe(path, data)
    contents = described.contents
    files = [one for split in SPLITS for one in described.files(split)]
    check_digests(path, files, contents.tokeniser)
    for side in range(len(SIDES)):
        check_files_apart(path, {split: [described.files(split)[side]] for split in SPLITS})

    def build(options: PairOptions) -> Any:
        from formalbench_text.parallel_texts import TextPairs  # lazy: imports numpy

        return TextPairs(described, options)

    return TaskSpec(
        name=contents.name,
        version=MOST_VERSIONS * READER + contents.version,
        summary=contents.summary or f"texts and translations, as {contents.tokeniser.kind}",
        factory=build,
        objectives=("translate",),
        splits=Splits((1, 1000), (1, 1000)),
        config=PairOptions,
        reference=contents.reference,
        keywords=("translation",),
    )


def describe(path: Path, data: Mapping[str, Any]) -> PairDescription:
    """Validate the contents of a YAML file of parallel texts.

    Raises:
        RequestError: one line, if it is not, or a file that it names is not there.
    """
    described = PairDescription(path, checked(path, data, PairContents))
    named = [one.file for split in SPLITS for one in described.files(split)]
    check_files(path, named, described.tokeniser)
    return described
