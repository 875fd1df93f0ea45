"""RegularGPT, looped transformer, stack attention, encoder and decoder."""

from __future__ import annotations

from typing import Literal

from formalbench import ModelSpec, option
from pydantic import model_validator

from formalbench_models.catalogue.options import (
    FEED_FORWARD,
    HIDDEN,
    NORM_HELP,
    WIDTH,
    HeadsConfig,
    dropout_option,
    heads_option,
    learned,
)
from formalbench_models.catalogue.transformers import PAIRED, TransformerConfig


class RegularGptConfig(HeadsConfig):
    """Options of RegularGPT with chunks of any size."""

    chunk: int = option(
        2, "chunk size C: number of positions a query attends to", minimum=2, maximum=1024
    )
    thickness: int = option(1, "number of blocks per level, K", minimum=1, maximum=64)
    width: int = WIDTH
    heads: int = heads_option(8)
    feed_forward: int = FEED_FORWARD
    norm: Literal["pre", "post"] = option("post", NORM_HELP)
    activation: Literal["gelu", "relu"] = option("relu", "of the feed-forward network")
    bias: bool = option(False, "biases in the attention's projections")
    hidden: int = HIDDEN
    init: Literal["haiku", "gpt2"] = option(
        "haiku",
        "initial weights: those of the published code (haiku's, embeddings scaled by the root of "
        "the width), or GPT-2's",
    )
    levels: Literal["prefix", "string"] = option(
        "prefix",
        "number of levels before a prefix is answered: from its own length, or from the string's",
    )


def _regulargpt(name: str, chunk: int) -> ModelSpec:
    return learned(
        name,
        "regulargpt:RegularGPT",
        RegularGptConfig,
        f"one shared block over log_{chunk} T levels of dilated chunks of {chunk}",
        "Chi, Fan, Rudnicky & Ramadge 2023, section 3",
        version=2,  # version 1 padded each level with the state of padding at that level
        by_name=False,
        chunk=chunk,
    )


REGULARGPT = (_regulargpt("regulargpt", 2), _regulargpt("regulargpt-c3", 3))

MOST_BLOCKS = 1024
"""Maximum of `layers` times `times`."""

Rounds = Literal["log", "length", "fixed"]


class LoopedConfig(TransformerConfig):
    """Options of ``looped-transformer``; `layers` is the number of blocks in a round."""

    rounds: Rounds = option(
        "log",
        "number of rounds: log2 of the length, the length (Fan et al. 2024, section 4, "
        "for parity), or a fixed number",
    )
    times: int = option(1, "multiplier of rounds; if fixed, their number", minimum=1, maximum=1024)
    inject: bool = option(True, "add the input to the state before each round")
    norm_rounds: bool = option(
        False,
        "the last layer norm after every round (the code of Yang et al. 2024), and not after the "
        "last one alone",
    )

    @model_validator(mode="after")
    def _there_is_a_last_norm(self) -> LoopedConfig:
        if self.norm_rounds and self.norm != "pre":
            raise ValueError(f"norm_rounds goes with norm=pre, not norm={self.norm}")
        return self

    @model_validator(mode="after")
    def _rounds_count_from_the_front(self) -> LoopedConfig:
        if self.marker != "begin":
            raise ValueError(f"marker={self.marker} is for transformers that do not loop")
        return self

    @model_validator(mode="after")
    def _blocks_are_so_many_at_most(self) -> LoopedConfig:
        if self.layers * self.times > MOST_BLOCKS:
            raise ValueError(
                f"layers times times is at most {MOST_BLOCKS}, not {self.layers} * {self.times}"
            )
        return self


LOOPED_TRANSFORMER = learned(
    "looped-transformer",
    "looped_transformer:LoopedTransformer",
    LoopedConfig,
    "one shared block, log n rounds of it, the input added in each",
    "Fan, Du, Ramchandran & Lee 2024, Looped transformers for length generalization",
    layers=1,
    positions="none",
)


class StackAttentionConfig(TransformerConfig):
    """Options of ``stack-attention``."""

    cell: int = option(32, "size of a stack cell", minimum=1, maximum=1024)
    push: Literal["linear", "sigmoid"] = option(
        "linear",
        "what is pushed: a linear map of the state, as in the authors' code, or its sigmoid",
    )
    stack_block: int = option(
        0, "number of the block with stack attention, from 1; 0 for the middle one", minimum=0
    )

    @model_validator(mode="after")
    def _the_block_is_there(self) -> StackAttentionConfig:
        if self.stack_block > self.layers:
            raise ValueError(f"stack_block is {self.stack_block}, of {self.layers} layers")
        if self.init == "library":
            raise ValueError("init=library makes all blocks alike, and here one is different")
        return self

    @property
    def stack_index(self) -> int:
        """Index of the block with the stack, from 0."""
        return self.stack_block - 1 if self.stack_block else (self.layers - 1) // 2


STACK_ATTENTION = learned(
    "stack-attention",
    "stack_attention:StackTransformer",
    StackAttentionConfig,
    "causal transformer with superposition stack attention in its middle block",
    "DuSell & Chiang 2024, Stack attention, section 4.1",
    layers=3,
)

Positions = Literal[
    "none", "sinusoidal", "alibi", "rope", "relative", "t5", "kerple-log", "kerple-power", "fire"
]


class EncoderDecoderConfig(HeadsConfig):
    """Options of ``encoder-decoder``."""

    positions: Positions = option(
        "sinusoidal", "position codes; between the two halves there are none but sinusoidal ones"
    )
    log_length: bool = option(False, "multiply logits by ln n for n attended positions")
    width: int = WIDTH
    heads: int = heads_option()
    layers: int = option(
        2, "number of blocks in each of encoder and decoder", minimum=1, maximum=256
    )
    feed_forward: int = FEED_FORWARD
    norm: Literal["pre", "post"] = option("pre", NORM_HELP)
    activation: Literal["gelu", "relu"] = option("relu", "of the feed-forward network")
    hidden: int = HIDDEN
    dropout: float = dropout_option("embeddings, attention's weights, hidden units and branches")
    word_dropout: float = dropout_option("input and output symbols")
    tied: bool = option(
        False,
        "share one matrix between both embeddings and the output layer; needs the same input and "
        "output alphabet",
    )

    @property
    def turns_pairs(self) -> bool:
        return self.positions in PAIRED

    @property
    def block(self) -> TransformerConfig:
        """Options that blocks of encoder and decoder share."""
        shared = self.model_dump(exclude={"word_dropout", "tied"})
        return TransformerConfig(**shared)


_READ_AND_SAY = ("encoder_decoder:EncoderDecoder", EncoderDecoderConfig)

ENCODER_DECODERS = (
    learned(
        "encoder-decoder",
        *_READ_AND_SAY,
        "encoder-decoder transformer that generates the output symbol by symbol",
        "Vaswani et al. 2017, section 3.1",
        objectives=("decode", "translate"),
    ),
    learned(
        "encoder-decoder-logn",
        *_READ_AND_SAY,
        "encoder-decoder with logits scaled by the log of the number of attended positions",
        "Chiang & Cholak 2022, sections 4.3 and 4.4",
        objectives=("decode", "translate"),
        log_length=True,
    ),
)
