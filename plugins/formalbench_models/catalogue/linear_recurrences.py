"""Linear recurrences and related families, and hybrids of them with attention."""

from __future__ import annotations

from typing import Literal

from formalbench import ModelSpec, option
from formalbench.contracts.errors import unknown
from pydantic import model_validator

from formalbench_models.catalogue.options import (
    EIGENVALUES,
    EXPANSION,
    NO_FEED_FORWARD,
    WIDTH,
    Eigenvalues,
    HeadsConfig,
    RecurrenceConfig,
    ShellConfig,
    chunk_option,
    convolution_option,
    learned,
    mixer_heads_option,
)


class DeltaConfig(RecurrenceConfig):
    """Options of recurrences by the delta rule."""

    chunk: int = chunk_option(32)
    heads: int = mixer_heads_option()
    convolution: int = convolution_option(least=0)
    eigenvalues: Eigenvalues = EIGENVALUES
    reflections: int = option(1, "steps of the delta rule per symbol", minimum=1, maximum=16)
    gate: bool = option(False, "whether the state decays, by a factor that depends on the symbol")
    initial: Literal["torch", "small"] = option(
        "torch",
        "initial weights: PyTorch's, or small ones, as flash-linear-attention's: N(0, 0.02), what "
        "ends a branch less, biases 0",
    )


class Rwkv7Config(RecurrenceConfig):
    """Options of RWKV-7."""

    chunk: int = chunk_option(32)
    heads: int = mixer_heads_option()
    rank: int = option(
        32,
        "rank of the maps that choose decay, rate, gate and share of the first values (32 at "
        "width 64 in RWKV-LM's code)",
        minimum=1,
        maximum=1024,
    )
    shell: Literal["rwkv", "shared"] = option(
        "rwkv",
        "blocks: those of Peng et al. 2025, section 4 (channel mixing, layer norms, values of the "
        "first block in later ones, no bias in the gate), or those that all linear recurrences "
        "share",
    )
    initial: Literal["rwkv", "torch"] = option(
        "rwkv", "initial weights: those of RWKV-LM's code, or PyTorch's with evenly spaced decays"
    )


class LinearAttentionConfig(RecurrenceConfig):
    """Options of attention without a softmax."""

    heads: int = mixer_heads_option(4)
    decay: Literal["none", "fixed", "gated"] = option(
        "none", "decay of the state: none, a factor per head, or one that depends on the symbol"
    )
    rank: int = option(16, "rank of the map to gated decays", minimum=1, maximum=1024)

    @property
    def turns_pairs(self) -> bool:
        return self.decay == "fixed"


class LruConfig(RecurrenceConfig):
    """Options of the linear recurrent unit."""

    states: int = option(64, "complex numbers of the state", minimum=1, maximum=8192)
    slowest: float = option(0.999, "largest initial modulus", minimum=0.001, maximum=0.9999)
    fastest: float = option(0.9, "smallest initial modulus", minimum=0.001, maximum=0.9999)

    @model_validator(mode="after")
    def _the_slowest_is_the_greatest(self) -> LruConfig:
        if self.slowest < self.fastest:
            raise ValueError(f"slowest must be at least fastest: {self.slowest} < {self.fastest}")
        return self


class MambaConfig(RecurrenceConfig):
    """Options of selective state spaces with a diagonal for every channel."""

    feed_forward: int = NO_FEED_FORWARD
    expansion: int = EXPANSION
    states: int = option(16, "state size per channel", minimum=1, maximum=1024)
    convolution: int = convolution_option()
    eigenvalues: Eigenvalues = EIGENVALUES


class Mamba2Config(RecurrenceConfig):
    """Options of selective state spaces with a number for every head."""

    chunk: int = chunk_option(32)
    feed_forward: int = NO_FEED_FORWARD
    expansion: int = EXPANSION
    heads: int = mixer_heads_option(4)
    states: int = option(32, "state size per channel", minimum=1, maximum=1024)
    convolution: int = convolution_option()
    eigenvalues: Eigenvalues = EIGENVALUES


class MinimalConfig(RecurrenceConfig):
    """Options of gated recurrences whose gates do not see the state."""

    kind: Literal["gru", "lstm"] = option("gru", "one gate, or an input and a forget gate")
    normalised: bool = option(
        False,
        "of minLSTM: divide its gates by their sum, so that the state is an average and cannot "
        "count; else its forget gate begins near 1",
    )
    expansion: int = EXPANSION
    candidate: Literal["positive", "linear"] = option(
        "positive", "values of the state: positive numbers (the paper's logarithmic form) or any"
    )


