"""Texts with translations that the library `datasets` knows, as those of translation tasks are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from formalbench import RequestError

from formalbench_text.fetch.hub import SPLIT_NAMES, HubDataset, facts_of, load_rows, refused
from formalbench_text.fetch.writing import describe_in, whole_folder, write_pairs

COLUMN = "translation"
"""Where rows have texts by language; else each language is a column."""


def import_pairs_into(asked: HubDataset, languages: tuple[str, str], folder: Path) -> str:
    """Make parallel texts of a data set in a folder that does not exist yet; splits stay.

    Args:
        asked: the data set.
        languages: what to translate from and to, as the data set names them.
        folder: what is made.

    Returns:
        What it is, where it comes from, its licence and how much there is of it.

    Raises:
        RequestError: one line.
    """
    with whole_folder(folder) as room:
        found = load_rows(asked)
        known = {SPLIT_NAMES[name]: rows for name, rows in found.items() if name in SPLIT_NAMES}
        for split in ("train", "validation", "test"):
            if split not in known:
                raise RequestError(f"{asked.name}: no split {split!r} (it has: {', '.join(found)})")
        about = facts_of(asked, found)
        pairs = {split: _pairs(asked, rows, languages) for split, rows in known.items()}
        told = dict.fromkeys(pairs, "pairs")
        counts = write_pairs(about, pairs, told, languages, room / folder.name)
        return describe_in(room / folder.name, about, counts)


def _pairs(
    asked: HubDataset, rows: Iterable[Any], languages: tuple[str, str]
) -> Iterator[tuple[str, str]]:
    """Return pairs, each side on one line."""
    try:
        for row in rows:
            texts = row.get(COLUMN, row)
            sides = [texts.get(language) for language in languages]
            if not all(isinstance(side, str) for side in sides):
                raise RequestError(
                    f"{asked.name}: no texts in {' and '.join(languages)} in a row (it has: "
                    f"{', '.join(map(str, texts))})"
                )
            source, target = (" ".join(side.split()) for side in sides)
            yield source, target
    except RequestError:
        raise
    except Exception as error:  # noqa: BLE001  # a connection that breaks, a file that is damaged
        raise refused(asked, error) from None
