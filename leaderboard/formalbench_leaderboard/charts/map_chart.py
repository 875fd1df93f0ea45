"""The map's files, with its legend.

There are several variants for screens of different widths and themes; a page shows the one that
fits the reader's screen.

The same map gives the same bytes on every machine: nothing depends on measured fonts or a solver.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from formalbench.statistics.length_profile import Step

from formalbench_leaderboard.charts import map_drawing as ink
from formalbench_leaderboard.charts.language_map import LanguageMap, Said, Verdict, sentences
from formalbench_leaderboard.charts.map_drawing import (
    CELL_HEIGHT,
    GROUP_GAP,
    MARGIN,
    NARROW,
    ROW,
    SMALL,
    WIDE,
    Addresses,
    Canvas,
    Entry,
    Frame,
    Sign,
    draw,
    flow,
    number,
    shortened,
)
from formalbench_leaderboard.renderers.links import FIGURES
from formalbench_leaderboard.templating import render as from_template

_BOX = 30.0


_VERDICTS: dict[Verdict, str] = {
    "can": "can",
    "cannot": "cannot",
    "some": "differs within the family, or unknown",
}


def add_legend(sheet: Canvas, shown: LanguageMap) -> None:
    """Write the legend at the current position of the sheet: below a map, or above it."""
    sheet.y += GROUP_GAP / 2
    flow(sheet, list(_entries(shown)))


def _entries(shown: LanguageMap) -> Iterator[Entry]:
    cells = [cell for _, _, cell in shown.cells]
    states = {cell.state for cell in cells}
    if "learned" in states:
        told = f"learned; accuracy on longer strings{_lengths(shown)}, from chance to perfect"
        yield 60.0, told, _ramp
    if any(ink.solved(cell) and not cell.weak for cell in cells):
        yield _BOX, "99 % or more at every tested length, on average over the seeds", _solved
    if any(cell.weak for cell in cells):
        told = "weak evidence: a predictor that is wrong on some test strings has over 95 %"
        yield _BOX, told, _weak
    if any(cell.state == "learned" and cell.unfinished for cell in cells):
        told = "weak evidence: a run diverged or did not finish, and counts as chance"
        yield _BOX, told, _hatched
    if any(cell.state == "learned" and cell.learned < cell.seeds for cell in cells):
        yield (
            4.0,
            "not every seed learned",
            lambda sheet, x: sheet.shapes.append(ink.ring(x + 2, sheet.y + 8)),
        )
    if "unlearned" in states:
        told = "training lengths not learned: validation accuracy in %"
        yield _BOX, told, lambda sheet, x: _grey(sheet, x, "58")
    if "failed" in states:
        yield _BOX, "no run finished", lambda sheet, x: _grey(sheet, x, "!")
    if "not run" in states:
        yield 6.0, "not run", lambda sheet, x: sheet.shapes.append(ink.dot(x + 3, sheet.y + 8))
    yield from _heads(shown)
    if shown.protocol:
        yield -6.0, f"Protocol {shortened(shown.protocol, 300, SMALL)}.", lambda sheet, x: None


def _heads(shown: LanguageMap) -> Iterator[Entry]:
    said = {one for family in shown.families for one in family.theory if one is not None}
    for verdict, text in _VERDICTS.items():
        for proved in (True, False):
            if (one := Said(verdict, proved)) in said:
                how = "theory" if proved else "experiments"
                yield 8.0 if proved else 16.0, f"{how}: {text}", _verdict(one)
    if any(one for family in shown.families for one in family.built):
        yield 8.0, "built by hand and verified up to this length", _built


def _lengths(shown: LanguageMap) -> str:
    ranges = {(one.first, one.last) for one in shown.columns if one.first and one.last}
    if not ranges or len(ranges) > 3:
        return ""
    listed = " or ".join(f"{first}–{last}" for first, last in sorted(ranges, key=lambda r: -r[1]))
    return f" ({listed} symbols, left to right)"


def _ramp(sheet: Canvas, x: float) -> None:
    shares = [0.0, 0.3, 0.6, 0.85, 1.0]
    strip = tuple(Step(place, place, share) for place, share in enumerate(shares))
    sheet.shapes.append(ink.Shape("track", ink.rectangle(x, sheet.y, 60, CELL_HEIGHT)))
    sheet.shapes += ink.bars(strip, x, sheet.y, 60)


def _solved(sheet: Canvas, x: float) -> None:
    sheet.shapes += ink.bars((Step(0, 0, 1.0),), x, sheet.y, _BOX)
    sheet.shapes.append(ink.tick(x + _BOX / 2, sheet.y + CELL_HEIGHT / 2))


def _weak(sheet: Canvas, x: float) -> None:
    sheet.shapes += ink.bars((Step(0, 0, 1.0),), x, sheet.y, _BOX)
    sheet.shapes.append(ink.wave(x + _BOX / 2, sheet.y + CELL_HEIGHT / 2))


def _hatched(sheet: Canvas, x: float) -> None:
    sheet.shapes += ink.bars((Step(0, 0, 1.0),), x, sheet.y, _BOX)
    sheet.shapes.append(ink.hatching(x, sheet.y, _BOX))


def _grey(sheet: Canvas, x: float, text: str) -> None:
    sheet.shapes.append(ink.Shape("grey", ink.rectangle(x, sheet.y, _BOX, CELL_HEIGHT)))
    sheet.write(x + _BOX / 2, text, "value")


def _verdict(said: Said) -> Sign:
    def sign(sheet: Canvas, x: float) -> None:
        sheet.shapes += ink.verdict(said, x + (4 if said.proved else 8), sheet.y + 8)

    return sign


def _built(sheet: Canvas, x: float) -> None:
    sheet.shapes.append(ink.Shape("built", ink.tick(x + 4, sheet.y + 8).path))


Theme = Literal["light", "dark", "page"]


_PHONE = "(max-width: 600px)"


_IN_THE_DARK = "(prefers-color-scheme: dark)"


FEW = 1500
"""Larger maps have no tooltip for each cell and no variant for phones."""


TITLE = "What each family of models can express, learns and extrapolates on"


@dataclass(frozen=True, slots=True)
class Look:
    """The colours of a theme; `ramp` goes from chance to perfect.

    Lightness changes in one direction along the ramp, so that its order remains visible to readers
    with colour blindness and in grey print. The height of a bar shows the same value.
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
    """A file of the map: its theme and frame, and a media query for its screens (empty for all)."""

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
"""Variants of the map; a page shows the first one whose media query matches."""


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
"""Variants of the map for the README of the repository."""


