"""Figures: panels of lines and points with one legend, drawn by Altair (Vega-Lite).

The same data give the same bytes, since Vega measures texts with its bundled font. A figure follows
the reader's light or dark theme.
"""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

from formalbench.documents.charts import GREY, INK, on_dark

if TYPE_CHECKING:
    import altair

Kind = Literal["svg", "png"]

Limits = tuple[float | None, float | None]

MARKERS = {
    "o": "circle",
    ".": "circle",
    "s": "square",
    "D": "diamond",
    "^": "triangle-up",
    "v": "triangle-down",
    "<": "triangle-left",
    ">": "triangle-right",
    "P": "cross",
    "_": "stroke",
    "x": "M-1,-1L1,1M1,-1L-1,1",
}
"""Vega's shape for each marker of `Series.style`."""

_OPEN = "x_"
"""Markers that are lines."""

_AXIS, _GRID, _TICKS, _PAPER = "#b8bec8", "#e6e9ee", "#5b6472", "#ffffff"

_DARK = {_PAPER: "#0d1117", INK: "#e2e6ee", _TICKS: "#a3adba", _GRID: "#252b35", _AXIS: "#4c5563"}
"""Replacements of these colours on a dark background; others are made lighter (`on_dark`)."""

FONT = "Liberation Sans, Arial, Helvetica, sans-serif"

_LETTER = 6.0
"""Approximate width of a letter in the legend, in pixels."""

_LINE = 30
"""Length of a line in the legend, in pixels."""


