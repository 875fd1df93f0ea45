"""Transformers: attentions and positions, papers', RegularGPT, looped, encoder and decoder.

`transformer` and `transformer-logn` are this suite's own; their size, positions, norms and initial
weights differ from those of the papers. A paper's claims are tested with the paper's transformer;
docs/reproductions.md lists the remaining differences.
"""

from __future__ import annotations

from typing import Any, Literal

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

Positions = Literal[
    "none",
    "sinusoidal",
    "sinusoidal-from-end",
    "learned",
    "scalar",
    "scalar-6000",
    "alibi",
    "rope",
    "relative",
    "first",
    "parity",
    "t5",
    "kerple-log",
    "kerple-power",
    "fire",
    "xpos",
    "path",
]

PAIRED = ("rope", "xpos")
"""Positions that rotate pairs of coordinates."""

NUMBERED = (
    *("sinusoidal", "learned", "alibi", "rope"),
    *("relative", "t5", "kerple-log", "kerple-power", "fire", "xpos"),
)
"""Positions that accept any increasing numbers, not only 0, 1, 2, ..."""

XPOS_MOST = 32768
"""Maximum positions with which xpos stays finite in fp32 and in bf16."""

MASKED = {"positions": ("xpos", "path"), "attention": ("stick-breaking",), "forget": (True,)}
"""Options that require a causal mask."""


class TransformerConfig(HeadsConfig):
    """Options of the Transformer with a choice of positions."""

    positions: Positions = option(
        "sinusoidal",
        "position codes; sinusoidal-from-end counts from the last position; "
        "scalar is i/n, scalar-6000 is i/6000, in a dimension of its own; "
        "first is [i=1], parity is i/n and cos(i pi); t5 has buckets of distances, kerple kernels "
        "of them, fire a network, xpos is rope that decays, path products of reflections",
    )
    randomised: int = option(
        0,
        "draw each string's positions from this many (more than the longest string has symbols); "
        "0 counts positions",
        minimum=0,
        maximum=65536,
    )
    shifted: int = option(
        0,
        "begin each string at one of this many random positions; 0 to begin at the first",
        minimum=0,
        maximum=65536,
    )
    shared_positions: bool = option(
        True,
        "one table (t5) or kernel (kerple) of positions for all layers, as the authors have, and "
        "not one for each",
    )
    threshold: int = option(
        0,
        "of fire: the distance up to which nothing is interpolated, at first; 0 for a quarter of "
        "the longest training string",
        minimum=0,
        maximum=1_000_000,
    )
    causal: bool = option(
        True,
        "see only the past, and read a string's one answer at its last symbol; false: see all of "
        "it, and read at the begin symbol, except where answers may see no more than a prefix",
    )
    marker: Literal["begin", "end", "both"] = option(
        "begin",
        "symbol added to every string: a begin symbol in front, or an empty one behind, where a "
        "string's one answer is then read, with a mask or without; or both, read behind",
    )
    log_length: bool = option(False, "multiply logits by ln n for n attended positions")
    width: int = WIDTH
    heads: int = heads_option()
    layers: int = option(2, "blocks, each with its own parameters", minimum=1, maximum=256)
    feed_forward: int = FEED_FORWARD
    norm: Literal["pre", "post", "none"] = option("pre", f"{NORM_HELP}, or none")
    activation: Literal["gelu", "relu"] = option("gelu", "of the feed-forward network")
    eps: float = option(1e-5, "epsilon of layer norm", minimum=0.0, maximum=1.0)
    hidden: int = HIDDEN
    attention: Literal["soft", "hard", "stick-breaking"] = option(
        "soft",
        "hard: each query takes the key of its greatest logit, the leftmost of equal ones; "
        "the gradient is that of the softmax; stick-breaking: from near to far, each key takes a "
        "share of what is left",
    )
    forget: bool = option(
        False, "forget gates: a logit decreases with the distance, by learned amounts"
    )
    bias: bool = option(True, "biases in the attention's projections")
    dropout: float = dropout_option("embeddings, attention's weights, hidden units and branches")
    init: Literal["linear", "library", "gpt2", "haiku"] = option(
        "linear",
        "initial weights: PyTorch's of single layers (linear), those of its "
        "TransformerEncoder (library): attention by Xavier, the layers copies of one, "
        "GPT-2's (gpt2): normal, deviation 0.02, biases 0, or haiku's: a truncated normal of "
        "deviation 1/√n for n inputs, biases 0",
    )
    embedding_scale: float = option(
        1.0, "scale of the initial symbol embeddings", minimum=0.0, maximum=1000.0
    )

    @property
    def turns_pairs(self) -> bool:
        return self.positions in PAIRED

    @model_validator(mode="after")
    def _options_go_together(self) -> TransformerConfig:
        if self.randomised and self.positions not in NUMBERED:
            names = ", ".join(NUMBERED)
            raise ValueError(f"randomised goes with positions {names}, not {self.positions}")
        if self.shifted and (self.positions != "learned" or self.randomised):
            raise ValueError("shifted goes with positions learned, and not with randomised")
        if self.positions == "xpos" and self.randomised > XPOS_MOST:
            raise ValueError(
                f"randomised is at most {XPOS_MOST} with positions xpos, whose factors overflow "
                f"beyond some 36,000, not {self.randomised}"
            )
        if self.positions == "first" and self.marker == "end":
            raise ValueError("positions=first goes with marker=begin, behind which the first is")
        if self.forget and self.attention == "stick-breaking":
            raise ValueError("forget goes with attention soft or hard, not stick-breaking")
        return self


