"""Layers that several families share, and every mixer, for networks of your own.

A mixer lets a symbol see those before it: ``forward(x_BNW, memory) -> (change_BNW, memory)``, with
x and the change (B, N, W), B strings, N symbols, W width. `memory` is what it kept of the symbols
before, ``()`` at the start of a string, and of a fixed size but for attention, which keeps them.
All are causal, and fit for padding behind a string and for `torch.func.vmap`.

A mixer is built with the config of its family, as ``Mamba2Mixer(Mamba2Config(width=64, heads=4))``;
`AttentionMixer` with its width and heads, and some take further arguments. `Block` adds norms,
residuals and an MLP, and `Backbone` stacks blocks on an embedding of symbols.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_FAMILIES = "formalbench_models.families."
_PLACES = {
    "delta": ("DeltaConfig", "DeltaMixer"),
    "hybrid": ("AttentionMixer",),
    "linear_attention": ("GatedAttention", "LinearAttention", "LinearAttentionConfig", "Retention"),
    "lru": ("LruConfig", "LruMixer"),
    "mamba": ("MambaConfig", "MambaMixer"),
    "mamba2": ("Mamba2Config", "Mamba2Mixer"),
    "minimal": ("MinimalConfig", "MinimalMixer"),
    "mlstm": ("MlstmConfig", "MlstmMixer"),
    "rwkv7": ("Rwkv7Config", "Rwkv7Mixer"),
    "s4d": ("S4dConfig", "S4dMixer"),
    "slice": ("SliceConfig", "SliceMixer"),
    "slstm": ("SlstmConfig", "SlstmMixer"),
}
_MODULES = {
    name: f"{_FAMILIES}{family}.{'config' if name.endswith('Config') else 'model'}"
    for family, names in _PLACES.items()
    for name in names
}
_MODULES |= dict.fromkeys(("Backbone", "Block", "Mixer"), "formalbench_models.layers.residual")

__all__ = [  # imported when they are used: listings import no torch
    "AttentionMixer",
    "Backbone",
    "Block",
    "DeltaConfig",
    "DeltaMixer",
    "GatedAttention",
    "LinearAttention",
    "LinearAttentionConfig",
    "LruConfig",
    "LruMixer",
    "Mamba2Config",
    "Mamba2Mixer",
    "MambaConfig",
    "MambaMixer",
    "MinimalConfig",
    "MinimalMixer",
    "Mixer",
    "MlstmConfig",
    "MlstmMixer",
    "Retention",
    "Rwkv7Config",
    "Rwkv7Mixer",
    "S4dConfig",
    "S4dMixer",
    "SliceConfig",
    "SliceMixer",
    "SlstmConfig",
    "SlstmMixer",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
