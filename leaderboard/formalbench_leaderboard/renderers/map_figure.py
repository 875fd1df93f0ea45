"""The map as an SVG file: light or dark, wide or narrow, or for a page, whose theme it takes on.

Of the files that lie in the repository a page shows the one for its reader's screen.

The same map gives the same bytes on every machine: nothing is measured or solved for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from formalbench.analysis.map import LanguageMap
from formalbench.analysis.map_sentences import sentences

from formalbench_leaderboard.renderers.links import FIGURES
from formalbench_leaderboard.renderers.map_drawing import Addresses, Canvas, draw
from formalbench_leaderboard.renderers.map_ink import number
from formalbench_leaderboard.renderers.map_layout import MARGIN, NARROW, ROW, WIDE, Frame
from formalbench_leaderboard.renderers.map_legend import add_legend
from formalbench_leaderboard.templating import render as from_template

Theme = Literal["light", "dark", "page"]

_PHONE = "(max-width: 600px)"
_IN_THE_DARK = "(prefers-color-scheme: dark)"

FEW = 1500
"""Cells up to which a map is also told one by one, and drawn for a phone."""

TITLE = "What each family of models can express, learns and extrapolates on"


@dataclass(frozen=True, slots=True)
class Look:
    """The colours of a theme; `ramp` goes from chance to perfect.

    Along the ramp lightness only falls (in the dark only rises), so that eyes that see fewer
    colours, and printers, keep its order; the height of a bar says the same.
    """

    paper: str
    ink: str
    quiet: str
    value: str
    built: str
    track: str
    grey: str
    tick: str
    ramp: tuple[str, ...]


LIGHT = Look(
    paper="#ffffff",
    ink="#1c1d20",
    quiet="#5a5b60",
    value="#55565b",
    built="#14566e",
    track="#eef4f5",
    grey="#e4e3e0",
    tick="#ffffff",
    ramp=("#e2b84c", "#a9cb8a", "#57b5a7", "#2d88a6", "#15506f"),
)
DARK = Look(
    paper="#0d1117",
    ink="#e9e6df",
    quiet="#a3a3a8",
    value="#b4b3b0",
    built="#8fd3e6",
    track="#1a242b",
    grey="#2d2e31",
    tick="#0d1117",
    ramp=("#775a2a", "#627f4a", "#409585", "#4aacbf", "#8bd7ea"),
)


@dataclass(frozen=True, slots=True)
class Variant:
    """A file of the map: what of, and for which screens it is (a media query; empty for all)."""

    name: str
    theme: Theme
    frame: Frame
    media: str


VARIANTS = (
    Variant("map-narrow-dark", "dark", NARROW, f"{_PHONE} and {_IN_THE_DARK}"),
    Variant("map-narrow", "light", NARROW, _PHONE),
    Variant("map-dark", "dark", WIDE, _IN_THE_DARK),
    Variant("map", "light", WIDE, ""),
)
"""The files that pages show one of: the first whose screens it is."""


def _both() -> Look:
    """Return the look of a page, which follows its reader's theme."""

    def either(light: str, dark: str) -> str:
        return f"light-dark({light},{dark})"

    one = {
        name: either(getattr(LIGHT, name), getattr(DARK, name))
        for name in ("paper", "ink", "quiet", "value", "built", "track", "grey", "tick")
    }
    return Look(**one, ramp=tuple(map(either, LIGHT.ramp, DARK.ramp)))


README_VARIANTS = tuple(replace(one, name=f"readme-{one.name}") for one in VARIANTS)
"""The files that the README of the repository shows one of."""

README_HEIGHTS = {WIDE: 500.0, NARROW: 640.0}
"""How tall a map in the README may be: 500 pixels at 960 and, on a phone, at 360 of a width."""


_LOOKS: dict[Theme, Look] = {"light": LIGHT, "dark": DARK, "page": _both()}


def render(
    shown: LanguageMap,
    theme: Theme = "light",
    frame: Frame = WIDE,
    to: Addresses | None = None,
    name: str = "map",
) -> str:
    """Return the map as SVG.

    Args:
        shown: the map.
        theme: of its colours.
        frame: how wide it is.
        to: where models and tasks are told.
        name: begins the identifiers in it, of which a page has each once.
    """
    sheet = draw(shown, frame, to or Addresses(), targets=len(shown.cells) <= FEW)
    add_legend(sheet, shown)
    return _svg(shown, sheet, theme, name, sheet.y + MARGIN / 2)


def render_compact(shown: LanguageMap, theme: Theme, frame: Frame, tallest: float) -> str:
    """Return the map as SVG with its legend on top, and with as many rows as there is room for.

    Rows are left out one by one: the last one of the family that has the most.

    Args:
        shown: the map.
        theme: of its colours.
        frame: how wide it is.
        tallest: how tall it may be; each family keeps one row, however tall that is.
    """
    while True:
        sheet = draw(shown, frame, Addresses(), targets=False, legend=add_legend)
        height = sheet.y - ROW + MARGIN
        most = max(shown.families, key=lambda family: len(family.rows))
        if height <= tallest or len(most.rows) <= 1:
            return _svg(shown, sheet, theme, "map", height)
        fewer = replace(most, rows=most.rows[:-1])
        families = tuple(fewer if family is most else family for family in shown.families)
        shown = replace(shown, families=families)


def _svg(shown: LanguageMap, sheet: Canvas, theme: Theme, name: str, height: float) -> str:
    return from_template(
        "map.svg.j2",
        id=name,
        theme=theme,
        look=_LOOKS[theme],
        width=round(sheet.frame.width),
        height=math.ceil(height),
        title=TITLE,
        description=" ".join(sentences(shown)),
        texts=sheet.texts,
        shapes=sheet.shapes,
        n=number,
        targets=sheet.targets,
    )


def variants(shown: LanguageMap) -> list[tuple[Variant, Path]]:
    """Return the files of a map, and where they lie; none of one without columns."""
    if not shown.columns:
        return []
    narrow = len(shown.cells) <= FEW
    kept = [one for one in VARIANTS if narrow or "narrow" not in one.name]
    return [(one, FIGURES / f"{one.name}.svg") for one in kept]


def map_files(shown: LanguageMap) -> dict[Path, str]:
    """Return every file of a map, those of README too, by its path below the repository's root."""
    if not shown.columns:
        return {}
    files = {path: render(shown, one.theme, one.frame) for one, path in variants(shown)}
    for one in README_VARIANTS:
        svg = render_compact(shown, one.theme, one.frame, README_HEIGHTS[one.frame])
        files[FIGURES / f"{one.name}.svg"] = svg
    return files


def map_fields(shown: LanguageMap) -> Mapping[str, object]:
    """Return what `map.md.j2` shows."""
    return {
        "sentences": sentences(shown),
        "variants": variants(shown),
        "map_title": TITLE,
    }