README_HEIGHTS = {WIDE: 500.0, NARROW: 640.0}
"""Maximum height of a map in the README: 500 pixels when it is 960 or, on a phone, 360 wide."""


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
        theme: its colours.
        frame: its width.
        to: addresses of the pages of models and tasks.
        name: prefix of the identifiers in the SVG, which must be unique on a page.
    """
    sheet = draw(shown, frame, to or Addresses(), targets=len(shown.cells) <= FEW)
    add_legend(sheet, shown)
    return _svg(shown, sheet, theme, name, sheet.y + MARGIN / 2)


def render_compact(shown: LanguageMap, theme: Theme, frame: Frame, tallest: float) -> str:
    """Return the map as SVG with the legend on top, with as many rows as fit.

    Rows are left out one by one: the last row of the family with the most rows.

    Args:
        shown: the map.
        theme: its colours.
        frame: its width.
        tallest: its maximum height; each family keeps one row even if that is higher.
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
    """Return the variants of a map with their paths; none for a map without columns."""
    if not shown.columns:
        return []
    narrow = len(shown.cells) <= FEW
    kept = [one for one in VARIANTS if narrow or "narrow" not in one.name]
    return [(one, FIGURES / f"{one.name}.svg") for one in kept]


def map_files(shown: LanguageMap) -> dict[Path, str]:
    """Return every file of a map, including those of the README, by its path below the root."""
    if not shown.columns:
        return {}
    files = {path: render(shown, one.theme, one.frame) for one, path in variants(shown)}
    for one in README_VARIANTS:
        svg = render_compact(shown, one.theme, one.frame, README_HEIGHTS[one.frame])
        files[FIGURES / f"{one.name}.svg"] = svg
    return files


def map_fields(shown: LanguageMap) -> Mapping[str, object]:
    """Return the fields of the template `map.md.j2`."""
    return {
        "sentences": sentences(shown),
        "variants": variants(shown),
        "map_title": TITLE,
    }
