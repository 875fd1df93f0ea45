"""The colours of all charts."""

from __future__ import annotations

import colorsys
from collections.abc import Mapping
from hashlib import sha256
from types import MappingProxyType

COLOURS: Mapping[str, str] = MappingProxyType(
    {
        "rnn": "#2f8f5b",
        "rnn[nonlinearity=relu]": "#759930",
        "lstm": "#c1272d",
        "gru": "#2a7ab9",
        "stack-rnn": "#8c6d1f",
        "stack-rnn[initial=haiku]": "#a58b47",
        "regulargpt": "#7b4ea3",
        "regulargpt-c3": "#ae78cf",
        "deltanet": "#d4619a",
        "deltanet[eigenvalues=-1..1]": "#a3215f",
        "deltaproduct": "#1b2a41",
        "rwkv-7": "#5b6472",
        "slice": "#12827c",
        "slice[block=1]": "#419c92",
        "mamba-2": "#1c95da",
        "slstm": "#6b1d5c",
        "mlstm": "#dd6c5f",
        "mlstm[heads=4]": "#b5533c",
        "looped-transformer": "#4656c8",
        "transformer": "#d07813",
        "transformer-logn": "#a85a00",
        "transformer[positions=relative]": "#ab8a21",
        "transformer[positions=alibi]": "#5f6b1a",
        "transformer[positions=none]": "#7d5a3c",
        "transformer[positions=rope]": "#d9573b",
        "transformer[randomised=2048]": "#9c8468",
    }
)
"""Colours of models, with or without options. Other names get a colour computed from a hash of the
name."""

_DARKEST, _LIGHTEST = 0.04, 0.27
"""Relative luminance of computed colours, which are visible on white paper."""

_LEAST_ON_DARK = 0.25


def colour_of(model: str) -> str:
    """Return the colour of a model: from the table, or computed from a hash of the name.

    A name with options that is not in the table gets a hue near that of the name without options.

    Args:
        model: the model's name with its options: ``lstm``, ``transformer[positions=alibi]``.

    Returns:
        ``#rrggbb``.
    """
    if model in COLOURS:
        return COLOURS[model]
    base, bracket, _ = model.partition("[")
    turn, depth, strength = (byte / 255 for byte in sha256(model.encode()).digest()[:3])
    if bracket and base:
        hue = colorsys.rgb_to_hls(*_parts(colour_of(base)))[0] + (turn - 0.5) / 8
    else:
        hue = turn
    target = _DARKEST + depth * (_LIGHTEST - _DARKEST)
    saturation = 0.45 + 0.4 * strength
    return _hex(hue % 1.0, _lightness(hue % 1.0, saturation, target), saturation)


def on_dark(colour: str) -> str:
    """Return a colour for a dark background: the same hue, but light enough."""
    if luminance(colour) >= _LEAST_ON_DARK:
        return colour
    hue, _, saturation = colorsys.rgb_to_hls(*_parts(colour))
    return _hex(hue, _lightness(hue, saturation, _LEAST_ON_DARK), saturation)


def _parts(colour: str) -> tuple[float, float, float]:
    red, green, blue = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    return red, green, blue


def _hex(hue: float, lightness: float, saturation: float) -> str:
    parts = colorsys.hls_to_rgb(hue, lightness, saturation)
    return "#" + "".join(f"{round(255 * part):02x}" for part in parts)


def _lightness(hue: float, saturation: float, target: float) -> float:
    """Return the lightness that gives a luminance, by bisection; luminance grows with lightness."""
    low, high = 0.0, 1.0
    for _ in range(12):
        middle = (low + high) / 2
        below = luminance(_hex(hue, middle, saturation)) < target
        low, high = (middle, high) if below else (low, middle)
    return low


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour, 0 for black, 1 for white (WCAG 2.2)."""
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in _parts(colour)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


RED = "#c1272d"

INK = "#1b2a41"

BLUES = ("#9ecae1", "#5ba3cf", "#2a7ab9", "#0b4d8c")

GREEN = "#2f8f5b"

ORANGE = "#e08214"

GREY = "#8a919c"
