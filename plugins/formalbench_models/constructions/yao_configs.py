"""The options of the constructions of Yao et al., a class a family; nothing here imports torch."""

from __future__ import annotations

from typing import Any

from formalbench import Config, option


def _sharpness() -> Any:
    return option(
        8.0,
        "of soft attention: tokens that should not be attended to weigh e^-sharpness at most",
        minimum=2.0,
        maximum=1000.0,
    )


def _margin() -> Any:
    return option(
        4.0,
        "|log p - log ε| is at least this, for every next symbol (Definition 3.1)",
        minimum=0.1,
        maximum=100.0,
    )


class YaoHardConfig(Config):
    """Of ``yao-hard-{k}-{D}``."""

    position_bits: int = option(
        0,
        "round positions to so many bits, 0 for no rounding: enough for 2^bits tokens "
        "(Theorem 4.3)",
        minimum=0,
        maximum=52,
    )


class YaoRecogniseConfig(Config):
    """Of the recognisers with soft attention."""

    sharpness: float = _sharpness()


class YaoSoftConfig(Config):
    """Of the generators with soft attention."""

    n: int = option(
        1002,
        "the most brackets a string may have; it bounds what may open near the end, so that "
        "members of the language itself are generated at lengths up to n - 2, and beginnings of "
        "members that are not closed up to n - D - 1, or n/2 - 1",
        minimum=2,
        maximum=1_000_000,
    )
    sharpness: float = _sharpness()
    margin: float = _margin()


class YaoHardGenerateConfig(Config):
    """Of ``yao-hard-generate-{k}-{D}``."""

    margin: float = _margin()
