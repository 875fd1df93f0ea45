"""The options of DeltaNet, Gated DeltaNet and DeltaProduct."""

from __future__ import annotations

from typing import Literal

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
    convolution: int = convolution_option(least=0)
    eigenvalues: Eigenvalues = eigenvalues_option()
    reflections: int = option(1, "steps of the delta rule a symbol", minimum=1, maximum=16)
    gate: bool = option(False, "whether the state decays, as far as a symbol says")
    initial: Literal["torch", "small"] = option(
        "torch",
        "initial weights: PyTorch's, or small ones, as flash-linear-attention's: N(0, 0.02), what "
        "ends a branch less, biases 0",
    )

    @model_validator(mode="after")
    def _heads_divide_the_width(self) -> DeltaConfig:
        check_heads(self.width, self.heads)
        return self
