"""The entry module: what this package provides, as static data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formalbench import (
    MetricSpec,
    ObjectiveSpec,
    ProtocolSpec,
    Splits,
    TaskSpec,
    hookimpl,
)

if TYPE_CHECKING:
    import typer

_HERE = Path(__file__).parent

_TINY = TaskSpec(
    name="tiny",
    version=1,
    summary="a few pages of English about formal languages, as bytes, to try things out",
    factory="formalbench_text.corpus:build_tiny",
    objectives=("causal-lm", "masked-lm"),
    splits=Splits(train=(32, 32), test=(32, 512)),
    keywords=("language modelling",),
)

_TINY_PAIRS = TaskSpec(
    name="tiny-pairs",
    version=1,
    summary="number words, English to Vietnamese, as bytes, to try translation out",
    factory="formalbench_text.parallel_texts:build_tiny",
    objectives=("translate",),
    splits=Splits((3, 120), (3, 240)),
    config="formalbench_text.description:PairOptions",
    keywords=("translation", "BLEU"),
)


@hookimpl
def formalbench_tasks() -> Iterable[TaskSpec]:
    """Announce the corpora that come with the suite."""
    yield _TINY
    yield _TINY_PAIRS


@hookimpl
def formalbench_objectives() -> Iterable[ObjectiveSpec]:
    """Announce the objectives."""
    yield ObjectiveSpec(
        "causal-lm",
        "which token comes next? Tested on the last one of each window",
        "formalbench_text.language_modelling:CausalLM",
        reference="Chi et al. (2023), section 6",
        metrics=("answer-accuracy", "cross-entropy"),
    )
    yield ObjectiveSpec(
        "masked-lm",
        "which tokens were hidden?",
        "formalbench_text.language_modelling:MaskedLM",
        reference="Devlin et al. (2019), section 3.1; Yao et al. (2021), section 6.3",
        metrics=("answer-accuracy", "cross-entropy"),
    )
    yield ObjectiveSpec(
        "translate",
        "what is the translation of the text?",
        "formalbench_text.translate:Translate",
        reference="Chiang & Cholak (2022), section 4.4",
        metrics=("cross-entropy",),
    )


@hookimpl
def formalbench_metrics() -> Iterable[MetricSpec]:
    """Announce the metrics; each belongs to the objectives that name it."""
    yield MetricSpec(
        "perplexity",
        1,
        "perplexity: 2 to the power of the mean cross-entropy in bits",
        "formalbench_text.metrics:Perplexity",
        objectives=(),
        named_by=("causal-lm", "masked-lm", "translate"),
    )
    yield MetricSpec(
        "bleu",
        1,
        "BLEU of translations, from 0 to 1, by the library sacrebleu",
        "formalbench_text.metrics:Bleu",
        objectives=(),
        named_by=("translate",),
    )


@hookimpl
def formalbench_protocols() -> Iterable[ProtocolSpec]:
    """Announce the protocols for texts, and for translation."""
    yield ProtocolSpec(
        name="text-quick",
        summary="texts on a CPU: 1,000 steps of 4,096 tokens",
        path=_HERE / "protocols" / "text-quick.yaml",
    )
    yield ProtocolSpec(
        name="translate-quick",
        summary="translation on a CPU: 4,000 steps of 1,024 tokens, tested with a beam of 4",
        path=_HERE / "protocols" / "translate-quick.yaml",
    )


@hookimpl
def formalbench_read_file(path: Path) -> TaskSpec | None:
    """Take YAML files that describe a corpus, or one with translations; see `description`."""
    if path.suffix not in (".yaml", ".yml"):
        return None
    from formalbench import read_yaml

    data = read_yaml(path)
    if "corpus" in data:
        return read_corpus(path, data)
    return read_pairs(path, data) if "pairs" in data else None


def read_corpus(path: Path, data: Mapping[str, Any]) -> TaskSpec:
    """Turn the contents of a YAML file into a task; the texts are read when it is built.

    Raises:
        RequestError: one line, if anything in it cannot be used, or a file is not there.
    """
    from formalbench_text.description import CorpusDescription, splits_of

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
    from formalbench_text.description import PairDescription, PairOptions

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


@hookimpl
def formalbench_commands(app: typer.Typer) -> None:
    """Add ``formalbench corpus``."""
    from formalbench_text.commands import corpus

    app.add_typer(corpus, name="corpus")
