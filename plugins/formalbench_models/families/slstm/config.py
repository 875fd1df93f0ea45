"""The options of sLSTM."""

from __future__ import annotations

from pydantic import model_validator

from formalbench_models.configs.shared import check_heads
from formalbench_models.layers.options import ShellConfig, convolution_option, heads_option


class SlstmConfig(ShellConfig):
    """Of the LSTM with exponential gates."""

    heads: int = heads_option()
    convolution: int = convolution_option(least=0)

    @model_validator(mode="after")
    def _heads_divide_the_width(self) -> SlstmConfig:
        check_heads(self.width, self.heads)
        return self
