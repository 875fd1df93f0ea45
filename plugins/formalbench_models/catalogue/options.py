"""Options that families share, and how a family announces its models.

A construction belongs to the architecture that it is built in.
"""

from __future__ import annotations

from typing import Any, Literal, Self

from formalbench import Config, ModelSpec, option
from formalbench.contracts.config import Value
from pydantic import model_validator

NORM_HELP = "layer norm before (pre) or after (post) each residual branch"


WIDTH = option(64, "size of the residual stream", minimum=2, maximum=8192)
FEED_FORWARD = option(4, "hidden units per unit of width", minimum=1, maximum=64)
HIDDEN = option(0, "number of hidden units; 0 to use feed_forward", minimum=0, maximum=65536)
NO_FEED_FORWARD = option(
    0, "hidden units of an MLP per unit of width; 0 for none", minimum=0, maximum=64
)
EXPANSION = option(2, "channels of the recurrence per unit of width", minimum=1, maximum=16)

Eigenvalues = Literal["0..1", "-1..1"]
"""A range in a form that is valid in ``--set`` and in names with options."""

EIGENVALUES = option(
    "0..1", "range of the eigenvalues of each transition, or of each factor if it is a product"
)


def heads_option(default: int = 4) -> Any:
    """Return the option ``heads`` of attention."""
    return option(default, "number of attention heads; divides the width", minimum=1, maximum=1024)


def dropout_option(what: str) -> Any:
    """Return a dropout option."""
    return option(0.0, f"dropout rate of {what}", minimum=0.0, maximum=0.9)


def chunk_option(default: int) -> Any:
    """Return the option ``chunk``; matrix states benefit from longer chunks than vectors."""
    return option(default, "symbols per chunk; 1 for symbol by symbol", minimum=1, maximum=1024)


class HeadsConfig(Config):
    """Options of a network that may have heads: they divide its width."""

    @property
    def turns_pairs(self) -> bool:
        """Whether the width of a head must be even, because rotations act on pairs."""
        return False

    @model_validator(mode="after")
    def _heads_divide_the_width(self) -> Self:
        own = {"width": 0, "heads": 1, **dict(self)}
        width, heads = own["width"], own["heads"]
        if width % heads:
            raise ValueError(f"width must be divisible by heads: {width} is not by {heads}")
        if self.turns_pairs and (width // heads) % 2:
            raise ValueError(f"width / heads must be even here, not {width // heads}")
        return self


class ShellConfig(HeadsConfig):
    """Options of the shell that recurrences stand in."""

    width: int = WIDTH
    layers: int = option(2, "blocks, each with its own parameters", minimum=1, maximum=64)
    feed_forward: int = option(
        4, "hidden units of the MLP per unit of width; 0 for no MLP", minimum=0, maximum=64
    )
    embedding_scale: float = option(
        1.0, "scale of the initial symbol embeddings, N(0, 1)", minimum=0.0, maximum=1000.0
    )


class RecurrenceConfig(ShellConfig):
    """Options of a linear recurrence in it."""

    chunk: int = chunk_option(16)


def mixer_heads_option(default: int = 1) -> Any:
    """Return the option ``heads`` of a recurrence."""
    return option(default, "number of heads; divides the width", minimum=1, maximum=1024)


def convolution_option(least: int = 1) -> Any:
    """Return the option ``convolution``; `least` is 0 if a family works without it."""
    text = "width of the convolution before the recurrence"
    return option(4, f"{text}; 0 for none" if least == 0 else text, minimum=least, maximum=64)


def in_theory(eigenvalues: Eigenvalues) -> str:
    """Return a range in the notation of theorems."""
    return f"[{eigenvalues.replace('..', ', ')}]"


class ControllerConfig(Config):
    """Options of the recurrent network that works a memory."""

    width: int = option(128, "size of the controller's state", minimum=1, maximum=8192)
    controller: Literal["relu", "elman", "lstm"] = option(
        "relu", "Elman network with ReLU (as Delétang et al.) or with tanh, or LSTM"
    )
    initial: Literal["torch", "haiku"] = option(
        "torch", "initial weights: PyTorch's, or those of Delétang et al., which are haiku's"
    )


_MODELS: dict[str, tuple[str, ...]] = {
    "recurrent": ("rnn", "gru", "lstm"),
    "transformer": (
        *("transformer", "transformer-logn", "transformer-chi", "looped-transformer"),
        *("transformer-chiang-cholak-first", "transformer-chiang-cholak-parity"),
        "transformer-deletang",
        *("forgetting-transformer", "path-transformer", "stick-breaking-transformer"),
        *("exact-parity", "exact-first", "flawed-first"),
        *("exact-dyck-1", "exact-dyck-1-{D}", "exact-crasp"),
        *("yao-hard-{k}-{D}", "yao-hard-as-soft-{k}-{D}", "yao-hard-generate-{k}-{D}"),
        *("yao-recognise-{k}-{D}", "yao-soft-{k}", "yao-soft-{k}-{D}"),
    ),
    "regulargpt": ("regulargpt", "regulargpt-c3", "exact-regulargpt"),
    "encoder-decoder": ("encoder-decoder", "encoder-decoder-logn"),
    "delta rule": ("deltanet", "gated-deltanet", "deltaproduct", "exact-deltaproduct", "rwkv-7"),
    "linear recurrence": (
        *("mamba", "mamba-2", "s4d", "lru", "slice", "linear-attention", "retnet", "gla"),
        *("mingru", "minlstm"),
    ),
    "xlstm": ("slstm", "mlstm", "xlstm"),
    "memory": ("stack-rnn", "tape-rnn", "nondeterministic-stack"),
}

FAMILY = {name: family for family, names in _MODELS.items() for name in names}
"""The family of each model; one that is not listed is its own."""


def learned(
    name: str,
    factory: str,
    config: type[Config],
    summary: str,
    reference: str,
    *,
    version: int = 1,
    by_name: bool = True,
    objectives: tuple[str, ...] = (),
    **defaults: Value,
) -> ModelSpec:
    """Return the spec of a learned model.

    Args:
        name: of the model.
        factory: import path below ``families``, such as ``stack_rnn:StackRnn``.
        config: of its options.
        summary: in a line.
        reference: the papers.
        version: raised when the same options give another network.
        by_name: whether ``--model all`` omits it.
        objectives: supported objectives; empty for all.
        **defaults: defaults that differ from the config's.
    """
    return ModelSpec(
        name=name,
        version=version,
        summary=summary,
        factory=f"formalbench_models.families.{factory}",
        config=config,
        defaults=defaults,
        objectives=objectives,
        reference=reference,
        by_name=by_name,
        family=FAMILY.get(name, ""),
    )
