"""What the specs of families in folders have in common. Imports neither torch nor numpy."""

from __future__ import annotations

from formalbench import ModelSpec
from formalbench.contracts.config import Value


def family(
    name: str,
    factory: str,
    config: str,
    summary: str,
    source: str,
    *,
    version: int = 1,
    **defaults: Value,
) -> ModelSpec:
    """Return the spec of a family.

    Args:
        name: of the model.
        factory: below this package, as ``stack_rnn.model:StackRnn``.
        config: likewise.
        summary: in a line.
        source: the papers.
        version: goes up when the same options give another network.
        **defaults: options whose default differs from the config's.
    """
    return ModelSpec(
        name=name,
        version=version,
        summary=summary,
        factory=f"formalbench_models.families.{factory}",
        config=f"formalbench_models.families.{config}",
        defaults=defaults,
        reference=source,
        by_name=True,  # `--model all` is the baselines
    )
