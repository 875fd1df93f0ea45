"""Announces the transformer with stack attention."""

from __future__ import annotations

from formalbench import ModelSpec

STACK_ATTENTION = ModelSpec(
    name="stack-attention",
    version=1,
    summary="causal transformer, in its middle block a superposition stack for attention",
    factory="formalbench_models.families.stack_attention.model:StackTransformer",
    config="formalbench_models.families.stack_attention.config:StackAttentionConfig",
    defaults={"causal": True, "layers": 3},
    reference="DuSell & Chiang 2024, Stack attention, section 4.1",
    by_name=True,
)
