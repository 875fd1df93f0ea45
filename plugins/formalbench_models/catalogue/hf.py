"""The options of `hf` and `fla`; nothing here imports torch."""

from __future__ import annotations

from formalbench import option

from formalbench_models.catalogue.options import (
    WIDTH,
    HeadsConfig,
    learned,
    mixer_heads_option,
)


class HfConfig(HeadsConfig):
    """Options of an architecture of transformers."""

    architecture: str = option("gpt2", "model type of the library: gpt2, llama, mamba2, …")
    width: int = WIDTH
    layers: int = option(2, "blocks", minimum=1, maximum=64)
    heads: int = mixer_heads_option(4)
    config: str = option(
        "", "more fields of its config: expand=1;tie=true; the items of a list are joined by +"
    )


class FlaConfig(HeadsConfig):
    """Options of a network of flash-linear-attention."""

    layer: str = option("gated_deltanet", "model type of the library, as gated_deltanet, delta_net")
    width: int = WIDTH
    layers: int = option(2, "blocks", minimum=1, maximum=64)
    heads: int = mixer_heads_option(4)
    config: str = option(
        "", "further fields of its config, as expand_v=1;use_gate=false; + between items of a list"
    )


LIBRARIES = (
    learned(
        "hf",
        "hf:build_hf",
        HfConfig,
        "any architecture of the library transformers, from a config (formalbench[hf])",
        "Wolf et al. 2020, Transformers",
    ),
    learned(
        "fla",
        "hf:build_fla",
        FlaConfig,
        "a network of flash-linear-attention, on a GPU (formalbench[fla])",
        "Yang & Zhang 2024, FLA: a Triton-based library",
    ),
)