@dataclass(frozen=True, slots=True)
class Series:
    """A line, or points.

    Attributes:
        x, y: coordinates.
        color: colour of line and points.
        label: label in the legend; empty for none.
        style: a marker of `MARKERS`, a line (``-``, or ``--`` for a dashed one), or both: ``o-``.
        width: line width in pixels.
        alpha: opacity, from 0 to 1.
        hollow: whether points are rings.
        size: diameter of points in pixels.
        bars: vertical bars: x coordinates, lower ends and upper ends.
        band: a shaded band around the line: lower and upper ends, one of each per x coordinate.
        every: number of points per marker, and index of the first point with a marker.
    """

    x: Sequence[float]
    y: Sequence[float]
    color: str
    label: str = ""
    style: str = "-"
    width: float = 1.9
    alpha: float = 1.0
    hollow: bool = False
    size: float = 6.0
    bars: tuple[Sequence[float], Sequence[float], Sequence[float]] = ((), (), ())
    band: tuple[Sequence[float], Sequence[float]] = ((), ())
    every: tuple[int, int] = (1, 0)

    @property
    def marker(self) -> str:
        """The marker; empty for none."""
        return self.style.strip("-")

    @property
    def dash(self) -> Sequence[int] | None:
        """Lengths of the line's dashes and gaps, empty for a solid line; None for no line."""
        if not self.style.endswith("-"):
            return None
        return (5, 3) if self.style.endswith("--") else ()


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes.

    Attributes:
        lines: the series, the last on top.
        title, x, y: the title and the labels of the axes.
        level: a y value to mark, such as chance.
        xlim, ylim: the limits of the axes.
        log: the logarithmic axes: ``x``, ``y`` or both.
        xticks, yticks: tick labels by coordinate, instead of numbers.
        equal: whether both axes have the same scale.
    """

    lines: Sequence[Series]
    title: str = ""
    x: str = ""
    y: str = ""
    level: float | None = None
    xlim: Limits | None = None
    ylim: Limits | None = None
    log: str = ""
    xticks: Mapping[float, str] = field(default_factory=dict)
    yticks: Mapping[float, str] = field(default_factory=dict)
    equal: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """Rows of panels, and one legend below them.

    Attributes:
        grid: rows of panels.
        share: whether a row shares its vertical axis, and a column its horizontal one.
        size: width and height of a panel in pixels.
        legend: title of the legend.
    """

    grid: Sequence[Sequence[Panel]]
    share: bool = True
    size: tuple[int, int] = (300, 175)
    legend: str = ""

    @property
    def panels(self) -> list[Panel]:
        """All panels, row by row."""
        return [panel for row in self.grid for panel in row]


def chart(figure: Figure) -> altair.VConcatChart:
    """Return a figure as an Altair chart."""
    import altair as alt

    grid, size, share = figure.grid, figure.size, figure.share
    columns = max(map(len, grid))
    ends_x = [[_ends(panel, "x", size) for panel in row] for row in grid]
    ends_y = [[_ends(panel, "y", size) for panel in row] for row in grid]
    if share:
        ends_y = [[_hull(row)] * len(row) for row in ends_y]
        down = [_hull([row[at] for row in ends_x if at < len(row)]) for at in range(columns)]
        ends_x = [down[: len(row)] for row in ends_x]
    rows = []
    for place, panels in enumerate(grid):
        charts = []
        for at, panel in enumerate(panels):
            lowest = not share or place + 1 == len(grid) or at >= len(grid[place + 1])
            first = not share or at == 0
            charts.append(
                _panel(panel, size, (ends_x[place][at], lowest), (ends_y[place][at], first))
            )
        rows.append(alt.hconcat(*charts, spacing=18))
    lines = [line for panel in figure.panels for line in panel.lines if line.label]
    series = {line.label: line for line in reversed(lines)}  # the first series of each label
    series = dict(reversed(series.items()))
    parts = [*rows, _legend(series, columns * (size[0] + 18), figure.legend)] if series else rows
    whole: altair.VConcatChart = (
        alt.vconcat(*parts, spacing=16)
        .configure(background=_PAPER, aria=False, font=FONT, padding=8)
        .configure_view(stroke=None)
        .configure_title(anchor="start", color=INK, fontSize=13, offset=7)
        .configure_axis(
            domainColor=_AXIS,
            gridColor=_GRID,
            tickColor=_AXIS,
            labelColor=_TICKS,
            titleColor=INK,
            titleFontWeight="normal",
            labelFontSize=11,
            titleFontSize=12,
            titlePadding=7,
        )
    )
    return whole


def picture(figure: Figure, kind: Kind) -> bytes:
    """Return the contents of a figure's file; the same bytes for the same library versions."""
    import altair as alt

    with alt.data_transformers.enable("default", max_rows=None, consolidate_datasets=False):
        if kind == "png":
            target = io.BytesIO()
            chart(figure).save(target, format="png", scale_factor=2)
            return target.getvalue()
        text = io.StringIO()
        chart(figure).save(text, format="svg")
    return _add_dark_theme(_renumber_clips(_round_attributes(text.getvalue()))).encode()


def _round_attributes(svg: str) -> str:
    """Round the numbers in attributes of an SVG to two decimals; texts are unchanged."""

    def round_number(number: re.Match[str]) -> str:
        return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")

    return re.sub(
        r' (?:d|transform|[xy][12]?|width|height|stroke-width|opacity)="[^"]*"',
        lambda attribute: re.sub(r"-?\d+\.\d{3,}(?:e-?\d+)?", round_number, attribute[0]),
        svg,
    )


def _renumber_clips(svg: str) -> str:
    """Number the clips of an SVG from 0, since Vega continues its count between figures."""
    names: dict[str, str] = {}
    return re.sub(
        r'(?:(?<= id=")|(?<="url\(#))clip\d+(?=\)?")',
        lambda name: names.setdefault(name[0], f"clip{len(names)}"),
        svg,
    )


def _add_dark_theme(svg: str) -> str:
    """Add colours for readers with a dark theme to an SVG."""
    colors = sorted(set(re.findall(r'(fill|stroke)="(#[0-9a-fA-F]{6})"', svg)))
    rules = [
        f'[{attribute}="{color}"]{{{attribute}:{_DARK.get(color.lower()) or on_dark(color)}}}'
        for attribute, color in colors
    ]
    style = f"<style>@media (prefers-color-scheme:dark){{{''.join(rules)}}}</style>"
    head, end, rest = svg.partition(">")
    return head + end + style + rest


