"""Announces the looped transformer."""

from __future__ import annotations

from formalbench_models.families.announced import family

LOOPED_TRANSFORMER = family(
    "looped-transformer",
    "looped_transformer.model:LoopedTransformer",
    "looped_transformer.config:LoopedConfig",
    "one shared block, log n rounds of it, the input added in each",
    "Fan, Du, Ramchandran & Lee 2024, Looped transformers for length generalization",
    layers=1,
    positions="none",
)
