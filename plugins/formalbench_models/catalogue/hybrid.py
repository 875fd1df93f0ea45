"""The options of hybrids; nothing here imports torch."""

from __future__ import annotations

from formalbench import option
from formalbench.contracts.errors import unknown
from pydantic import model_validator

from formalbench_models.catalogue.linear_recurrences import LINEAR_RECURRENCES
from formalbench_models.catalogue.options import (
    HeadsConfig,
    learned,
    mixer_heads_option,
    width_option,
)

ATTENTION = "attention"
MOST_BLOCKS = 64

RECURRENCES = {
    spec.name: spec for spec in LINEAR_RECURRENCES if spec.name not in ("rwkv-7", "slice")
}
"""Families with independent blocks; RWKV-7's blocks share a value of the first one."""

PARTS = (ATTENTION, *RECURRENCES)


class HybridConfig(HeadsConfig):
    """Options of a network of several kinds of blocks."""

    pattern: str = option(
        "mamba-2+attention", f"blocks from bottom to top, joined by +: {', '.join(PARTS)}"
    )
    repeats: int = option(
        1, "number of times that the pattern is repeated", minimum=1, maximum=MOST_BLOCKS
    )
    width: int = width_option()
    heads: int = mixer_heads_option(4)

    @model_validator(mode="after")
    def _parts_are_known(self) -> HybridConfig:
        for part in self.parts:
            if part not in PARTS:
                raise ValueError(str(unknown("part of pattern", part, PARTS)))
        if len(self.parts) > MOST_BLOCKS:
            raise ValueError(f"{len(self.parts)} blocks, and at most {MOST_BLOCKS} are allowed")
        return self

    @property
    def parts(self) -> list[str]:
        return [part.strip() for part in self.pattern.split("+")] * self.repeats


HYBRID = learned(
    "hybrid",
    "hybrid:build_hybrid",
    HybridConfig,
    "blocks of recurrences and attention in one network",
    "Lieber et al. 2024, Jamba; De et al. 2024, Griffin",
)
