"""The options of SLiCE."""

from __future__ import annotations

from typing import Literal

from formalbench import option
from pydantic import model_validator

from formalbench_models.layers.options import RecurrenceConfig, chunk_option


class SliceConfig(RecurrenceConfig):
    """Of structured linear controlled differential equations."""

    chunk: int = chunk_option(16, longest=64)  # inside, products of matrices grow
    transitions: Literal["block-diagonal", "dense", "low-rank"] = option(
        "block-diagonal", "kind of the matrices; low-rank is a diagonal plus one"
    )
    states: int = option(64, "size of the state", minimum=1, maximum=1024)
    block: int = option(4, "size of the blocks; they divide the state", minimum=1, maximum=1024)
    rank: int = option(4, "rank beside the diagonal", minimum=1, maximum=1024)

    @model_validator(mode="after")
    def _blocks_divide_the_state(self) -> SliceConfig:
        if self.transitions == "block-diagonal" and self.states % self.block:
            raise ValueError(
                f"states must be divisible by block: {self.states} is not by {self.block}"
            )
        return self
