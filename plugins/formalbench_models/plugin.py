"""Announces the models. Imports neither torch nor numpy, so that listings are instant."""

from __future__ import annotations

from collections.abc import Iterator

from formalbench import hookimpl
from formalbench.contracts.specs import ModelSpec, Option

from formalbench_models.constructions.catalogue import CONSTRUCTIONS

_LAYERS = Option(1, "recurrent layers, the topmost is read", minimum=1, maximum=64)
_STATE = Option(128, "size of the state and of the symbol embeddings", minimum=1, maximum=8192)
_WIDTH = Option(64, "size of the residual stream", minimum=2, maximum=8192)
_HEADS = Option(4, "attention heads; they divide the width", minimum=1, maximum=1024)
_FEED_FORWARD = Option(4, "hidden units per unit of width", minimum=1, maximum=64)
_NORM_HELP = "layer norm before (pre) or after (post) each residual branch"
_ACTIVATION = Option("gelu", "of the feed-forward network", choices=("gelu", "relu"))
_POSITIONS = (
    "none",
    "sinusoidal",
    "learned",
    "scalar",
    "scalar-6000",
    "alibi",
    "rope",
    "relative",
    "first",
    "parity",
)


def _recurrent(name: str, summary: str, reference: str) -> ModelSpec:
    return ModelSpec(
        name=name,
        version=2,  # 1 used the library's kernels
        summary=summary,
        factory=f"formalbench_models.recurrent:{name}",
        options={"width": _STATE, "layers": _LAYERS},
        reference=reference,
    )


def _regulargpt(name: str, chunk: int) -> ModelSpec:
    return ModelSpec(
        name=name,
        version=1,
        summary=f"one shared block over log_{chunk} T levels of dilated chunks of {chunk}",
        factory=f"formalbench_models.regulargpt:{'build_c3' if chunk == 3 else 'build'}",
        options={
            "chunk": Option(chunk, "positions a query attends to, C", minimum=2, maximum=1024),
            "thickness": Option(1, "blocks per level, K", minimum=1, maximum=64),
            "width": _WIDTH,
            "heads": _HEADS,
            "feed_forward": _FEED_FORWARD,
            "norm": Option("post", _NORM_HELP, choices=("pre", "post")),
            "activation": _ACTIVATION,
            "bias": Option(True, "biases in the attention's projections"),
            "hidden": Option(
                0, "hidden units, exactly; 0 for feed_forward", minimum=0, maximum=65536
            ),
        },
        reference="Chi, Fan, Rudnicky & Ramadge 2023, section 3",
    )


def _transformer(name: str, log_length: bool, summary: str, reference: str) -> ModelSpec:
    return ModelSpec(
        name=name,
        version=1,
        summary=summary,
        factory=f"formalbench_models.transformer:{'build_logn' if log_length else 'build'}",
        options={
            "positions": Option(
                "sinusoidal",
                "position codes; scalar is i/n, scalar-6000 is i/6000, in a dimension of its own; "
                "first is [i=1], parity is i/n and cos(i pi)",
                choices=_POSITIONS,
            ),
            "causal": Option(False, "see only the past (as all objectives but classify do)"),
            "log_length": Option(log_length, "multiply logits by ln n, n positions attended to"),
            "width": _WIDTH,
            "heads": _HEADS,
            "layers": Option(2, "blocks, each with its own parameters", minimum=1, maximum=256),
            "feed_forward": _FEED_FORWARD,
            "norm": Option("pre", _NORM_HELP + ", or none", choices=("pre", "post", "none")),
            "activation": _ACTIVATION,
            "eps": Option(1e-5, "added to the variance by layer norm", minimum=0.0, maximum=1.0),
            "hidden": Option(
                0, "hidden units, exactly; 0 for feed_forward", minimum=0, maximum=65536
            ),
            "attention": Option(
                "soft",
                "hard: each query takes the key of its greatest logit, the leftmost of equal ones; "
                "the gradient is that of the softmax",
                choices=("soft", "hard"),
            ),
            "init": Option(
                "linear",
                "initial weights: PyTorch's of single layers (linear), those of its "
                "TransformerEncoder (library): attention by Xavier, the layers copies of one, or "
                "GPT-2's (gpt2): normal, deviation 0.02, biases 0",
                choices=("linear", "library", "gpt2"),
            ),
        },
        reference=reference,
    )


@hookimpl
def formalbench_models() -> Iterator[ModelSpec]:
    """Announce the models of this wing."""
    yield _recurrent("rnn", "Elman network with tanh", "Elman 1990, Finding structure in time")
    yield _recurrent("gru", "gated recurrent unit", "Cho et al. 2014")
    yield _recurrent("lstm", "long short-term memory", "Hochreiter & Schmidhuber 1997")
    yield _transformer("transformer", False, "self-attention, two layers", "Vaswani et al. 2017")
    yield _transformer(
        "transformer-logn",
        True,
        "the transformer with logits scaled by the log of the length",
        "Chiang & Cholak 2022, section 4.3",
    )
    yield _regulargpt("regulargpt", 2)
    yield _regulargpt("regulargpt-c3", 3)
    yield from CONSTRUCTIONS
