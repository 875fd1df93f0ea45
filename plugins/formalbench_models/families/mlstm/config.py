"""The options of mLSTM."""

from __future__ import annotations

from formalbench import option
from pydantic import model_validator

from formalbench_models.configs.shared import check_heads
from formalbench_models.layers.options import (
    RecurrenceConfig,
    chunk_option,
    convolution_option,
    expansion_option,
    heads_option,
    no_feed_forward_option,
)


class MlstmConfig(RecurrenceConfig):
    """Of the LSTM with a matrix for a memory."""

    chunk: int = chunk_option(32)
    feed_forward: int = no_feed_forward_option()
    expansion: int = expansion_option()
    heads: int = heads_option()
    block: int = option(
        4,
        "channels that one query, key or value sees; they divide the width",
        minimum=1,
        maximum=8192,
    )
    convolution: int = convolution_option()

    @model_validator(mode="after")
    def _parts_divide_the_width(self) -> MlstmConfig:
        check_heads(self.width, self.heads)
        if self.width % self.block:
            raise ValueError(
                f"width must be divisible by block: {self.width} is not by {self.block}"
            )
        return self
