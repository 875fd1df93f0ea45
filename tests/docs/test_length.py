"""The pages written by hand stay short enough to be read."""

from __future__ import annotations

import json
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
GENERATED = {"shortcuts.md"}
"""Written by a program."""


def words(path):
    text = path.read_text("utf-8")
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    if path.name == "records.md":  # its table is compared with the code word by word
        text = "\n".join(line for line in text.splitlines() if not line.startswith("|"))
    return len(text.split())


def test_no_more_than_twenty_thousand_words():
    pages = {*DOCS.glob("*.md"), *DOCS.glob("*.ipynb")}
    assert sum(words(page) for page in pages if page.name not in GENERATED) <= 20_000
