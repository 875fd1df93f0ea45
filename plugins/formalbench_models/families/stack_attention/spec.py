"""Announces the transformer with stack attention."""

from __future__ import annotations

from formalbench_models.families.announced import family

STACK_ATTENTION = family(
    "stack-attention",
    "stack_attention.model:StackTransformer",
    "stack_attention.config:StackAttentionConfig",
    "causal transformer, in its middle block a superposition stack for attention",
    "DuSell & Chiang 2024, Stack attention, section 4.1",
    layers=3,
)
