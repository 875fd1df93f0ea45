"""The options of DeltaNet, Gated DeltaNet and DeltaProduct."""

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
    heads_option,
)


class DeltaConfig(RecurrenceConfig):
    """Of recurrences by the delta rule."""

    chunk: int = chunk_option(32)
    heads: int = heads_option()
    convolution: int = convolution_option()
    eigenvalues: Eigenvalues = eigenvalues_option()
    reflections: int = option(1, "steps of the delta rule a symbol", minimum=1, maximum=16)
    gate: bool = option(False, "whether the state decays, as far as a symbol says")

    @model_validator(mode="after")
    def _heads_divide_the_width(self) -> DeltaConfig:
        check_heads(self.width, self.heads)
        return self
