"""What a recipe gives, as files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from formalbench.contracts.language import Split

from formalbench_text.completing import as_yaml
from formalbench_text.fetch.folder import check_parts, describe_in, whole_folder
from formalbench_text.fetch.recipe import (
    CorpusRecipe,
    PairedPage,
    Text,
    apart,
    distinct_pages,
    distinct_texts,
)
from formalbench_text.fetch.texts import WORD, TextsWriter

UNKNOWN = "<unk>"
RARE = 2
"""Words that are there less often in training are unknown."""

MOST_WORDS = 9_000
LONGEST = 100
"""Words of a piece to translate; longer ones are left out."""

SHORT = 20
"""Words of the pieces that are short; Chiang and Cholak (2022), section 4.4, train on these."""

_PARTS = ("train", "validation", "test-short", "test-long")

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
    """Write pairs line by line, as they are and as words, and a description of these."""
    parts = apart(pages)
    check_parts(recipe, parts)
    counts = []
    words: dict[Split, Parallel] = {}
    for split, some in parts.items():
        pairs = [pair for page in some for pair in page.pairs]
        for side, language in enumerate(recipe.languages):
            _write_lines(folder / f"{split}.{language}", [pair[side] for pair in pairs])
        cut = [(WORD.findall(source), WORD.findall(target)) for source, target in pairs]
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
    check_parts(recipe, {part: files.get(f"{name}.{part}", {}) for part in _PARTS})
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
