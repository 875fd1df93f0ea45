"""A recipe: where texts come from, under which licence, and how they are had."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

from formalbench.contracts.language import Split

T = TypeVar("T")

HELD_OUT = 10
"""Of so many texts one is for validation and one for the test."""


class Text(NamedTuple):
    """A document: its name, and what it says."""

    name: str
    text: str


class PairedPage(NamedTuple):
    """A document in two languages, piece by piece."""

    name: str
    pairs: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class CorpusFacts:
    """What a corpus is.

    Attributes:
        name: of the folder and the task.
        summary: one line.
        source: where it comes from.
        licence: of the texts.
    """

    name: str
    summary: str
    source: str
    licence: str


@dataclass(frozen=True)
class CorpusRecipe(CorpusFacts):
    """Where a corpus comes from, and how it is had.

    Attributes:
        texts: downloads packages into a folder, where they may lie already, and returns texts.
        pages: likewise, for texts with translations; one of the two is given.
        languages: of these.
    """

    texts: Callable[[Path], Iterable[Text]] | None = None
    pages: Callable[[Path], Iterable[PairedPage]] | None = None
    languages: tuple[str, str] = ("en", "vi")


def split_of(index: int) -> Split:
    """Return what the text with this number is for: every tenth for each of the others."""
    held_out: dict[int, Split] = {HELD_OUT - 2: "validation", HELD_OUT - 1: "test"}
    return held_out.get(index % HELD_OUT, "train")


def apart(documents: Sequence[T]) -> dict[Split, list[T]]:
    """Return whole documents, split by split."""
    parts: dict[Split, list[T]] = {"train": [], "validation": [], "test": []}
    for index, document in enumerate(documents):
        parts[split_of(index)].append(document)
    return parts


def distinct_texts(texts: Iterable[Text]) -> list[Text]:
    """Return texts, each once, whatever white space is in it; none that is empty."""
    found: dict[str, Text] = {}
    for one in texts:
        found.setdefault(" ".join(one.text.split()), one)
    return [one for words, one in found.items() if words]


def distinct_pages(pages: Iterable[PairedPage]) -> list[PairedPage]:
    """Return pages with each piece once, by what it says in the first language.

    So what a test asks to translate stands on no page of the training.
    """
    seen: set[str] = set()
    kept = []
    for page in pages:
        fresh = []
        for source, target in page.pairs:
            if source not in seen:
                seen.add(source)
                fresh.append((source, target))
        if fresh:
            kept.append(PairedPage(page.name, fresh))
    return kept
