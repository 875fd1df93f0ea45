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
from dataclasses import dataclass
from typing import Annotated, cast

from formalbench import Config, option
from formalbench.contracts.protocol import Part
from formalbench.contracts.source import Split
from pydantic import Field, field_validator

from formalbench_text.description import (
    SPLITS,
    Contents,
    TextDescription,
    TextFile,
    TokeniserChoice,
)
from formalbench_text.reading import Pieces, pairs_of

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


class PairContents(Contents):
    """What the YAML file holds."""

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
        return len(text.split() if self.contents.tokenised else _WORD.findall(text))
