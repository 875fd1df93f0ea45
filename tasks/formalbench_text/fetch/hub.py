"""Texts that the library `datasets` knows: of the Hugging Face hub, or a folder of its own kind.

They are read as a stream and written out text by text, so a corpus larger than memory, or than
what one wants to keep twice, is no matter; what is written has checksums as every other corpus.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from formalbench import RequestError
from formalbench.contracts.errors import nearest
from formalbench.contracts.source import Split

from formalbench_text.fetch.writing import CorpusFacts, Text, TextsWriter, describe_in, whole_folder
from formalbench_text.reading import headings

HELD_OUT = 100
"""Where there is training text alone, of so many texts one is for validation and one for the
test."""

SPLIT_NAMES: dict[str, Split] = {
    "train": "train",
    "validation": "validation",
    "valid": "validation",
    "dev": "validation",
    "test": "test",
}

_ODD = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class HubDataset:
    """What is asked of the hub.

    Attributes:
        name: as ``Salesforce/wikitext``, or a folder.
        subset: as ``wikitext-103-raw-v1``; None for the only one.
        revision: a commit or a tag; None for the newest.
        column: that has the text.
        lines: whether a row is a line and headings begin texts, as in WikiText, and not a text.
    """

    name: str
    subset: str | None = None
    revision: str | None = None
    column: str = "text"
    lines: bool = False

    @property
    def short(self) -> str:
        """The name of the corpus that it becomes."""
        last = self.subset or Path(self.name).name
        return _ODD.sub("-", last.lower()).strip("-")[:64].strip("-") or "texts"


def import_into(asked: HubDataset, folder: Path) -> str:
    """Make a corpus of a data set in a folder that does not exist yet.

    Its splits stay as they are; of training text alone every hundredth text is held out, twice.

    Returns:
        What it is, where it comes from, its licence and how much there is of it.

    Raises:
        RequestError: one line.
    """
    with whole_folder(folder) as room:
        found = load_rows(asked)
        made = room / folder.name
        about = facts_of(asked, found)
        with TextsWriter(made) as writer:
            for split, text in _texts(asked, found):
                writer.add(split, text)
        return describe_in(made, about, writer.describe(about))


def facts_of(asked: HubDataset, found: Mapping[str, Any]) -> CorpusFacts:
    """Return what a data set says of itself."""
    licence = next((one.info.license for one in found.values() if one.info.license), "")
    facts = (f"texts of {asked.name}", source_of(asked), licence or "not told")
    return CorpusFacts(asked.short, *facts)


def load_rows(asked: HubDataset) -> Mapping[str, Any]:
    """Return streams of rows, by split.

    Raises:
        RequestError: one line, if the library is not there, or the data set cannot be had.
    """
    try:
        from datasets import load_dataset
    except ImportError:
        raise RequestError(
            "the Hugging Face hub needs the library datasets: pip install 'formalbench[hub]'"
        ) from None
    try:
        found: Mapping[str, Any] = load_dataset(
            asked.name, asked.subset, revision=asked.revision, streaming=True
        )
    except Exception as error:  # noqa: BLE001  # the library raises whatever a server says
        raise refused(asked, error) from None
    return found


def _texts(asked: HubDataset, found: Mapping[str, Any]) -> Iterator[tuple[Split, Text]]:
    """Return all texts, each with what it is for."""
    known = {SPLIT_NAMES[name]: rows for name, rows in found.items() if name in SPLIT_NAMES}
    if "train" not in known:
        raise RequestError(f"{asked.name}: no split 'train' (it has: {', '.join(found)})")
    apart = len(known) > 1
    for split, rows in known.items():
        for index, text in enumerate(_of_split(asked, rows)):
            own = split if apart else _HELD.get(index % HELD_OUT, split)
            yield own, Text(f"{split}-{index}", text)


_HELD: dict[int, Split] = {HELD_OUT - 2: "validation", HELD_OUT - 1: "test"}


def _of_split(asked: HubDataset, rows: Iterable[Any]) -> Iterator[str]:
    """Return the texts of a split; rows without any are left out."""
    told = (row if row.endswith("\n") else f"{row}\n" for row in _rows(asked, rows))
    if not asked.lines:
        yield from (row for row in told if row.strip())
        return
    lines: list[str] = []
    for piece in headings(Path(asked.name), enumerate(told, 1)):
        if piece is not None:
            lines.append(piece)
            continue
        yield "".join(lines)
        lines = []


def _rows(asked: HubDataset, rows: Iterable[Any]) -> Iterator[str]:
    """Return the text of each row."""
    try:
        for row in rows:
            text = row.get(asked.column)
            if not isinstance(text, str):
                close = nearest(asked.column, [str(key) for key in row], count=1)
                hint = f"did you mean {close[0]!r}?" if close else f"it has: {', '.join(row)}"
                raise RequestError(
                    f"{asked.name}: no text in the column {asked.column!r} of a row ({hint})"
                )
            yield text
    except RequestError:
        raise
    except Exception as error:  # noqa: BLE001  # a connection that breaks, a file that is damaged
        raise refused(asked, error) from None


def refused(asked: HubDataset, error: Exception) -> RequestError:
    """Return the one line for whatever the library raised."""
    said = " ".join(str(error).split())[:300] or type(error).__name__
    return RequestError(f"{asked.name}: cannot be had: {said}")


def source_of(asked: HubDataset) -> str:
    """Return where a data set is from, in words."""
    parts = (asked.subset, asked.revision and f"revision {asked.revision}")
    return ", ".join([f"the data set {asked.name} (Hugging Face)", *filter(None, parts)])
