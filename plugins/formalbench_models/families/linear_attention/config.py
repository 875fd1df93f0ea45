"""The options of linear attention, RetNet and gated linear attention."""

from __future__ import annotations

from typing import Literal

from formalbench import option
from pydantic import model_validator

from formalbench_models.configs.shared import check_heads
from formalbench_models.layers.options import RecurrenceConfig, chunk_option, heads_option


class LinearAttentionConfig(RecurrenceConfig):
    """Of attention without a softmax."""

    chunk: int = chunk_option(16)
    heads: int = heads_option(4)
    decay: Literal["none", "fixed", "gated"] = option(
        "none", "of what was written: none, by each head's own factor, or as a symbol says"
    )
    rank: int = option(16, "rank of what chooses gated decays", minimum=1, maximum=1024)

    @model_validator(mode="after")
    def _heads_divide_the_width(self) -> LinearAttentionConfig:
        check_heads(self.width, self.heads, even=self.decay == "fixed")
        return self
