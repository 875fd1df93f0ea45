"""Announces the exact models: static data, so neither torch nor numpy is imported here."""

from __future__ import annotations

from formalbench.contracts.specs import ModelSpec, Option

from formalbench_models.constructions.yao_catalogue import YAO

EPSILON = 1e-5
"""The default ε of layer norm, and the mark by which an ε of one's own is known."""

_CHIANG = "Chiang & Cholak 2022, section "
_SLIDES = "Steffen, Glaus & Saeedi 2022, Evaluating solutions … for Dyck languages (slides)"

_C = Option(
    1.0, "the constant c > 0, as it acts on the logits of attention", minimum=1e-6, maximum=1000.0
)
_LOG_LENGTH = Option(False, "multiply attention logits by ln n, n counting CLS (section 4.3)")
_NETWORK = Option(
    "hand-written",
    "how it is built: with named parts, or as the transformer that is trained",
    choices=("hand-written", "transformer"),
)
_NORM = {
    "norm": Option(False, "activations (x, -x) with layer norm; implied by an eps of one's own"),
    "eps": Option(EPSILON, "epsilon of layer norm, 0 allowed", minimum=0.0, maximum=1.0),
    "eta": Option(
        0.0,
        "cross-entropy in nats by the layer of Proposition 2, for eps=0; 0 for no such layer",
        minimum=0.0,
        maximum=0.6931,
    ),
}


def _exact(name: str, task: str, summary: str, reference: str, **options: Option) -> ModelSpec:
    return ModelSpec(
        name=name,
        version=1,
        summary=summary,
        factory=f"formalbench_models.constructions.factories:{_factory(name)}",
        kind="exact",
        objectives=("classify",),
        options=options,
        reference=reference,
        task=task,
    )


def _factory(name: str) -> str:
    return name.partition("-{")[0].replace("-", "_")


_REGULARGPT = (
    ModelSpec(
        name="exact-regulargpt",
        version=1,
        summary="any automaton, written into the weights of regulargpt",
        factory="formalbench_models.constructions.exact_regulargpt:build",
        kind="exact",
        objectives=("classify", "tag", "next-symbols"),
        options={
            "chunk": Option(2, "positions a query attends to, C", minimum=2, maximum=1024),
            "clamp": Option(True, "two units per product, so that rounding errors never add up"),
            "scale": Option(16.0, "the size of the logits", minimum=2.0**-10, maximum=2.0**10),
        },
        reference="Chi, Fan, Rudnicky & Ramadge 2023, section 7.2 and Lemma 1",
        task="parity",
    ),
)

CONSTRUCTIONS: tuple[ModelSpec, ...] = (
    _exact(
        "ffnn-parity",
        "parity",
        "two layers of step functions, for one length",
        f"Rumelhart et al. 1986; {_CHIANG}2.1",
        n=Option(10, "the length of the strings", minimum=1, maximum=4096),
    ),
    _exact(
        "exact-parity",
        "parity",
        "two layers: find k/n, then test whether position k is odd",
        f"{_CHIANG}2.2, 3.1, 3.2",
        c=_C,
        **_NORM,
        value_6_2=Option(
            1.0,
            "the entry [W^{1,1,V}]_{6,2}, which computes k/n (figure 3)",
            minimum=-100.0,
            maximum=100.0,
        ),
        network=_NETWORK,
    ),
    _exact(
        "exact-first",
        "first",
        "two layers: mark a 1 at position 1, then attend to it",
        f"{_CHIANG}2.3, 3.1, 3.2, 4.3",
        c=_C,
        log_length=_LOG_LENGTH,
        **_NORM,
        network=_NETWORK,
    ),
    _exact(
        "flawed-first",
        "first",
        "one layer that others than position 1 disturb: fails on long strings",
        f"{_CHIANG}4.2, 4.3",
        c=_C,
        log_length=_LOG_LENGTH,
        network=_NETWORK,
    ),
    _exact(
        "exact-dyck-1",
        "dyck-1",
        "two layers: depths by masked averages, then the mean of the faults",
        _SLIDES,
        **_NORM,
    ),
    _exact(
        "exact-dyck-1-{D}",
        "dyck-1-{D}",
        "exact-dyck-1 with a greatest depth",
        _SLIDES,
        **_NORM,
    ),
    *_REGULARGPT,
    *YAO,
)
"""The exact models of this package, in the order of their papers."""