TRANSFORMER = ("transformer:Transformer", TransformerConfig)

TRANSFORMERS = (
    learned(
        "transformer",
        *TRANSFORMER,
        "two layers of self-attention, causal unless causal=false",
        "Vaswani et al. 2017",
        by_name=False,
    ),
    learned(
        "transformer-logn",
        *TRANSFORMER,
        "`transformer` with logits scaled by the log of how many positions are attended to",
        "Chiang & Cholak 2022, section 4.3",
        by_name=False,
        log_length=True,
    ),
)

_CHIANG_CHOLAK: dict[str, Any] = {
    "width": 16,
    "hidden": 64,
    "layers": 2,
    "norm": "post",
    "activation": "relu",
    "init": "library",
    "causal": False,
}


PAPERS = (
    learned(
        "transformer-chi",
        *TRANSFORMER,
        "the baseline of RegularGPT's Table 1: five causal post-norm layers of width 256",
        "Chi, Fan, Rudnicky & Ramadge 2023, section 5.1 and Table 4, and the code they build on",
        width=256,
        heads=8,
        layers=5,
        norm="post",
        activation="relu",
        bias=False,
        positions="relative",
    ),
    learned(
        "transformer-deletang",
        *TRANSFORMER,
        "five post-norm layers without a mask, with an empty symbol appended for the answer",
        "Delétang et al. 2023, section 4 and appendix A.1, and their code",
        objectives=("classify", "transduce"),
        heads=8,
        layers=5,
        norm="post",
        activation="relu",
        bias=False,
        init="haiku",
        embedding_scale=0.16,  # 0.02 times the square root of the width
        positions="sinusoidal-from-end",
        causal=False,
        marker="end",
    ),
    learned(
        "transformer-chiang-cholak-first",
        *TRANSFORMER,
        "trained on FIRST: one head, width 16, position code [i=1]",
        "Chiang & Cholak 2022, sections 4.1 and 4.4, and their code",
        objectives=("classify",),
        **_CHIANG_CHOLAK,
        heads=1,
        positions="first",
    ),
    learned(
        "transformer-chiang-cholak-parity",
        *TRANSFORMER,
        "trained on PARITY: two heads, width 16, position codes i/n and cos(i pi)",
        "Chiang & Cholak 2022, section 4.1, and their code",
        objectives=("classify",),
        **_CHIANG_CHOLAK,
        heads=2,
        positions="parity",
    ),
)

ATTENTION_KINDS = (
    learned(
        "forgetting-transformer",
        *TRANSFORMER,
        "causal transformer without position codes, with forget gates (FoX)",
        "Lin, Nikishin, He & Courville 2025, section 3",
        positions="none",
        forget=True,
    ),
    learned(
        "path-transformer",
        *TRANSFORMER,
        "causal transformer with products of reflections as position codes (PaTH)",
        "Yang et al. 2025, PaTH attention, sections 2 and 3.1",
        positions="path",
    ),
    learned(
        "stick-breaking-transformer",
        *TRANSFORMER,
        "causal transformer without position codes, with stick-breaking attention",
        "Tan et al. 2024, Scaling stick-breaking attention, section 2",
        positions="none",
        attention="stick-breaking",
    ),
)


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
    "one shared block, applied log n times; the input is added each time",
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

EncoderDecoderPositions = Literal[
    "none", "sinusoidal", "alibi", "rope", "relative", "t5", "kerple-log", "kerple-power", "fire"
]


class EncoderDecoderConfig(HeadsConfig):
    """Options of ``encoder-decoder``."""

    positions: EncoderDecoderPositions = option(
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
