"""Texts one a line, as JSON, and the description of a corpus of them."""

from __future__ import annotations

import json
import re
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Self, TextIO

from formalbench.contracts.language import Split

from formalbench_text.completing import as_yaml, completed
from formalbench_text.description import SPLITS
from formalbench_text.fetch.folder import check_parts
from formalbench_text.fetch.recipe import CorpusFacts, Text

WORD = re.compile(r"\w+|[^\w\s]")


class TextsWriter:
    """Writes texts one a line, as JSON: as many as there are, held in memory one by one.

    Args:
        folder: that they are written into.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._texts: Counter[Split] = Counter()
        self._words: Counter[Split] = Counter()
        self._files = ExitStack()
        self._open: dict[Split, TextIO] = {}

    def __enter__(self) -> Self:
        for split in SPLITS:
            file = (self._folder / f"{split}.jsonl").open("w", encoding="utf-8")
            self._open[split] = self._files.enter_context(file)
        return self

    def __exit__(self, *error: object) -> None:
        self._files.close()

    def add(self, split: Split, text: Text) -> None:
        """Write a text."""
        self._open[split].write(json.dumps(text._asdict(), ensure_ascii=False) + "\n")
        self._texts[split] += 1
        self._words[split] += sum(1 for _ in WORD.finditer(text.text))

    def describe(self, about: CorpusFacts) -> list[str]:
        """Write the description of a corpus beside its texts; return how many there are.

        Raises:
            RequestError: one line, if a split has none.
        """
        check_parts(about, {split: range(self._texts[split]) for split in SPLITS})
        data = {
            "name": about.name,
            "summary": about.summary,
            "reference": about.source,
            "corpus": {split: [{"file": f"{split}.jsonl"}] for split in SPLITS},
            "documents": "jsonl",
            "tokeniser": {"kind": "bytes"},
            "lengths": {"train": 512, "test": [512, 1024, 2048, 4096, 8192]},
            "windows": 256,
            "within": True,
        }
        path = self._folder / f"{about.name}.yaml"
        path.write_text(as_yaml(completed(path, data)), encoding="utf-8")
        return [
            f"{split}: {self._texts[split]:,} texts, {self._words[split]:,} words and marks"
            for split in SPLITS
        ]
