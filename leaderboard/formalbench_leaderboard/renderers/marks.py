"""How figures tell models apart: a colour per name, a marker per set of options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from formalbench.analysis.board import Row
from formalbench.analysis.keys import grouped_by
from formalbench.analysis.text import harmless

_COLOURS = (
    *("#0072b2", "#56b4e9", "#c1272d", "#e08214", "#2f8f5b", "#7b4ea3", "#c77aa8", "#1b2a41"),
    *("#8c6d1f", "#4f9a94"),
)
"""Chosen so that neighbours differ in lightness, too, for readers who see fewer colours."""

_MARKERS = "osD^vPX*<>h"
Dashes = Literal["-"] | tuple[int, tuple[float, ...]]
_LINES: tuple[Dashes, ...] = ("-", (0, (5, 1.5)), (0, (2, 1.2)))
_LIGHTEST = 0.4
_LONGEST = 44


@dataclass(frozen=True, slots=True)
class Mark:
    """How a model looks."""

    colour: str
    marker: str
    line: Dashes


def marks(rows: Sequence[Row]) -> dict[str, Mark]:
    """Return how each row of a board looks, by its name.

    Models that differ in their options alone share a colour, in lighter and lighter shades.
    """
    by_name = sorted(rows, key=lambda row: row.model)
    variants = grouped_by(lambda row: row.key[0].partition("[")[0], by_name)
    found = {}
    for place, (_, alike) in enumerate(sorted(variants.items())):
        colour, turn = _COLOURS[place % len(_COLOURS)], place // len(_COLOURS)
        for number, row in enumerate(alike):
            found[row.model] = Mark(
                _lighter(colour, _LIGHTEST * number / max(1, len(alike) - 1)),
                _MARKERS[(turn + number) % len(_MARKERS)],
                _LINES[(turn + number) % len(_LINES)],
            )
    return found


def _lighter(colour: str, share: float) -> str:
    parts = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return "#" + "".join(f"{round(part + (255 - part) * share):02x}" for part in parts)


def label(text: str) -> str:
    """Return a name as a figure shows it."""
    clean = harmless(text)
    return clean if len(clean) <= _LONGEST else f"{clean[: _LONGEST - 1]}…"
