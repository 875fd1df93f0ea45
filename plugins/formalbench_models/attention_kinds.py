"""Transformers that are known by their attention: one option each of the family `transformer`."""

from __future__ import annotations

from formalbench import ModelSpec
from formalbench.contracts.config import Value

from formalbench_models.papers import TRANSFORMER, TRANSFORMER_CONFIG


def _transformer(name: str, summary: str, reference: str, **defaults: Value) -> ModelSpec:
    return ModelSpec(
        name=name,
        version=1,
        summary=summary,
        factory=TRANSFORMER,
        config=TRANSFORMER_CONFIG,
        defaults=defaults,
        reference=reference,
        by_name=True,
    )


ATTENTION_KINDS = (
    _transformer(
        "forgetting-transformer",
        "causal transformer without positions whose forget gates lower logits (FoX)",
        "Lin, Nikishin, He & Courville 2025, section 3",
        positions="none",
        forget=True,
    ),
    _transformer(
        "path-transformer",
        "causal transformer with products of reflections for positions (PaTH)",
        "Yang et al. 2025, PaTH attention, sections 2 and 3.1",
        positions="path",
    ),
    _transformer(
        "stick-breaking-transformer",
        "causal transformer without positions where keys take shares from near to far",
        "Tan et al. 2024, Scaling stick-breaking attention, section 2",
        positions="none",
        attention="stick-breaking",
    ),
)
