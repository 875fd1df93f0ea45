"""What is written of a corpus: texts or pairs, a description with checksums, the licence."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import yaml
from formalbench import RequestError, read_yaml
from formalbench.contracts.source import Split
from formalbench.files import sweep, unfinished_prefix, write_atomically

from formalbench_text.description import (
    SIDES,
    SPLITS,
    WORD,
    CorpusDescription,
    PairDescription,
    WindowLengths,
    fitted,
)
from formalbench_text.reading import digest_of
from formalbench_text.tokenisers import hash_of, keep, tokeniser_of

T = TypeVar("T")

HELD_OUT = 10
"""One of this many texts is for validation, and one for the test."""

ABOUT = "ABOUT.txt"

VOCABULARY = 4096
"""Tokens of both languages together."""

SHORT = 20
"""Words and marks of the texts that are short; Chiang and Cholak (2022), section 4.4, train on
these."""

LEAST, LONGEST = 5, 100
"""Words and marks of a piece to translate; others are left out: names on buttons, and tables."""


class Text(NamedTuple):
    """A document: its name, and what it says."""

    name: str
    text: str


class PairedPage(NamedTuple):
    """A document in two languages, piece by piece."""

    name: str
    pairs: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class CorpusRecipe:
    """What a corpus is, and how it is had.

    Attributes:
        name: of the folder and the task.
        summary: one line.
        source: where it comes from.
        licence: of the texts.
        texts: downloads packages into a folder, where they may lie already, and returns texts.
        pages: the same for English texts with Vietnamese translations; one of the two is given.
    """

    name: str
    summary: str
    source: str
    licence: str
    texts: Callable[[Path], Iterable[Text]] | None = None
    pages: Callable[[Path], Iterable[PairedPage]] | None = None


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
        packages, target = packages or room / "packages", room / folder.name
        if recipe.texts is not None:
            counts = _write_texts(recipe, distinct_texts(recipe.texts(packages)), target)
        else:
            assert recipe.pages is not None
            counts = _write_pages(recipe, distinct_pages(recipe.pages(packages)), target)
        about = [f"{recipe.name}: {recipe.summary}", f"source: {recipe.source}"]
        text = "\n".join([*about, f"licence: {recipe.licence}", *counts]) + "\n"
        (target / ABOUT).write_text(text, encoding="utf-8")
        return text


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


def distinct_texts(texts: Iterable[Text]) -> list[Text]:
    """Return non-empty texts without repeats, ignoring differences in white space."""
    distinct: dict[str, Text] = {}
    for one in texts:
        distinct.setdefault(" ".join(one.text.split()), one)
    return [one for words, one in distinct.items() if words]


def distinct_pages(pages: Iterable[PairedPage]) -> list[PairedPage]:
    """Return pages with each piece once, by what it says in the first language.

    So what a test asks to translate stands on no page of the training.
    """
    seen: set[str] = set()
    distinct = []
    for page in pages:
        fresh = []
        for source, target in page.pairs:
            if source not in seen:
                seen.add(source)
                fresh.append((source, target))
        if fresh:
            distinct.append(PairedPage(page.name, fresh))
    return distinct


def _split(recipe: CorpusRecipe, documents: Sequence[T]) -> dict[Split, Sequence[T]]:
    """Return whole documents split by split: one of `HELD_OUT` for each of validation and test.

    Raises:
        RequestError: one line, if a split has none.
    """
    trained = HELD_OUT - 2
    parts: dict[Split, Sequence[T]] = {
        "train": [one for index, one in enumerate(documents) if index % HELD_OUT < trained],
        "validation": documents[trained::HELD_OUT],
        "test": documents[trained + 1 :: HELD_OUT],
    }
    if empty := [split for split, some in parts.items() if not some]:
        raise RequestError(f"{recipe.name}: no text for {empty[0]} in {recipe.source}")
    return parts


def _words(text: str) -> int:
    """Return how many words and marks a text has."""
    return len(WORD.findall(text))


def _write_texts(recipe: CorpusRecipe, texts: Sequence[Text], folder: Path) -> list[str]:
    """Write texts one a line, as JSON, and their description; return how many there are."""
    parts = _split(recipe, texts)
    counts, longest = [], {}
    for split, some in parts.items():
        lines = (json.dumps(one._asdict(), ensure_ascii=False) + "\n" for one in some)
        (folder / f"{split}.jsonl").write_text("".join(lines), encoding="utf-8")
        words = sum(_words(one.text) for one in some)
        counts.append(f"{split}: {len(some):,} texts, {words:,} words and marks")
        longest[split] = max(len(one.text.encode()) + 1 for one in some)  # bytes, and the end
    lengths = fitted(WindowLengths(), longest)
    description = {
        "reference": recipe.source,
        "corpus": {split: [{"file": f"{split}.jsonl"}] for split in SPLITS},
        "documents": "jsonl",
        "tokeniser": {"kind": "bytes"},
        "lengths": {"train": lengths.train, "test": list(lengths.test)},
        "windows": 256,
        "within": True,
    }
    _describe(recipe, description, folder)
    return counts


def _write_pages(recipe: CorpusRecipe, pages: Sequence[PairedPage], folder: Path) -> list[str]:
    """Write pairs, a line of two files each, and their description; return how many there are."""
    pages = [page._replace(pairs=[pair for pair in page.pairs if _fits(pair)]) for page in pages]
    counts: list[str] = []
    files: dict[str, dict[str, Any]] = {}
    for split, some in _split(recipe, [page for page in pages if page.pairs]).items():
        pairs = [pair for page in some for pair in page.pairs]
        files[split] = {}
        for place, (side, language) in enumerate(zip(SIDES, ("en", "vi"), strict=True)):
            name = f"{split}.{language}"
            lines = "".join(f"{pair[place]}\n" for pair in pairs)
            (folder / name).write_text(lines, encoding="utf-8")
            files[split][side] = {"file": name}
        long = sum(_words(source) > SHORT for source, _ in pairs)
        counts.append(
            f"{split}: {len(pairs):,} pairs on {len(some):,} pages, {long:,} of more than {SHORT} "
            "words and marks"
        )
    description = {
        "reference": recipe.source if len(recipe.source) <= 200 else "",
        "pairs": files,
        "tokeniser": {"kind": "bpe", "vocabulary": VOCABULARY},
        "short": SHORT,
    }
    _describe(recipe, description, folder)
    return counts


def _fits(pair: tuple[str, str]) -> bool:
    """Return whether both sides are sentences, and not too long."""
    source, target = map(_words, pair)
    return source >= LEAST and max(source, target) <= LONGEST


def _describe(recipe: CorpusRecipe, description: Mapping[str, Any], folder: Path) -> None:
    """Write the description of a corpus beside its texts, with all checksums."""
    path = folder / f"{recipe.name}.yaml"
    data = {"name": recipe.name, "summary": recipe.summary, **description}
    path.write_text(as_yaml(completed(path, data)), encoding="utf-8")


def complete_file(path: Path) -> str:
    """Add the checksums that are missing to a YAML file; say what was done.

    Raises:
        RequestError: one line, if the file describes no corpus, or a checksum that it has is wrong.
    """
    data = read_yaml(path)
    if not {"corpus", "pairs"} & data.keys():
        raise RequestError(
            f"{path}: not a description of a corpus (it has no key 'corpus' or 'pairs')"
        )
    whole = completed(path, data)
    if whole == data:
        return f"{path}: nothing is missing"
    write_atomically(path, as_yaml(whole))
    return f"{path}: checksums added"


def completed(path: Path, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the contents of a YAML file at this path with all checksums."""
    kind = PairDescription if "pairs" in data else CorpusDescription
    described = kind.of(path, data)
    files: dict[str, Any] = {
        split: [
            {"file": one.file, "sha256": one.sha256 or digest_of(path.parent / one.file)}
            for one in described.files(split)
        ]
        for split in SPLITS
    }
    if kind is PairDescription:
        both = {split: dict(zip(SIDES, some, strict=True)) for split, some in files.items()}
        whole = {**data, "pairs": both}
    else:
        whole = {**data, "corpus": files}
    choice = described.tokeniser
    if choice.kind == "file" and choice.file and not choice.sha256:
        whole["tokeniser"] = {**data["tokeniser"], "sha256": digest_of(path.parent / choice.file)}
    elif choice.kind != "bytes" and not choice.sha256:
        tokeniser = tokeniser_of(described)
        whole["tokeniser"] = {**data["tokeniser"], "sha256": hash_of(tokeniser)}
        keep(kind.of(path, whole), tokeniser)
    return whole


def as_yaml(data: Mapping[str, Any]) -> str:
    """Return contents as YAML text."""
    return yaml.safe_dump(dict(data), sort_keys=False, allow_unicode=True, width=100)
