"""Announces the models. Imports neither torch nor numpy, so that listings are instant."""

from __future__ import annotations

from collections.abc import Iterator

from formalbench import ModelSpec, hookimpl

from formalbench_models.catalogue.constructions import CONSTRUCTIONS
from formalbench_models.catalogue.hf import LIBRARIES
from formalbench_models.catalogue.linear_recurrences import HYBRID, LINEAR_RECURRENCES
from formalbench_models.catalogue.options import with_family
from formalbench_models.catalogue.recurrent_networks import BASELINES, MEMORY_MODELS
from formalbench_models.catalogue.transformer_variants import (
    ENCODER_DECODERS,
    LOOPED_TRANSFORMER,
    REGULARGPT,
    STACK_ATTENTION,
)
from formalbench_models.catalogue.transformers import ATTENTION_KINDS, PAPERS, TRANSFORMERS


@hookimpl
def formalbench_models() -> Iterator[ModelSpec]:
    """Announce the models of this wing, each with its family."""
    return map(
        with_family,
        (
            *BASELINES,
            *TRANSFORMERS,
            *REGULARGPT,
            *ATTENTION_KINDS,
            *ENCODER_DECODERS,
            LOOPED_TRANSFORMER,
            STACK_ATTENTION,
            *PAPERS,
            *LINEAR_RECURRENCES,
            HYBRID,
            *LIBRARIES,
            *MEMORY_MODELS,
            *CONSTRUCTIONS,
        ),
    )
