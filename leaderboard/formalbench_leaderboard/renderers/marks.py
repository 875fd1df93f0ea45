"""How figures tell models apart: by colour, marker and line, all decided by the name alone."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

from formalbench.analysis.colours import colour_of
from formalbench.analysis.text import harmless

_MARKERS = "osD^vPX*<>h"
Dashes = Literal["-"] | tuple[int, tuple[float, ...]]
_LINES: tuple[Dashes, ...] = ((0, (5, 1.5)), (0, (2, 1.2)))
"""Of models with options; the others have a whole line."""

_LONGEST = 48


@dataclass(frozen=True, slots=True)
class Mark:
    """How a model looks."""

    colour: str
    marker: str
    line: Dashes


def mark_of(model: str) -> Mark:
    """Return the colour, marker and dash of a model; they are the same in every figure.

    Args:
        model: its name, with the options set.
    """
    marker, line = sha256(model.encode()).digest()[3:5]
    return Mark(
        colour_of(model),
        _MARKERS[marker % len(_MARKERS)],
        _LINES[line % len(_LINES)] if "[" in model else "-",
    )


def label(text: str) -> str:
    """Return a name as a figure shows it."""
    clean = harmless(text)
    return clean if len(clean) <= _LONGEST else f"{clean[: _LONGEST - 1]}…"
