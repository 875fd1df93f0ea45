"""What a recipe gives, as files: all of a folder, or nothing."""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from formalbench import RequestError
from formalbench.contracts.language import Split
from formalbench.store.atomic import UNFINISHED

from formalbench_text.completing import as_yaml, completed
from formalbench_text.fetch.recipe import (
    CorpusRecipe,
    PairedPage,
    Text,
    apart,
    distinct_pages,
    distinct_texts,
)

ABOUT = "ABOUT.txt"

UNKNOWN = "<unk>"
RARE = 2
"""Words that are there less often in training are unknown."""

MOST_WORDS = 9_000
LONGEST = 100
"""Words of a piece to translate; longer ones are left out."""

SHORT = 20
"""Words of the pieces that are short; Chiang and Cholak (2022), section 4.4, train on these."""

_PARTS = ("train", "validation", "test-short", "test-long")

_WORD = re.compile(r"\w+|[^\w\s]")

Parallel = Sequence[tuple[list[str], list[str]]]


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
    if folder.exists():
        raise RequestError(f"{folder}: it exists already (take another with --output)")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=UNFINISHED) as name:
            room = Path(name)
            for part in ("packages", folder.name):
                (room / part).mkdir()
            made = room / folder.name
            counts = _write(recipe, packages or room / "packages", made)
            told = _about(recipe, counts)
            (made / ABOUT).write_text(told, encoding="utf-8")
            made.rename(folder)
    except OSError as error:
        raise RequestError(f"cannot write {folder}: {error.strerror}") from None
    return told


def _write(recipe: CorpusRecipe, packages: Path, folder: Path) -> list[str]:
    if recipe.texts is not None:
        return _write_texts(recipe, distinct_texts(recipe.texts(packages)), folder)
    assert recipe.pages is not None
    return _write_pages(recipe, distinct_pages(recipe.pages(packages)), folder)


def _write_texts(recipe: CorpusRecipe, texts: Sequence[Text], folder: Path) -> list[str]:
    """Write texts one a line, as JSON, and their description; return how many there are."""
    parts = apart(texts)
    _check(recipe, parts)
    counts = []
    for split, some in parts.items():
        lines = [json.dumps(one._asdict(), ensure_ascii=False) + "\n" for one in some]
        (folder / f"{split}.jsonl").write_text("".join(lines), encoding="utf-8")
        words = sum(len(_WORD.findall(one.text)) for one in some)
        counts.append(f"{split}: {len(some):,} texts, {words:,} words and marks")
    data = {
        "name": recipe.name,
        "summary": recipe.summary,
        "reference": recipe.source,
        "corpus": {split: [{"file": f"{split}.jsonl"}] for split in parts},
        "documents": "jsonl",
        "tokeniser": {"kind": "bytes"},
        "lengths": {"train": 512, "test": [512, 1024, 2048, 4096, 8192]},
        "windows": 256,
        "within": True,
    }
    path = folder / f"{recipe.name}.yaml"
    path.write_text(as_yaml(completed(path, data)), encoding="utf-8")
    return counts


def _write_pages(recipe: CorpusRecipe, pages: Sequence[PairedPage], folder: Path) -> list[str]:
    """Write pairs line by line, as they are and as words, and a description of these."""
    parts = apart(pages)
    _check(recipe, parts)
    counts = []
    words: dict[Split, Parallel] = {}
    for split, some in parts.items():
        pairs = [pair for page in some for pair in page.pairs]
        for side, language in enumerate(recipe.languages):
            _write_lines(folder / f"{split}.{language}", [pair[side] for pair in pairs])
        cut = [(_WORD.findall(source), _WORD.findall(target)) for source, target in pairs]
        words[split] = [pair for pair in cut if all(0 < len(side) <= LONGEST for side in pair)]
        counts.append(f"{split}: {len(pairs):,} pairs on {len(some):,} pages")
    _write_words(recipe, recipe.name, words, folder)
    short = {split: [p for p in pairs if len(p[0]) <= SHORT] for split, pairs in words.items()}
    _write_words(recipe, f"{recipe.name}-short", {**short, "test": words["test"]}, folder)
    return counts


def _write_words(
    recipe: CorpusRecipe, name: str, words: Mapping[Split, Parallel], folder: Path
) -> None:
    """Write a data set: words that its training knows, and each string of them once."""
    known = [_known(pair[side] for pair in words["train"]) for side in (0, 1)]
    found: dict[str, tuple[str, str]] = {}
    for split, pairs in words.items():
        for source, target in pairs:
            long = "-long" if len(source) > SHORT else "-short"
            part = f"{name}.{split}{long if split == 'test' else ''}"
            found.setdefault(_line(source, known[0]), (part, _line(target, known[1])))
    files: dict[str, dict[str, str]] = {}
    for part in dict.fromkeys(part for part, _ in found.values()):
        lines = [(source, target) for source, (own, target) in found.items() if own == part]
        for side, kind in enumerate(("strings", "outputs")):
            file = f"{part}.{recipe.languages[side]}"
            _write_lines(folder / file, [pair[side] for pair in lines])
            files.setdefault(part, {})[kind] = file
    _check(recipe, {part: files.get(f"{name}.{part}", {}) for part in _PARTS})
    train, validation, *tests = (files[f"{name}.{part}"] for part in _PARTS)
    data = {
        "name": name,
        "summary": f"{recipe.summary}, by words",
        "reference": recipe.source,
        "data": {
            "train": train,
            "validation": validation,
            "test": dict(zip(("short", "long"), tests, strict=True)),
        },
    }
    (folder / f"{name}.yaml").write_text(as_yaml(data), encoding="utf-8")


def _known(sides: Iterable[Sequence[str]]) -> set[str]:
    """Return the words that are not rare, the most frequent ones if there are too many."""
    counts = Counter(word for side in sides for word in side)
    often = sorted((-count, word) for word, count in counts.items() if count >= RARE)
    return {word for _, word in often[:MOST_WORDS]}


def _line(words: Sequence[str], known: set[str]) -> str:
    return " ".join(word if word in known else UNKNOWN for word in words)


def _write_lines(path: Path, lines: Sequence[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _check(recipe: CorpusRecipe, parts: Mapping[Any, Collection[object]]) -> None:
    if empty := [part for part, some in parts.items() if not some]:
        raise RequestError(f"{recipe.name}: no text for {empty[0]} in {recipe.source}")


def _about(recipe: CorpusRecipe, counts: Sequence[str]) -> str:
    rows = [f"{recipe.name}: {recipe.summary}", f"source: {recipe.source}"]
    return "\n".join([*rows, f"licence: {recipe.licence}", *counts]) + "\n"
