"""A corpus folder: texts or pairs, their description and their licence."""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self, TextIO, TypeVar

from formalbench import RequestError
from formalbench.contracts.source import Split
from formalbench.files import sweep, unfinished_prefix

from formalbench_text.checksums import as_yaml, completed
from formalbench_text.description import SPLITS, WindowLengths, fitted
from formalbench_text.pair_description import SIDES

T = TypeVar("T")

HELD_OUT = 10
"""One of this many texts is for validation, and one for the test."""


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
        pages: the same for texts with translations; one of the two is given.
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
    """Return non-empty texts without repeats, ignoring differences in white space."""
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


ABOUT = "ABOUT.txt"


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """Make a folder that does not exist yet: all of it, or nothing.

    Unfinished folders of killed processes are deleted.

    Returns:
        A place for a while. What lies in its subfolder of the same name becomes the folder.

    Raises:
        RequestError: one line, if it exists, or cannot be written.
    """
    if folder.exists():
        raise RequestError(f"{folder}: already exists (choose another with --output)")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        sweep(folder.parent, below=False)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=unfinished_prefix()) as name:
            room = Path(name)
            (room / folder.name).mkdir()
            yield room
            (room / folder.name).rename(folder)
    except OSError as error:
        raise RequestError(f"cannot write {folder}: {error.strerror}") from None


def describe_in(folder: Path, about: CorpusFacts, counts: Sequence[str]) -> str:
    """Write what a corpus is and where it comes from beside it, and return it."""
    rows = [f"{about.name}: {about.summary}", f"source: {about.source}"]
    told = "\n".join([*rows, f"licence: {about.licence}", *counts]) + "\n"
    (folder / ABOUT).write_text(told, encoding="utf-8")
    return told


def check_parts(about: CorpusFacts, parts: Mapping[Any, Collection[object]]) -> None:
    """Refuse a corpus that has nothing for a part.

    Raises:
        RequestError: one line that names the part.
    """
    if empty := [part for part, some in parts.items() if not some]:
        raise RequestError(f"{about.name}: no text for {empty[0]} in {about.source}")


WORD = re.compile(r"\w+|[^\w\s]")


