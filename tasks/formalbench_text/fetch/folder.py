"""The folder of a corpus: all of it, or nothing; and what it says of itself."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from formalbench import RequestError
from formalbench.store.atomic import UNFINISHED

from formalbench_text.fetch.recipe import CorpusFacts

ABOUT = "ABOUT.txt"


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """Make a folder that does not exist yet: all of it, or nothing.

    Returns:
        A place for a while. What lies in its subfolder of the same name becomes the folder.

    Raises:
        RequestError: one line, if it exists, or cannot be written.
    """
    if folder.exists():
        raise RequestError(f"{folder}: it exists already (take another with --output)")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=UNFINISHED) as name:
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
