"""A corpus of a few pages, our own, to try things out on."""

from __future__ import annotations

from pathlib import Path

from formalbench import read_yaml

from formalbench_text.corpus import TextCorpus
from formalbench_text.description import describe


def build() -> TextCorpus:
    """Return the corpus."""
    path = Path(__file__).with_name("tiny.yaml")
    return TextCorpus(describe(path, read_yaml(path)))
