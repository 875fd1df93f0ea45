"""The options of RWKV-7."""

from __future__ import annotations

from formalbench import option
from pydantic import model_validator

from formalbench_models.configs.shared import check_heads
from formalbench_models.layers.options import RecurrenceConfig, chunk_option, heads_option


class Rwkv7Config(RecurrenceConfig):
    """Of RWKV-7's time mixing."""

    chunk: int = chunk_option(32)
    heads: int = heads_option()
    rank: int = option(16, "rank of what chooses decay, rate and gate", minimum=1, maximum=1024)

    @model_validator(mode="after")
    def _heads_divide_the_width(self) -> Rwkv7Config:
        check_heads(self.width, self.heads)
        return self
