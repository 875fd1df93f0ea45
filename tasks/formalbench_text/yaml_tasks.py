"""Tasks of YAML files that describe a corpus, or texts and translations."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from formalbench import Splits, TaskSpec

from formalbench_text.description import CorpusDescription, splits_of
from formalbench_text.pair_description import PairDescription, PairOptions


def read_corpus(path: Path, data: Mapping[str, Any]) -> TaskSpec:
    """Turn the contents of a YAML file into a task; the texts are read when it is built.

    Raises:
        RequestError: one line, if anything in it cannot be used, or a file is not there.
    """
    described = CorpusDescription.of(path, data)

    def build() -> Any:
        from formalbench_text.corpus import TextCorpus  # lazy: imports numpy

        return TextCorpus(described)

    splits = splits_of(described.contents.lengths)
    return described.spec("texts from files", build, splits, objectives=("causal-lm", "masked-lm"))


def read_pairs(path: Path, data: Mapping[str, Any]) -> TaskSpec:
    """Turn the contents of a YAML file into a task; the texts are read when it is built.

    Raises:
        RequestError: one line, if anything in it cannot be used, or a file is not there.
    """
    described = PairDescription.of(path, data)

    def build(options: PairOptions) -> Any:
        from formalbench_text.parallel_texts import TextPairs  # lazy: imports numpy

        return TextPairs(described, options)

    return described.spec(
        "texts and translations",
        build,
        Splits((1, 1000), (1, 1000)),
        objectives=("translate",),
        config=PairOptions,
        keywords=("translation",),
    )
