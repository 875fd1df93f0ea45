"""What a recipe gives, as files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from formalbench_text.fetch.folder import check_parts, describe_in, whole_folder
from formalbench_text.fetch.pairs import write_pairs
from formalbench_text.fetch.recipe import (
    CorpusRecipe,
    PairedPage,
    Text,
    apart,
    distinct_pages,
    distinct_texts,
)
from formalbench_text.fetch.texts import WORD, TextsWriter

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
    """Say whether both sides are sentences, and not too long."""
    source, target = (len(WORD.findall(side)) for side in pair)
    return source >= LEAST and max(source, target) <= LONGEST
