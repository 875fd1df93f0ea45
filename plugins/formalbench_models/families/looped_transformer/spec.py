"""Announces the looped transformer."""

from __future__ import annotations

from formalbench import ModelSpec

LOOPED_TRANSFORMER = ModelSpec(
    name="looped-transformer",
    version=1,
    summary="one shared block, log n rounds of it, the input added in each",
    factory="formalbench_models.families.looped_transformer.model:LoopedTransformer",
    config="formalbench_models.families.looped_transformer.config:LoopedConfig",
    defaults={"causal": True, "layers": 1, "positions": "none"},
    reference="Fan, Du, Ramchandran & Lee 2024, Looped transformers for length generalization",
    by_name=True,
)
