"""Corpora of a few pages, our own, to try things out on: texts, and numbers in two languages."""

from __future__ import annotations

from pathlib import Path

from formalbench import read_yaml

from formalbench_text.corpus import TextCorpus
from formalbench_text.description import describe
from formalbench_text.pair_description import PairOptions
from formalbench_text.pair_description import describe as describe_pairs
from formalbench_text.parallel_texts import TextPairs


def build() -> TextCorpus:
    """Return the corpus."""
    path = Path(__file__).with_name("tiny.yaml")
    return TextCorpus(describe(path, read_yaml(path)))


def build_pairs(options: PairOptions) -> TextPairs:
    """Return the texts with translations."""
    path = Path(__file__).with_name("pairs.yaml")
    return TextPairs(describe_pairs(path, read_yaml(path)), options)