def _panel(
    panel: Panel,
    size: tuple[int, int],
    across: tuple[tuple[float, float], bool],
    up: tuple[tuple[float, float], bool],
) -> altair.LayerChart | altair.FacetChart:
    """Draw a panel; `across` and `up` have each axis's limits, and whether it has labels."""
    import altair as alt

    x = alt.X("x:Q", sort=None, scale=_scale("x" in panel.log, across[0]),
              axis=_axis(panel.x, panel.xticks, across, "x" in panel.log))  # fmt: skip
    y = alt.Y("y:Q", scale=_scale("y" in panel.log, up[0]),
              axis=_axis(panel.y, panel.yticks, up, "y" in panel.log))  # fmt: skip
    layers: list[Any] = []
    if panel.level is not None:
        ends = [{"x": end, "y": panel.level} for end in across[0]]
        layers.append(_chart(ends).mark_line(color=GREY, strokeWidth=1, strokeDash=[3, 2]))
    for series in panel.lines:
        layers += _series(series)
    layers = [layer.encode(x=x, y=y) for layer in layers or [_chart([])]]
    return alt.layer(*layers).properties(width=size[0], height=size[1], title=panel.title)


def _series(series: Series) -> Iterable[Any]:
    bars = [{"x": x, "y": low, "top": high} for x, low, high in zip(*series.bars, strict=True)]
    if bars:
        yield _chart(bars).mark_rule(color=series.color, opacity=0.45).encode(y2="top:Q")
    ends = zip(series.x, *series.band, strict=True) if series.band[0] else ()
    band = [{"x": float(x), "y": low, "top": high} for x, low, high in ends]
    if band:
        yield _chart(band).mark_area(color=series.color, opacity=0.2, clip=True).encode(y2="top:Q")
    places = [
        {"x": float(x), "y": float(y) if math.isfinite(y) else None}
        for x, y in zip(series.x, series.y, strict=True)
    ]
    if series.dash is not None:
        yield _chart(places).mark_line(
            color=series.color,
            strokeWidth=series.width,
            strokeDash=list(series.dash) or [1, 0],
            opacity=series.alpha,
            clip=True,
        )
    if series.marker:
        step, first = series.every
        yield _chart(places[first::step]).mark_point(**_point(series))


def _point(series: Series) -> dict[str, Any]:
    """Return the appearance of a series's points."""
    size = series.size / 2 if series.marker == "." else series.size
    solid = not series.hollow and series.marker not in _OPEN
    return {
        "shape": MARKERS[series.marker],
        "size": size**2,
        "opacity": series.alpha,
        "filled": solid,
        "stroke": _PAPER if solid else series.color,
        "strokeWidth": 0.5 if solid else 1.3,
        "fill": series.color if solid else None,
        "clip": True,
    }


def _chart(values: Sequence[Mapping[str, Any]]) -> altair.Chart:
    import altair as alt

    return alt.Chart(alt.InlineData(values=list(values)))


def _scale(log: bool, ends: tuple[float, float]) -> altair.Scale:
    import altair as alt

    kind: Literal["log", "linear"] = "log" if log else "linear"
    return alt.Scale(type=kind, domain=list(ends), nice=False, zero=False)


def _axis(
    title: str, ticks: Mapping[float, str], place: tuple[tuple[float, float], bool], log: bool
) -> altair.Axis:
    import altair as alt

    ends, visible = place
    options: dict[str, Any] = {
        "title": (visible and title) or None,
        "labels": visible,
        "ticks": visible,
        "labelLimit": 240,
        "labelSeparation": 8,
    }
    if ticks:
        # Texts are JSON strings, so that a record cannot inject code into the expression.
        values, texts = [float(at) for at in ticks], json.dumps(list(ticks.values()))
        label = f"{texts}[indexof({json.dumps(values)}, datum.value)]"
        return alt.Axis(values=values, labelExpr=label, **options)
    if log:
        return alt.Axis(values=_round_numbers(*ends), format=",~r", **options)
    return alt.Axis(tickCount=5, format=",~r", **options)