class MlstmConfig(RecurrenceConfig):
    """Options of the LSTM with a matrix for a memory."""

    chunk: int = chunk_option(32)
    feed_forward: int = NO_FEED_FORWARD
    expansion: int = EXPANSION
    heads: int = mixer_heads_option()
    block: int = option(
        4,
        "block size of the maps to queries, keys and values; divides the width",
        minimum=1,
        maximum=8192,
    )
    convolution: int = convolution_option()

    @model_validator(mode="after")
    def _parts_divide_the_width(self) -> MlstmConfig:
        if self.width % self.block:
            raise ValueError(
                f"width must be divisible by block: {self.width} is not by {self.block}"
            )
        return self


class S4dConfig(RecurrenceConfig):
    """Options of the diagonal state space that is the same at every symbol."""

    feed_forward: int = NO_FEED_FORWARD
    states: int = option(16, "complex state size per channel", minimum=1, maximum=1024)


class SliceConfig(RecurrenceConfig):
    """Options of structured linear controlled differential equations."""

    chunk: int = option(  # products of matrices grow within a chunk
        16, "symbols per chunk on a GPU; on a CPU they go one by one", minimum=1, maximum=64
    )
    transitions: Literal["block-diagonal", "dense", "low-rank"] = option(
        "block-diagonal", "structure of the matrices; low-rank is diagonal plus low-rank"
    )
    states: int = option(64, "size of the state", minimum=1, maximum=1024)
    block: int = option(4, "block size; divides the state size", minimum=1, maximum=1024)
    rank: int = option(4, "rank of the low-rank part", minimum=1, maximum=1024)
    normed: Literal["state", "block"] = option(
        "state", "what is normalised before it is read: the whole state or each block"
    )
    shell: Literal["shared", "slice"] = option(
        "shared",
        "blocks of layers: those that all linear recurrences share, or those of the paper's code, "
        "y = h + x, LayerNorm(y + tanh(M y)), with neither MLP nor norm in front",
    )

    @model_validator(mode="after")
    def _blocks_divide_the_state(self) -> SliceConfig:
        if self.transitions == "block-diagonal" and self.states % self.block:
            raise ValueError(
                f"states must be divisible by block: {self.states} is not by {self.block}"
            )
        if self.normed == "block" and self.transitions == "block-diagonal" and self.block == 1:
            raise ValueError("normed=block leaves nothing but the sign of blocks of 1")
        if self.shell == "slice" and self.states != self.width:
            raise ValueError(
                f"shell=slice adds the state to the symbols, so states must be the width: "
                f"{self.states} is not {self.width}"
            )
        return self


class SlstmConfig(ShellConfig):
    """Options of the LSTM with exponential gates."""

    heads: int = mixer_heads_option()
    convolution: int = convolution_option(least=0)


class XlstmConfig(MlstmConfig):
    """Options of blocks of mLSTM and sLSTM; both have the heads and the convolution."""

    feed_forward: int = option(
        4, "hidden units of an sLSTM's MLP per unit of width; 0 for no MLP", minimum=0, maximum=64
    )
    every: int = option(
        2,
        "every n-th block is an sLSTM; 1 for no mLSTM; at most the number of layers",
        minimum=1,
        maximum=64,
    )

    @model_validator(mode="after")
    def _there_is_an_slstm(self) -> XlstmConfig:
        if self.every > self.layers:
            raise ValueError(
                f"every is {self.every}, of {self.layers} layers: none would be an sLSTM (mlstm "
                "has none)"
            )
        return self


