"""The options of `hf`; nothing here imports torch."""

from __future__ import annotations

from formalbench import Config, option
from pydantic import model_validator

from formalbench_models.catalogue.options import check_heads, mixer_heads_option, width_option


class HfConfig(Config):
    """Of an architecture of transformers."""

    architecture: str = option("gpt2", "model type of the library: gpt2, llama, mamba2, …")
    width: int = width_option()
    layers: int = option(2, "blocks", minimum=1, maximum=64)
    heads: int = mixer_heads_option(4)
    config: str = option(
        "", "more fields of its config: expand=1;tie=true; the items of a list are joined by +"
    )

    @model_validator(mode="after")
    def _heads_divide_the_width(self) -> HfConfig:
        check_heads(self.width, self.heads)
        return self
