"""Announces the models. Imports neither torch nor numpy, so that listings are instant."""

from __future__ import annotations

from collections.abc import Iterator

from formalbench import ModelSpec, hookimpl

from formalbench_models.catalogue.constructions import CONSTRUCTIONS
from formalbench_models.catalogue.linear_recurrences import LINEAR_RECURRENCES
from formalbench_models.catalogue.options import family, with_family
from formalbench_models.catalogue.recurrent_networks import MEMORY_MODELS
from formalbench_models.catalogue.transformer_variants import (
    ENCODER_DECODERS,
    LOOPED_TRANSFORMER,
    STACK_ATTENTION,
)
from formalbench_models.catalogue.transformers import (
    ATTENTION_KINDS,
    PAPERS,
    TRANSFORMER,
    TRANSFORMER_CONFIG,
)


def _recurrent(
    name: str, summary: str, reference: str, config: str = "RecurrentConfig"
) -> ModelSpec:
    return ModelSpec(
        name=name,
        version=2,  # 1 used the library's kernels
        summary=summary,
        factory=f"formalbench_models.families.recurrent:{name}",
        config=f"formalbench_models.catalogue.recurrent_networks:{config}",
        reference=reference,
    )


def _regulargpt(name: str, chunk: int) -> ModelSpec:
    return ModelSpec(
        name=name,
        version=2,  # 1 padded each level with the state of padding there
        summary=f"one shared block over log_{chunk} T levels of dilated chunks of {chunk}",
        factory="formalbench_models.families.regulargpt:RegularGPT",
        config="formalbench_models.catalogue.transformer_variants:RegularGptConfig",
        defaults={"chunk": chunk},
        reference="Chi, Fan, Rudnicky & Ramadge 2023, section 3",
    )


@hookimpl
def formalbench_models() -> Iterator[ModelSpec]:
    """Announce the models of this wing, each with its family."""
    return map(with_family, _models())


def _models() -> Iterator[ModelSpec]:
    yield _recurrent("rnn", "Elman network", "Elman 1990, Finding structure in time", "ElmanConfig")
    yield _recurrent("gru", "gated recurrent unit", "Cho et al. 2014")
    yield _recurrent(
        "lstm", "long short-term memory", "Hochreiter & Schmidhuber 1997", "LstmConfig"
    )
    yield ModelSpec(
        name="transformer",
        version=1,
        summary="causal self-attention, two layers",
        factory=TRANSFORMER,
        config=TRANSFORMER_CONFIG,
        reference="Vaswani et al. 2017",
    )
    yield ModelSpec(
        name="transformer-logn",
        version=1,
        summary="transformer with logits scaled by the log of the number of attended positions",
        factory=TRANSFORMER,
        config=TRANSFORMER_CONFIG,
        defaults={"log_length": True},
        reference="Chiang & Cholak 2022, section 4.3",
    )
    yield _regulargpt("regulargpt", 2)
    yield _regulargpt("regulargpt-c3", 3)
    yield from ATTENTION_KINDS
    yield from ENCODER_DECODERS
    yield LOOPED_TRANSFORMER
    yield STACK_ATTENTION
    yield from PAPERS
    yield from LINEAR_RECURRENCES
    yield family(
        "hybrid",
        "formalbench_models.families.hybrid:build_hybrid",
        "formalbench_models.catalogue.hybrid:HybridConfig",
        "blocks of recurrences and attention in one network",
        "Lieber et al. 2024, Jamba; De et al. 2024, Griffin",
    )
    yield family(
        "hf",
        "formalbench_models.families.hf:build_hf",
        "formalbench_models.catalogue.hf:HfConfig",
        "any architecture of the library transformers, from a config (formalbench[hf])",
        "Wolf et al. 2020, Transformers",
    )
    yield from MEMORY_MODELS
    yield from CONSTRUCTIONS
