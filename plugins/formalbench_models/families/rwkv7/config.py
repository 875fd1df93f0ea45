"""The options of RWKV-7."""

from __future__ import annotations

from typing import Literal

from formalbench import option
from pydantic import model_validator

from formalbench_models.configs.shared import check_heads
from formalbench_models.layers.options import RecurrenceConfig, chunk_option, heads_option


class Rwkv7Config(RecurrenceConfig):
    """Of RWKV-7."""

    chunk: int = chunk_option(32)
    heads: int = heads_option()
    rank: int = option(
        32,
        "rank of the maps that choose decay, rate, gate and share of the first values (32 at "
        "width 64 in RWKV-LM's code)",
        minimum=1,
        maximum=1024,
    )
    shell: Literal["rwkv", "shared"] = option(
        "rwkv",
        "blocks: those of Peng et al. 2025, section 4 (channel mixing, layer norms, values of the "
        "first block in later ones, no bias in the gate), or those that all linear recurrences "
        "share",
    )
    initial: Literal["rwkv", "torch"] = option(
        "rwkv", "initial weights: those of RWKV-LM's code, or PyTorch's with evenly spaced decays"
    )

    @model_validator(mode="after")
    def _heads_divide_the_width(self) -> Rwkv7Config:
        check_heads(self.width, self.heads)
        return self
