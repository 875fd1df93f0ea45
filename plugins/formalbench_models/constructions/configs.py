"""The options of the exact models, a class a family; nothing here imports torch."""

from __future__ import annotations

from typing import Any, Literal

from formalbench import Config, option
from pydantic import model_validator

EPSILON = 1e-5
"""The default ε of layer norm, and the mark by which an ε of one's own is known."""

BuiltAs = Literal["hand-written", "transformer"]


def _c() -> Any:
    return option(
        1.0,
        "the constant c > 0, as it acts on the logits of attention",
        minimum=1e-6,
        maximum=1000.0,
    )


def _log_length() -> Any:
    return option(False, "multiply attention logits by ln n, n counting CLS (section 4.3)")


def _norm() -> Any:
    return option(False, "activations (x, -x) with layer norm; implied by an eps of one's own")


def _eps() -> Any:
    return option(EPSILON, "epsilon of layer norm, 0 allowed", minimum=0.0, maximum=1.0)


def _eta() -> Any:
    return option(
        0.0,
        "cross-entropy in nats by the layer of Proposition 2, for eps=0; 0 for no such layer",
        minimum=0.0,
        maximum=0.6931,
    )


def _network() -> Any:
    return option(
        "hand-written",
        "how it is built: with named parts, or as the transformer that is trained",
    )


def _scale() -> Any:
    return option(16.0, "the size of the logits", minimum=2.0**-10, maximum=2.0**10)


def has_norm(norm: bool, eps: float) -> bool:
    """Say whether layer norm is wanted; an ε of one's own asks for it too."""
    return norm or eps != EPSILON


def check_eta(norm: bool, eps: float, eta: float) -> None:
    """Refuse a wanted cross-entropy without layer norm.

    Raises:
        ValueError: if it is wanted so.
    """
    if eta and not has_norm(norm, eps):
        raise ValueError(f"eta={eta:g} needs layer norm: add --set eps=0")


class FfnnParityConfig(Config):
    """Of ``ffnn-parity``."""

    n: int = option(10, "the length of the strings", minimum=1, maximum=4096)


class ExactParityConfig(Config):
    """Of ``exact-parity``."""

    c: float = _c()
    norm: bool = _norm()
    eps: float = _eps()
    eta: float = _eta()
    value_6_2: float = option(
        1.0,
        "the entry [W^{1,1,V}]_{6,2}, which computes k/n (figure 3)",
        minimum=-100.0,
        maximum=100.0,
    )
    network: BuiltAs = _network()

    @model_validator(mode="after")
    def _eta_needs_norm(self) -> ExactParityConfig:
        check_eta(self.norm, self.eps, self.eta)
        return self


class ExactFirstConfig(Config):
    """Of ``exact-first``."""

    c: float = _c()
    log_length: bool = _log_length()
    norm: bool = _norm()
    eps: float = _eps()
    eta: float = _eta()
    network: BuiltAs = _network()

    @model_validator(mode="after")
    def _eta_can_be_had(self) -> ExactFirstConfig:
        if not self.log_length:
            check_eta(self.norm, self.eps, self.eta)
        elif self.eta and self.c < 1:
            raise ValueError(f"eta with log_length needs c of 1 or more, not {self.c:g}")
        return self


class FlawedFirstConfig(Config):
    """Of ``flawed-first``."""

    c: float = _c()
    log_length: bool = _log_length()
    network: BuiltAs = _network()


class ExactDyckConfig(Config):
    """Of ``exact-dyck-1`` and ``exact-dyck-1-{D}``."""

    norm: bool = _norm()
    eps: float = _eps()
    eta: float = _eta()

    @model_validator(mode="after")
    def _eta_needs_norm(self) -> ExactDyckConfig:
        check_eta(self.norm, self.eps, self.eta)
        return self


class ExactDeltaProductConfig(Config):
    """Of ``exact-deltaproduct``."""

    scale: float = option(16.0, "the size of the logits", minimum=2.0**-10, maximum=2.0**10)


class ExactRegularGptConfig(Config):
    """Of ``exact-regulargpt``."""

    chunk: int = option(2, "positions a query attends to, C", minimum=2, maximum=1024)
    clamp: bool = option(True, "two units per product, so that rounding errors never add up")
    scale: float = _scale()


class ExactCraspConfig(Config):
    """Of ``exact-crasp``."""

    scale: float = _scale()
