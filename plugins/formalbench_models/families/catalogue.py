"""Announces the linear recurrences: static data, so neither torch nor numpy is imported here."""

from __future__ import annotations

from formalbench import ModelSpec
from formalbench.contracts.config import Value

from formalbench_models.families.announced import family


def _recurrence(
    name: str,
    module: str,
    config: str,
    summary: str,
    source: str,
    version: int = 1,
    **defaults: Value,
) -> ModelSpec:
    factory, options = f"{module}.model:build", f"{module}.config:{config}"
    return family(name, factory, options, summary, source, version=version, **defaults)


LINEAR_RECURRENCES: tuple[ModelSpec, ...] = (
    _recurrence(
        "deltanet",
        "delta",
        "DeltaConfig",
        "linear recurrence by the delta rule",
        "Schlag, Irie & Schmidhuber 2021; Yang et al. 2024, Parallelizing linear transformers "
        "with the delta rule",
    ),
    _recurrence(
        "gated-deltanet",
        "delta",
        "DeltaConfig",
        "the delta rule with a decay",
        "Yang, Kautz & Hatamizadeh 2025, Gated delta networks",
        gate=True,
        heads=4,
    ),
    _recurrence(
        "deltaproduct",
        "delta",
        "DeltaConfig",
        "several steps of the delta rule a symbol, eigenvalues of each in [-1, 1]",
        "Siems et al. 2025, DeltaProduct",
        reflections=2,
        eigenvalues="-1..1",
    ),
    _recurrence(
        "mamba",
        "mamba",
        "MambaConfig",
        "selective state space, diagonal, a step for every channel",
        "Gu & Dao 2024, Mamba",
    ),
    _recurrence(
        "mamba-2",
        "mamba2",
        "Mamba2Config",
        "selective state space, one decay for a head",
        "Dao & Gu 2024, Transformers are SSMs",
    ),
    _recurrence(
        "rwkv-7",
        "rwkv7",
        "Rwkv7Config",
        "linear recurrence with decaying rows and a generalised delta rule",
        'Peng et al. 2025, RWKV-7 "Goose", section 4.1',
    ),
    _recurrence(
        "mlstm",
        "mlstm",
        "MlstmConfig",
        "LSTM with a matrix for a memory and exponential gates",
        "Beck et al. 2024, xLSTM, section 2.3",
    ),
    _recurrence(
        "slice",
        "slice",
        "SliceConfig",
        "every symbol multiplies the state by a matrix of its own",
        "Walker et al. 2025, Structured linear CDEs",
        version=2,  # 1 kept its matrices' norms within 1 and began nearer to the identity
    ),
    _recurrence(
        "linear-attention",
        "linear_attention",
        "LinearAttentionConfig",
        "attention without a softmax, as a recurrence",
        "Katharopoulos et al. 2020, Transformers are RNNs",
    ),
    _recurrence(
        "retnet",
        "linear_attention",
        "LinearAttentionConfig",
        "linear attention with a fixed decay for each head, and rotations",
        "Sun et al. 2023, Retentive network",
        decay="fixed",
    ),
    _recurrence(
        "gla",
        "linear_attention",
        "LinearAttentionConfig",
        "gated linear attention: every row decays as a symbol says",
        "Yang et al. 2024, Gated linear attention transformers",
        decay="gated",
    ),
    _recurrence(
        "s4d",
        "s4d",
        "S4dConfig",
        "diagonal state space, the same at every symbol",
        "Gu, Gupta, Goel & Ré 2022",
    ),
    _recurrence(
        "lru",
        "lru",
        "LruConfig",
        "linear recurrent unit: a complex diagonal, the same at every symbol",
        "Orvieto et al. 2023, Resurrecting recurrent neural networks for long sequences",
    ),
    _recurrence(
        "mingru",
        "minimal",
        "MinimalConfig",
        "GRU whose gate does not see the state",
        "Feng et al. 2024, Were RNNs all we needed?",
    ),
    _recurrence(
        "minlstm",
        "minimal",
        "MinimalConfig",
        "LSTM whose gates do not see the state",
        "Feng et al. 2024, Were RNNs all we needed?",
        kind="lstm",
    ),
)
"""Families on the recurrences of `layers/`, the delta rule's first."""