class TextsWriter:
    """Writes texts one a line, as JSON: as many as there are, held in memory one by one.

    Args:
        folder: that they are written into.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._texts: Counter[Split] = Counter()
        self._words: Counter[Split] = Counter()
        self._longest: Counter[Split] = Counter()
        self._files = ExitStack()
        self._open: dict[Split, TextIO] = {}

    def __enter__(self) -> Self:
        for split in SPLITS:
            file = (self._folder / f"{split}.jsonl").open("w", encoding="utf-8")
            self._open[split] = self._files.enter_context(file)
        return self

    def __exit__(self, *error: object) -> None:
        self._files.close()

    def add(self, split: Split, text: Text) -> None:
        """Write a text."""
        self._open[split].write(json.dumps(text._asdict(), ensure_ascii=False) + "\n")
        self._texts[split] += 1
        self._words[split] += sum(1 for _ in WORD.finditer(text.text))
        tokens = len(text.text.encode()) + 1  # bytes, and the end
        self._longest[split] = max(self._longest[split], tokens)

    def describe(self, about: CorpusFacts) -> list[str]:
        """Write the description of a corpus beside its texts; return how many there are.

        Raises:
            RequestError: one line, if a split has none.
        """
        check_parts(about, {split: range(self._texts[split]) for split in SPLITS})
        lengths = fitted(WindowLengths(), self._longest)
        data = {
            "name": about.name,
            "summary": about.summary,
            "reference": about.source,
            "corpus": {split: [{"file": f"{split}.jsonl"}] for split in SPLITS},
            "documents": "jsonl",
            "tokeniser": {"kind": "bytes"},
            "lengths": {"train": lengths.train, "test": list(lengths.test)},
            "windows": 256,
            "within": True,
        }
        path = self._folder / f"{about.name}.yaml"
        path.write_text(as_yaml(completed(path, data)), encoding="utf-8")
        return [
            f"{split}: {self._texts[split]:,} texts, {self._words[split]:,} words and marks"
            for split in SPLITS
        ]


VOCABULARY = 4096
"""Tokens of both languages together."""

SHORT = 20
"""Words and marks of the texts that are short; Chiang and Cholak (2022), section 4.4, train on
these."""


def write_pairs(
    about: CorpusFacts,
    pairs: Mapping[Split, Iterable[tuple[str, str]]],
    told: Mapping[Split, str],
    languages: tuple[str, str],
    folder: Path,
) -> list[str]:
    """Write pairs, a line of two files each, as they come, and their description.

    Args:
        about: what they are and where they come from.
        pairs: of each split, without line ends in them.
        told: the unit of the counts, in words.
        languages: the endings of the files.
        folder: where they go.

    Returns:
        How many there are, a line for each split.
    """
    counts, files = [], {}
    for split, some in pairs.items():
        names = [f"{split}.{language}" for language in languages]
        lengths = _write_side(some, [folder / name for name in names])
        files[split] = {side: {"file": name} for side, name in zip(SIDES, names, strict=True)}
        number = f"{lengths.total():,} {told[split]}, {lengths[True]:,}"
        counts.append(f"{split}: {number} of more than {SHORT} words and marks")
    data = {
        "name": about.name,
        "summary": about.summary,
        "reference": about.source if len(about.source) <= 200 else "",
        "pairs": files,
        "tokeniser": {"kind": "bpe", "vocabulary": VOCABULARY},
        "short": SHORT,
    }
    path = folder / f"{about.name}.yaml"
    path.write_text(as_yaml(completed(path, data)), encoding="utf-8")
    return counts


def _write_side(pairs: Iterable[tuple[str, str]], paths: list[Path]) -> Counter[bool]:
    """Write pairs; return how many of their texts are long."""
    lengths: Counter[bool] = Counter()
    with ExitStack() as stack:
        files = [stack.enter_context(path.open("w", encoding="utf-8")) for path in paths]
        for pair in pairs:
            lengths[len(WORD.findall(pair[0])) > SHORT] += 1
            for file, side in zip(files, pair, strict=True):
                file.write(f"{side}\n")
    return lengths


LEAST, LONGEST = 5, 100
"""Words and marks of a piece to translate; others are left out: names on buttons, and tables."""


def fetch_into(recipe: CorpusRecipe, folder: Path, packages: Path | None = None) -> str:
    """Fetch a corpus into a folder that does not exist yet.

    Args:
        recipe: of the corpus.
        folder: what is made; nothing of it is there until it is whole.
        packages: where packages lie that need not be downloaded.

    Returns:
        What it is, where it comes from, its licence and how much there is of it.

    Raises:
        RequestError: one line.
    """
    with whole_folder(folder) as room:
        (room / "packages").mkdir(exist_ok=True)  # a corpus may have this name
        counts = _write(recipe, packages or room / "packages", room / folder.name)
        return describe_in(room / folder.name, recipe, counts)


def _write(recipe: CorpusRecipe, packages: Path, folder: Path) -> list[str]:
    if recipe.texts is not None:
        return _write_texts(recipe, distinct_texts(recipe.texts(packages)), folder)
    assert recipe.pages is not None
    return _write_pages(recipe, distinct_pages(recipe.pages(packages)), folder)


def _write_texts(recipe: CorpusRecipe, texts: Sequence[Text], folder: Path) -> list[str]:
    """Write texts one a line, as JSON, and their description; return how many there are."""
    parts = apart(texts)
    check_parts(recipe, parts)
    with TextsWriter(folder) as writer:
        for split, some in parts.items():
            for one in some:
                writer.add(split, one)
    return writer.describe(recipe)


def _write_pages(recipe: CorpusRecipe, pages: Sequence[PairedPage], folder: Path) -> list[str]:
    """Write pairs, a line of two files each, and their description; return how many there are."""
    kept = [page._replace(pairs=[pair for pair in page.pairs if _fits(pair)]) for page in pages]
    parts = apart([page for page in kept if page.pairs])
    check_parts(recipe, parts)
    pairs = {split: [pair for page in some for pair in page.pairs] for split, some in parts.items()}
    told = {split: f"pairs on {len(some):,} pages" for split, some in parts.items()}
    return write_pairs(recipe, pairs, told, recipe.languages, folder)


def _fits(pair: tuple[str, str]) -> bool:
    """Return whether both sides are sentences, and not too long."""
    source, target = (len(WORD.findall(side)) for side in pair)
    return source >= LEAST and max(source, target) <= LONGEST
