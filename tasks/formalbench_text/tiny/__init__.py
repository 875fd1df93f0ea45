"""Corpora of a few pages, our own, to try things out on: texts, and numbers in two languages."""

from __future__ import annotations

from pathlib import Path

from formalbench import read_yaml

from formalbench_text.corpus import TextCorpus
from formalbench_text.description import CorpusDescription
from formalbench_text.pair_description import PairDescription, PairOptions
from formalbench_text.parallel_texts import TextPairs


def build() -> TextCorpus:
    """Return the corpus."""
    path = Path(__file__).with_name("tiny.yaml")
    return TextCorpus(CorpusDescription.of(path, read_yaml(path)))


def build_pairs(options: PairOptions) -> TextPairs:
    """Return the texts with translations."""
    path = Path(__file__).with_name("pairs.yaml")
    return TextPairs(PairDescription.of(path, read_yaml(path)), options)
