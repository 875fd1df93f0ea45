"""Which architecture each model is one of; imports neither torch nor numpy.

Constructions are of the architecture that they are built in. A model that is not here is one by
itself.
"""

from __future__ import annotations

from dataclasses import replace

from formalbench import ModelSpec

_MODELS: dict[str, tuple[str, ...]] = {
    "recurrent": ("rnn", "gru", "lstm"),
    "transformer": (
        *("transformer", "transformer-logn", "transformer-chi"),
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

_FAMILY = {name: family for family, names in _MODELS.items() for name in names}


def with_family(spec: ModelSpec) -> ModelSpec:
    """Return a model's spec with the architecture that it is one of."""
    return replace(spec, family=_FAMILY.get(spec.name, ""))
