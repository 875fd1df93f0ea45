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
    normed: Literal["state", "block"] = option(
        "state", "what is read as a direction: the whole state, or each block by itself"
    )
    shell: Literal["shared", "slice"] = option(
        "shared",
        "blocks of layers: those that all linear recurrences share, or those of the paper's code, "
        "y = h + x, LayerNorm(y + tanh(M y)), with neither MLP nor norm in front",
    )

    @model_validator(mode="after")
    def _blocks_divide_the_state(self) -> SliceConfig:
        if self.transitions == "block-diagonal" and self.states % self.block:
            raise ValueError(
                f"states must be divisible by block: {self.states} is not by {self.block}"
            )
        if self.normed == "block" and self.transitions == "block-diagonal" and self.block == 1:
            raise ValueError("normed=block leaves nothing but the sign of blocks of 1")
        if self.shell == "slice" and self.states != self.width:
            raise ValueError(
                f"shell=slice adds the state to the symbols, so states must be the width: "
                f"{self.states} is not {self.width}"
            )
        return self
