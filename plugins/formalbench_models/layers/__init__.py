"""Layers shared by families, and all mixers, for use in your own networks.

A mixer lets a symbol see those before it: ``forward(x_BNW, state=None) -> (change_BNW, state)``,
with x and the change (B, N, W), B strings, N symbols, W width. `state` summarises the symbols
before, None at the start of a string, and has a fixed size except for attention. All mixers are
causal, and support padding after a string and `torch.func.vmap`.

A mixer is built with the config of its family, as ``Mamba2Mixer(Mamba2Config(width=64, heads=4))``;
`AttentionMixer` with its width and heads, and some take further arguments. `Block` adds norms,
residuals and an MLP, and `Backbone` stacks blocks on an embedding of symbols.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_FAMILIES = "formalbench_models.families."
_PLACES = {
    "formalbench_models.catalogue.linear_recurrences": (
        "DeltaConfig LinearAttentionConfig LruConfig MambaConfig Mamba2Config MinimalConfig "
        "MlstmConfig Rwkv7Config S4dConfig SliceConfig SlstmConfig"
    ),
    f"{_FAMILIES}delta": "DeltaMixer",
    f"{_FAMILIES}diagonal_recurrences": "LruMixer MinimalMixer S4dMixer",
    f"{_FAMILIES}hybrid": "AttentionMixer",
    f"{_FAMILIES}linear_attention": "GatedAttention LinearAttention Retention",
    f"{_FAMILIES}mamba": "Mamba2Mixer MambaMixer",
    f"{_FAMILIES}rwkv7": "Rwkv7Mixer",
    f"{_FAMILIES}slice": "SliceMixer",
    f"{_FAMILIES}xlstm": "MlstmMixer SlstmMixer",
    "formalbench_models.layers.residual": "Backbone Block Mixer",
}
_MODULES = {name: module for module, names in _PLACES.items() for name in names.split()}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:  # imported when they are used: listings import no torch
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
