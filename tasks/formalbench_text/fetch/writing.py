"""What a recipe gives, as files: all of a folder, or nothing."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from formalbench import RequestError
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
from formalbench_text.pairs.description import SIDES

ABOUT = "ABOUT.txt"

VOCABULARY = 4096
"""Tokens of both languages together."""

LEAST, LONGEST = 5, 100
"""Words and marks of a piece to translate; others are left out: names on buttons, and tables."""

SHORT = 20
"""Those of the pieces that are short; Chiang and Cholak (2022), section 4.4, train on these."""

_WORD = re.compile(r"\w+|[^\w\s]")


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
    """Write pairs, a line of two files each, and their description; return how many there are."""
    kept = [page._replace(pairs=[pair for pair in page.pairs if _fits(pair)]) for page in pages]
    parts = apart([page for page in kept if page.pairs])
    _check(recipe, parts)
    counts, files = [], {}
    for split, some in parts.items():
        pairs = [pair for page in some for pair in page.pairs]
        names = [f"{split}.{language}" for language in recipe.languages]
        for name, side in zip(names, zip(*pairs, strict=True), strict=True):
            (folder / name).write_text("".join(f"{text}\n" for text in side), encoding="utf-8")
        files[split] = {side: {"file": name} for side, name in zip(SIDES, names, strict=True)}
        short = sum(len(_WORD.findall(source)) <= SHORT for source, _ in pairs)
        told = f"{len(pairs):,} pairs on {len(some):,} pages, {len(pairs) - short:,}"
        counts.append(f"{split}: {told} of more than {SHORT} words and marks")
    data = {
        "name": recipe.name,
        "summary": recipe.summary,
        "reference": recipe.source if len(recipe.source) <= 200 else "",
        "pairs": files,
        "tokeniser": {"kind": "bpe", "vocabulary": VOCABULARY},
        "short": SHORT,
    }
    path = folder / f"{recipe.name}.yaml"
    path.write_text(as_yaml(completed(path, data)), encoding="utf-8")
    return counts


def _fits(pair: tuple[str, str]) -> bool:
    """Say whether both sides are sentences, and not too long."""
    source, target = (len(_WORD.findall(side)) for side in pair)
    return source >= LEAST and max(source, target) <= LONGEST


def _check(recipe: CorpusRecipe, parts: Mapping[Any, Collection[object]]) -> None:
    if empty := [part for part, some in parts.items() if not some]:
        raise RequestError(f"{recipe.name}: no text for {empty[0]} in {recipe.source}")


def _about(recipe: CorpusRecipe, counts: Sequence[str]) -> str:
    rows = [f"{recipe.name}: {recipe.summary}", f"source: {recipe.source}"]
    return "\n".join([*rows, f"licence: {recipe.licence}", *counts]) + "\n"
