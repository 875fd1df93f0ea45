"""Announces the linear recurrences: static data, so neither torch nor numpy is imported here."""

from __future__ import annotations

from formalbench import ModelSpec
from formalbench.contracts.config import Value


def _family(
    name: str, module: str, config: str, summary: str, source: str, **defaults: Value
) -> ModelSpec:
    return ModelSpec(
        name=name,
        version=1,
        summary=summary,
        factory=f"formalbench_models.families.{module}.model:build",
        config=f"formalbench_models.families.{module}.config:{config}",
        defaults=defaults,
        reference=source,
        by_name=True,  # the default suite has no published records of them
    )


LINEAR_RECURRENCES: tuple[ModelSpec, ...] = (
    _family(
        "deltanet",
        "delta",
        "DeltaConfig",
        "linear recurrence by the delta rule",
        "Schlag, Irie & Schmidhuber 2021; Yang et al. 2024, Parallelizing linear transformers "
        "with the delta rule",
    ),
    _family(
        "gated-deltanet",
        "delta",
        "DeltaConfig",
        "the delta rule with a decay",
        "Yang, Kautz & Hatamizadeh 2025, Gated delta networks",
        gate=True,
    ),
    _family(
        "deltaproduct",
        "delta",
        "DeltaConfig",
        "several steps of the delta rule a symbol, eigenvalues in [-1, 1]",
        "Siems et al. 2025, DeltaProduct",
        reflections=2,
        eigenvalues="[-1,1]",
    ),
    _family(
        "mamba",
        "mamba",
        "MambaConfig",
        "selective state space, diagonal, a step for every channel",
        "Gu & Dao 2024, Mamba",
    ),
    _family(
        "mamba-2",
        "mamba2",
        "Mamba2Config",
        "selective state space, one decay for a head",
        "Dao & Gu 2024, Transformers are SSMs",
    ),
)
"""Families on the recurrences of `layers/`, the delta rule's first."""
