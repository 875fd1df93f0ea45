"""What this distribution provides; imported for every listing, so it imports nothing heavy."""

from __future__ import annotations

from collections.abc import Iterable

from formalbench import ModelSpec, TaskSpec, hookimpl


@hookimpl
def formalbench_tasks() -> Iterable[TaskSpec]:
    """Announce the language."""
    yield TaskSpec(
        name="more-ones",
        version=1,
        summary="more 1s than 0s",
        factory="formalbench_counting.more_ones:MoreOnes",
    )


@hookimpl
def formalbench_models() -> Iterable[ModelSpec]:
    """Announce the model."""
    yield ModelSpec(
        name="bag-of-symbols",
        version=1,
        summary="the sum of all embeddings, read linearly",
        factory="formalbench_counting.bag:BagOfSymbols",
        config="formalbench_counting.config:BagConfig",
    )
