"""The options of RegularGPT."""

from __future__ import annotations

from typing import Literal

from formalbench import Config, option
from pydantic import model_validator

from formalbench_models.configs.shared import (
    NORM_HELP,
    check_heads,
    feed_forward_option,
    hidden_option,
    width_option,
)


class RegularGptConfig(Config):
    """Of RegularGPT with chunks of any size."""

    chunk: int = option(2, "positions a query attends to, C", minimum=2, maximum=1024)
    thickness: int = option(1, "blocks per level, K", minimum=1, maximum=64)
    width: int = width_option()
    heads: int = option(8, "attention heads; they divide the width", minimum=1, maximum=1024)
    feed_forward: int = feed_forward_option()
    norm: Literal["pre", "post"] = option("post", NORM_HELP)
    activation: Literal["gelu", "relu"] = option("relu", "of the feed-forward network")
    bias: bool = option(False, "biases in the attention's projections")
    hidden: int = hidden_option()
    init: Literal["haiku", "gpt2"] = option(
        "haiku",
        "initial weights: those of the published code (haiku's, embeddings scaled by the root of "
        "the width), or GPT-2's",
    )
    levels: Literal["prefix", "string"] = option(
        "prefix",
        "number of levels before a prefix is answered: from its own length, or from the string's",
    )

    @model_validator(mode="after")
    def _heads_divide_the_width(self) -> RegularGptConfig:
        check_heads(self.width, self.heads)
        return self