LINEAR_RECURRENCES: tuple[ModelSpec, ...] = (
    learned(
        "deltanet",
        "delta:build_deltanet",
        DeltaConfig,
        "linear recurrence with the delta rule",
        "Schlag, Irie & Schmidhuber 2021; Yang et al. 2024, Parallelizing linear transformers "
        "with the delta rule",
        version=2,  # 1: chunks also for short strings
    ),
    learned(
        "gated-deltanet",
        "delta:build_deltanet",
        DeltaConfig,
        "delta rule with a decay",
        "Yang, Kautz & Hatamizadeh 2025, Gated delta networks",
        gate=True,
        heads=4,
        version=2,  # 1: chunks also for short strings
    ),
    learned(
        "deltaproduct",
        "delta:build_deltanet",
        DeltaConfig,
        "several steps of the delta rule per symbol, eigenvalues of each in [-1, 1]",
        "Siems et al. 2025, DeltaProduct",
        reflections=2,
        eigenvalues="-1..1",
        version=2,  # 1: chunks also for short strings
    ),
    learned(
        "mamba",
        "mamba:build_mamba",
        MambaConfig,
        "selective state space model, diagonal, with a step size per channel",
        "Gu & Dao 2024, Mamba",
    ),
    learned(
        "mamba-2",
        "mamba:build_mamba2",
        Mamba2Config,
        "selective state space model, one decay per head",
        "Dao & Gu 2024, Transformers are SSMs",
        version=2,  # 1: chunks also for short strings
    ),
    learned(
        "rwkv-7",
        "rwkv7:build_rwkv7",
        Rwkv7Config,
        "linear recurrence with decaying rows and a generalised delta rule",
        'Peng et al. 2025, RWKV-7 "Goose", section 4.1',
        version=2,  # 1: chunks also for short strings
    ),
    learned(
        "mlstm",
        "xlstm:build_mlstm",
        MlstmConfig,
        "LSTM with matrix memory and exponential gates",
        "Beck et al. 2024, xLSTM, section 2.3",
        # 1: the maps of blocks, one symbol at a time. 2: chunks also for short strings.
        version=3,
    ),
    learned(
        "slice",
        "slice:build_slice",
        SliceConfig,
        "structured linear CDE: multiplies the state by a matrix that depends on the symbol",
        "Walker et al. 2025, Structured linear CDEs",
        # 1: norms of matrices of at most 1, and a start nearer to the identity. 2: chunks on a CPU.
        version=3,
    ),
    learned(
        "linear-attention",
        "linear_attention:build_linear_attention",
        LinearAttentionConfig,
        "attention without softmax, computed as a recurrence",
        "Katharopoulos et al. 2020, Transformers are RNNs",
        version=2,  # 1: chunks also for short strings
    ),
    learned(
        "retnet",
        "linear_attention:build_linear_attention",
        LinearAttentionConfig,
        "linear attention with a fixed decay per head, and rotations",
        "Sun et al. 2023, Retentive network",
        decay="fixed",
        version=2,  # 1: chunks also for short strings
    ),
    learned(
        "gla",
        "linear_attention:build_linear_attention",
        LinearAttentionConfig,
        "gated linear attention: the decay of each row depends on the symbol",
        "Yang et al. 2024, Gated linear attention transformers",
        decay="gated",
        version=2,  # 1: chunks also for short strings
    ),
    learned(
        "s4d",
        "diagonal_recurrences:build_s4d",
        S4dConfig,
        "diagonal state space model, the same for every symbol",
        "Gu, Gupta, Goel & Ré 2022",
    ),
    learned(
        "lru",
        "diagonal_recurrences:build_lru",
        LruConfig,
        "linear recurrent unit: complex diagonal, the same for every symbol",
        "Orvieto et al. 2023, Resurrecting recurrent neural networks for long sequences",
    ),
    learned(
        "mingru",
        "diagonal_recurrences:build_minimal",
        MinimalConfig,
        "GRU whose gate does not depend on the state",
        "Feng et al. 2024, Were RNNs all we needed?",
    ),
    learned(
        "minlstm",
        "diagonal_recurrences:build_minimal",
        MinimalConfig,
        "LSTM whose gates do not depend on the state",
        "Feng et al. 2024, Were RNNs all we needed?",
        kind="lstm",
    ),
)
"""Families of linear recurrences."""


ATTENTION = "attention"
MOST_BLOCKS = 64

RECURRENCES = {
    spec.name: spec for spec in LINEAR_RECURRENCES if spec.name not in ("rwkv-7", "slice")
}
"""Families with independent blocks; RWKV-7's blocks share a value of the first one."""

PARTS = (ATTENTION, *RECURRENCES)


class HybridConfig(HeadsConfig):
    """Options of a network of several kinds of blocks."""

    pattern: str = option(
        "mamba-2+attention", f"blocks from bottom to top, joined by +: {', '.join(PARTS)}"
    )
    repeats: int = option(
        1, "number of times that the pattern is repeated", minimum=1, maximum=MOST_BLOCKS
    )
    width: int = WIDTH
    heads: int = mixer_heads_option(4)

    @model_validator(mode="after")
    def _parts_are_known(self) -> HybridConfig:
        for part in self.parts:
            if part not in PARTS:
                raise ValueError(str(unknown("part of pattern", part, PARTS)))
        if len(self.parts) > MOST_BLOCKS:
            raise ValueError(f"{len(self.parts)} blocks, and at most {MOST_BLOCKS} are allowed")
        return self

    @property
    def parts(self) -> list[str]:
        return [part.strip() for part in self.pattern.split("+")] * self.repeats


HYBRID = learned(
    "hybrid",
    "hybrid:build_hybrid",
    HybridConfig,
    "blocks of recurrences and attention in one network",
    "Lieber et al. 2024, Jamba; De et al. 2024, Griffin",
    version=2,  # that of its parts
)
