"""The options of the encoder-decoder."""

from __future__ import annotations

from typing import Literal

from formalbench import Config, option
from pydantic import model_validator

from formalbench_models.configs.shared import (
    NORM_HELP,
    check_heads,
    dropout_option,
    feed_forward_option,
    heads_option,
    hidden_option,
    width_option,
)
from formalbench_models.configs.transformer import PAIRED, TransformerConfig

Positions = Literal[
    "none",
    "sinusoidal",
    "alibi",
    "rope",
    "relative",
    "t5",
    "kerple-log",
    "kerple-power",
    "fire",
]


class EncoderDecoderConfig(Config):
    """Of ``encoder-decoder``."""

    positions: Positions = option(
        "sinusoidal", "position codes; between the two halves there are none but sinusoidal ones"
    )
    log_length: bool = option(False, "multiply logits by ln n, n positions attended to")
    width: int = width_option()
    heads: int = heads_option()
    layers: int = option(2, "blocks of the encoder, and of the decoder", minimum=1, maximum=256)
    feed_forward: int = feed_forward_option()
    norm: Literal["pre", "post"] = option("pre", NORM_HELP)
    activation: Literal["gelu", "relu"] = option("relu", "of the feed-forward network")
    hidden: int = hidden_option()
    dropout: float = dropout_option("embeddings, attention's weights, hidden units and branches")
    word_dropout: float = dropout_option("symbols, read or said,")
    tied: bool = option(
        False, "one matrix reads, says and answers; for tasks that read and say one alphabet"
    )

    @model_validator(mode="after")
    def _heads_divide_the_width(self) -> EncoderDecoderConfig:
        check_heads(self.width, self.heads, even=self.positions in PAIRED)
        return self

    @property
    def block(self) -> TransformerConfig:
        """What a block of either half is, but for what it attends to."""
        shared = self.model_dump(exclude={"word_dropout", "tied"})
        return TransformerConfig(**shared)
