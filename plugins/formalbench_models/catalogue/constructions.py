"""Models with weights set by hand."""

from __future__ import annotations

from typing import Literal

from formalbench import Config, ModelSpec, option
from pydantic import model_validator

from formalbench_models.catalogue.options import FAMILY

EPSILON = 1e-5
"""The default ε of layer norm; any other value means that it was set."""

BuiltAs = Literal["hand-written", "transformer"]


_C = option(1.0, "the constant c > 0 in the attention logits", minimum=1e-6, maximum=1000.0)
_LOG_LENGTH = option(False, "multiply attention logits by ln n, where n includes CLS (section 4.3)")
_NORM = option(False, "activations (x, -x) with layer norm; setting eps implies it")
_EPS = option(EPSILON, "epsilon of layer norm; may be 0", minimum=0.0, maximum=1.0)
_ETA = option(
    0.0,
    "cross-entropy in nats by the layer of Proposition 2, for eps=0; 0 for no such layer",
    minimum=0.0,
    maximum=0.6931,
)
_NETWORK = option(
    "hand-written", "form of the network: with named parts, or as the transformer that is trained"
)
_SCALE = option(16.0, "the size of the logits", minimum=2.0**-10, maximum=2.0**10)
_SHARPNESS = option(
    8.0,
    "sharpness of soft attention: tokens to ignore get a weight of at most e^-sharpness",
    minimum=2.0,
    maximum=1000.0,
)
_MARGIN = option(
    4.0,
    "|log p - log ε| is at least this, for every next symbol (Definition 3.1)",
    minimum=0.1,
    maximum=100.0,
)


def has_norm(norm: bool, eps: float) -> bool:
    """Return whether layer norm is requested, by `norm` or by setting ε."""
    return norm or eps != EPSILON


def check_eta(norm: bool, eps: float, eta: float) -> None:
    """Check that a requested cross-entropy comes with layer norm.

    Raises:
        ValueError: if it is wanted so.
    """
    if eta and not has_norm(norm, eps):
        raise ValueError(f"eta={eta:g} needs layer norm: add --set eps=0")


class FfnnParityConfig(Config):
    """Options of ``ffnn-parity``."""

    n: int = option(10, "the length of the strings", minimum=1, maximum=4096)


class ExactParityConfig(Config):
    """Options of ``exact-parity``."""

    c: float = _C
    norm: bool = _NORM
    eps: float = _EPS
    eta: float = _ETA
    value_6_2: float = option(
        1.0,
        "the entry [W^{1,1,V}]_{6,2}, which computes k/n (figure 3)",
        minimum=-100.0,
        maximum=100.0,
    )
    network: BuiltAs = _NETWORK

    @model_validator(mode="after")
    def _eta_needs_norm(self) -> ExactParityConfig:
        check_eta(self.norm, self.eps, self.eta)
        return self


class ExactFirstConfig(Config):
    """Options of ``exact-first``."""

    c: float = _C
    log_length: bool = _LOG_LENGTH
    norm: bool = _NORM
    eps: float = _EPS
    eta: float = _ETA
    network: BuiltAs = _NETWORK

    @model_validator(mode="after")
    def _eta_can_be_had(self) -> ExactFirstConfig:
        if not self.log_length:
            check_eta(self.norm, self.eps, self.eta)
        elif self.eta and self.c < 1:
            raise ValueError(f"eta with log_length needs c of 1 or more, not {self.c:g}")
        return self


class FlawedFirstConfig(Config):
    """Options of ``flawed-first``."""

    c: float = _C
    log_length: bool = _LOG_LENGTH
    network: BuiltAs = _NETWORK


class ExactDyckConfig(Config):
    """Options of ``exact-dyck-1`` and ``exact-dyck-1-{D}``."""

    norm: bool = _NORM
    eps: float = _EPS
    eta: float = _ETA

    @model_validator(mode="after")
    def _eta_needs_norm(self) -> ExactDyckConfig:
        check_eta(self.norm, self.eps, self.eta)
        return self


class ExactDeltaProductConfig(Config):
    """Options of ``exact-deltaproduct``."""

    scale: float = _SCALE


class ExactRegularGptConfig(Config):
    """Options of ``exact-regulargpt``."""

    chunk: int = option(
        2, "chunk size C: number of positions a query attends to", minimum=2, maximum=1024
    )
    clamp: bool = option(
        True, "use two units per product, so that rounding errors do not accumulate"
    )
    scale: float = _SCALE


class ExactCraspConfig(Config):
    """Options of ``exact-crasp``."""

    scale: float = _SCALE


class YaoHardConfig(Config):
    """Options of ``yao-hard-{k}-{D}``."""

    position_bits: int = option(
        0,
        "round positions to this many bits (0: no rounding), which are enough for 2^bits tokens "
        "(Theorem 4.3)",
        minimum=0,
        maximum=52,
    )


class YaoRecogniseConfig(Config):
    """Options of the recognisers with soft attention."""

    sharpness: float = _SHARPNESS


class YaoSoftConfig(Config):
    """Options of the generators with soft attention."""

    n: int = option(
        1002,
        "the most brackets a string may have; it bounds what may open near the end, so that "
        "members of the language itself are generated at lengths up to n - 2, and beginnings of "
        "members that are not closed up to n - D - 1, or n/2 - 1",
        minimum=2,
        maximum=1_000_000,
    )
    sharpness: float = _SHARPNESS
    margin: float = _MARGIN


class YaoHardGenerateConfig(Config):
    """Options of ``yao-hard-generate-{k}-{D}``."""

    margin: float = _MARGIN


