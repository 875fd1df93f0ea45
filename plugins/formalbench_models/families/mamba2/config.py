"""The options of Mamba-2."""

from __future__ import annotations

from formalbench import option
from pydantic import model_validator

from formalbench_models.configs.shared import check_heads
from formalbench_models.layers.options import (
    Eigenvalues,
    RecurrenceConfig,
    chunk_option,
    convolution_option,
    eigenvalues_option,
    expansion_option,
    heads_option,
    no_feed_forward_option,
)


class Mamba2Config(RecurrenceConfig):
    """Of selective state spaces with a number for every head."""

    chunk: int = chunk_option(32)
    feed_forward: int = no_feed_forward_option()
    expansion: int = expansion_option()
    heads: int = heads_option(4)
    states: int = option(32, "numbers that each channel keeps", minimum=1, maximum=1024)
    convolution: int = convolution_option()
    eigenvalues: Eigenvalues = eigenvalues_option()

    @model_validator(mode="after")
    def _heads_divide_the_width(self) -> Mamba2Config:
        check_heads(self.width, self.heads)
        return self
