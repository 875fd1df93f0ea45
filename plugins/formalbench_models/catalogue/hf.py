"""The options of `hf` and `fla`; nothing here imports torch."""

from __future__ import annotations

from formalbench import Config, option
from pydantic import model_validator

from formalbench_models.catalogue.options import check_heads, mixer_heads_option, width_option


class HfConfig(Config):
    """Of an architecture of transformers."""

    architecture: str = option("gpt2", "model type of the library, as gpt2, llama, mamba2")
    width: int = width_option()
    layers: int = option(2, "blocks", minimum=1, maximum=64)
    heads: int = mixer_heads_option(4)
    config: str = option(
        "", "further fields of its config, as expand=1;tie=true; a list with + between its items"
    )

    @model_validator(mode="after")
    def _heads_divide_the_width(self) -> HfConfig:
        check_heads(self.width, self.heads)
        return self


class FlaConfig(Config):
    """Of a network of flash-linear-attention."""

    layer: str = option("gated_deltanet", "model type of the library, as gated_deltanet, delta_net")
    width: int = width_option()
    layers: int = option(2, "blocks", minimum=1, maximum=64)
    heads: int = mixer_heads_option(4)
    config: str = option(
        "", "further fields of its config, as expand_v=1;use_gate=false; + between items of a list"
    )

    @model_validator(mode="after")
    def _heads_divide_the_width(self) -> FlaConfig:
        check_heads(self.width, self.heads)
        return self