_YAO = "Yao, Peng, Papadimitriou & Narasimhan 2021, "
_RECOGNISES = ("classify",)
_GENERATES = ("next-symbols", "generate")


def _exact(
    name: str,
    factory: str,
    config: type[Config],
    task: str,
    summary: str,
    reference: str,
    objectives: tuple[str, ...] = _RECOGNISES,
) -> ModelSpec:
    """Return the spec of an exact model; `factory` is an import path below ``constructions``."""
    return ModelSpec(
        name=name,
        version=1,
        summary=summary,
        factory=f"formalbench_models.constructions.{factory}",
        config=config,
        kind="exact",
        objectives=objectives,
        reference=reference,
        task=task,
        family=FAMILY.get(name, ""),
    )


YAO: tuple[ModelSpec, ...] = (
    _exact(
        "yao-hard-{k}-{D}",
        "builders:hard",
        YaoHardConfig,
        "dyck-{k}-{D}:classify",
        "D+1 hard-attention layers that match innermost brackets first",
        f"{_YAO}section 5.1, Theorem 4.1",
    ),
    _exact(
        "yao-hard-as-soft-{k}-{D}",
        "builders:hard_as_soft",
        YaoRecogniseConfig,
        "dyck-{k}-{D}:classify",
        "yao-hard with soft attention at a temperature of 1/Ω(n log nD)",
        f"{_YAO}section 5.1, appendix A",
    ),
    _exact(
        "yao-recognise-{k}-{D}",
        "builders:recognise",
        YaoRecogniseConfig,
        "dyck-{k}-{D}:classify",
        "three soft-attention layers: depth, the matching bracket, any fault",
        f"{_YAO}Corollary B.2",
    ),
    _exact(
        "yao-soft-{k}-{D}",
        "builders:soft",
        YaoSoftConfig,
        "dyck-{k}-{D}:next-symbols",
        "two soft-attention layers: depth as an angle, then the top of the stack",
        f"{_YAO}section 5.2, appendix B.1 and B.2, Theorem 4.2",
        _GENERATES,
    ),
    _exact(
        "yao-soft-{k}",
        "builders:soft_unbounded",
        YaoSoftConfig,
        "dyck-{k}:next-symbols",
        "yao-soft for any depth: exact for lengths n whose square the precision can represent",
        f"{_YAO}appendix B.4, Theorem B.3",
        _GENERATES,
    ),
    _exact(
        "yao-hard-generate-{k}-{D}",
        "builders:hard_generate",
        YaoHardGenerateConfig,
        "dyck-{k}-{D}:next-symbols",
        "D hard-attention layers, run on every prefix",
        f"{_YAO}Corollary A.2",
        _GENERATES,
    ),
)
"""The exact models of this paper."""

_CHIANG = "Chiang & Cholak 2022, section "
_SLIDES = "Steffen, Glaus & Saeedi 2022, Evaluating solutions … for Dyck languages (slides)"


_OF_AUTOMATA = ("classify", "tag", "next-symbols")

CONSTRUCTIONS: tuple[ModelSpec, ...] = (
    _exact(
        "ffnn-parity",
        "builders:ffnn_parity",
        FfnnParityConfig,
        "parity",
        "two layers of step functions, for one length",
        f"Rumelhart et al. 1986; {_CHIANG}2.1",
    ),
    _exact(
        "exact-parity",
        "builders:exact_parity",
        ExactParityConfig,
        "parity",
        "two layers: find k/n, then test whether position k is odd",
        f"{_CHIANG}2.2, 3.1, 3.2",
    ),
    _exact(
        "exact-first",
        "builders:exact_first",
        ExactFirstConfig,
        "first",
        "two layers: mark a 1 at position 1, then attend to it",
        f"{_CHIANG}2.3, 3.1, 3.2, 4.3",
    ),
    _exact(
        "flawed-first",
        "builders:flawed_first",
        FlawedFirstConfig,
        "first",
        "one layer that also attends to other positions than the first: fails on long strings",
        f"{_CHIANG}4.2, 4.3",
    ),
    _exact(
        "exact-dyck-1",
        "builders:exact_dyck_1",
        ExactDyckConfig,
        "dyck-1",
        "two layers: depths by masked averages, then the mean of the faults",
        _SLIDES,
    ),
    _exact(
        "exact-dyck-1-{D}",
        "builders:exact_dyck_1",
        ExactDyckConfig,
        "dyck-1-{D}",
        "exact-dyck-1 with bounded depth",
        _SLIDES,
    ),
    _exact(
        "exact-regulargpt",
        "exact_regulargpt:build",
        ExactRegularGptConfig,
        "parity",
        "any automaton, written into the weights of regulargpt",
        "Chi, Fan, Rudnicky & Ramadge 2023, section 7.2 and Lemma 1",
        _OF_AUTOMATA,
    ),
    _exact(
        "exact-deltaproduct",
        "exact_delta_product:build",
        ExactDeltaProductConfig,
        "parity",
        "any automaton of permutations and resets, as reflections of a linear recurrence",
        "Siems et al. 2025, DeltaProduct; Grazzi et al. 2024, section 4",
        _OF_AUTOMATA,
    ),
    _exact(
        "exact-crasp",
        "exact_crasp:build",
        ExactCraspConfig,
        "dyck-2-3",
        "any automaton in C-RASP, written into a transformer without positions",
        "Yang & Chiang 2024, Theorem 4.3; Yang et al. 2026, appendix J",
        _OF_AUTOMATA,
    ),
    *YAO,
)
"""The exact models of this package, in the order of their papers."""