def _round_numbers(low: float, high: float) -> list[float]:
    """Return a few round numbers between the limits of a logarithmic axis.

    If there are fewer than three, return evenly spaced numbers.
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    numbers = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
    numbers = [value for value in numbers if low <= value <= high]
    if len(numbers) > 7:
        return [value for value in numbers if f"{value:e}".startswith("1.0")]
    if len(numbers) > 2:
        return numbers
    step = 10.0 ** math.floor(math.log10(high - low))
    step = next(part * step for part in (1.0, 0.5, 0.2) if (high - low) / (part * step) >= 3)
    return [at * step for at in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _ends(panel: Panel, axis: Literal["x", "y"], size: tuple[int, int]) -> tuple[float, float]:
    """Return the limits of an axis: the panel's, or the range of the lines with a margin."""
    at = "xy".index(axis)
    limits = (panel.xlim, panel.ylim)[at] or (None, None)
    ends = _around(panel, at)
    if panel.equal:
        other = _around(panel, 1 - at)
        unit = max((ends[1] - ends[0]) / size[at], (other[1] - other[0]) / size[1 - at])
        middle, half = (ends[0] + ends[1]) / 2, unit * size[at] / 2
        ends = middle - half, middle + half
    low, high = (end if limit is None else limit for end, limit in zip(ends, limits, strict=True))
    return low, high


def _around(panel: Panel, axis: int) -> tuple[float, float]:
    """Return the limits of an axis (0 for x, 1 for y) that show everything, with a margin."""
    values: list[float] = [float(at) for at in (panel.xticks, panel.yticks)[axis]]
    for line in panel.lines:
        values += (line.x, line.y)[axis]
        values += line.bars[0] if axis == 0 else chain(*line.bars[1:], *line.band)
    if axis == 1 and panel.level is not None:
        values.append(panel.level)
    values = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    low, high = min(values), max(values)
    if "xy"[axis] in panel.log:
        margin = max(high / low, 1.1) ** 0.05
        return low / margin, high * margin
    margin = 0.04 * (high - low) or 0.5
    return low - margin, high + margin


def _hull(ends: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return min(low for low, _ in ends), max(high for _, high in ends)


def _legend(
    series: Mapping[str, Series], width: int, title: str
) -> altair.LayerChart | altair.FacetChart:
    """Draw a line and a label for each series, in as many columns as fit."""
    import altair as alt

    column = _LINE + 26 + round(_LETTER * max(map(len, series)))
    columns = max(1, min(width // column, len(series)))
    down = -(-len(series) // columns)
    top = 1 if title else 0
    layers: list[Any] = []
    texts = [{"x": 0, "y": 0, "text": title}] if title else []
    for place, (name, entry) in enumerate(series.items()):
        left, up = column * (place // down), top + place % down
        line = replace(
            entry,
            x=[left, left + _LINE / 2, left + _LINE],
            y=[up] * 3,
            every=(3, 1),
            bars=((), (), ()),
            band=((), ()),
        )
        if entry.dash is None:
            line = replace(line, x=[left + _LINE / 2], y=[up], every=(1, 0))
        layers += _series(line)
        texts.append({"x": left + _LINE + 8, "y": up, "text": name})
    words = _chart(texts[top:]).mark_text(align="left", baseline="middle", color=INK, fontSize=11)
    layers.append(words.encode(text="text:N"))
    if title:
        head = _chart(texts[:1]).mark_text(
            align="left", baseline="middle", color=INK, fontSize=11, fontWeight="bold"
        )
        layers.append(head.encode(text="text:N"))
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, width], nice=False))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[down + top - 0.5, -0.5], nice=False))
    layers = [layer.encode(x=x, y=y) for layer in layers]
    return alt.layer(*layers).properties(width=width, height=17 * (down + top))
