"""Announces the models. Imports neither torch nor numpy, so that listings are instant."""

from __future__ import annotations

from collections.abc import Iterator

from formalbench import ModelSpec, hookimpl

from formalbench_models.catalogue.constructions import CONSTRUCTIONS
from formalbench_models.catalogue.hf import LIBRARIES
from formalbench_models.catalogue.linear_recurrences import HYBRID, LINEAR_RECURRENCES
from formalbench_models.catalogue.recurrent_networks import BASELINES, MEMORY_MODELS
from formalbench_models.catalogue.transformers import (
    ATTENTION_KINDS,
    ENCODER_DECODERS,
    LOOPED_TRANSFORMER,
    PAPERS,
    REGULARGPT,
    STACK_ATTENTION,
    TRANSFORMERS,
)


@hookimpl
def formalbench_models() -> Iterator[ModelSpec]:
    """Announce the models of this wing."""
    yield from BASELINES
    yield from TRANSFORMERS
    yield from REGULARGPT
    yield from ATTENTION_KINDS
    yield from ENCODER_DECODERS
    yield from (LOOPED_TRANSFORMER, STACK_ATTENTION)
    yield from PAPERS
    yield from LINEAR_RECURRENCES
    yield from (HYBRID, *LIBRARIES)
    yield from MEMORY_MODELS
    yield from CONSTRUCTIONS
