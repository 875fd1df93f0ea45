"""Figures: panels of lines and points over one legend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from formalbench.documents.charts import GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Limits = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class Series:
    """A line or points of a figure.

    Attributes:
        x, y: where it goes.
        color: of all of it.
        label: in the legend; empty for none.
        style: as Matplotlib writes it: ``-``, ``--``, ``o-``, ``.``.
        width: of the line.
        alpha: how opaque it is.
        hollow: whether points are rings.
        size: of points.
    """

    x: Sequence[float]
    y: Sequence[float]
    color: str
    label: str = ""
    style: str = "-"
    width: float = 1.9
    alpha: float = 1.0
    hollow: bool = False
    size: float = 5.0


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes.

    Attributes:
        lines: what is drawn, the last on top.
        title, x, y: what stands above it, below it and beside it.
        level: a height to mark, such as chance.
        xlim, ylim: the ends of the axes.
        log: which axes are logarithmic: ``x``, ``y`` or both.
        xticks, yticks: texts by place, instead of numbers.
        equal: whether both axes have one scale.
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


def draw(grid: Sequence[Sequence[Panel]], *, share: bool = True) -> Figure:
    """Draw panels row by row, and one legend below them.

    Args:
        grid: rows of panels, all of one length.
        share: whether a row shares its vertical axis, and a column its horizontal one.
    """
    from matplotlib.figure import Figure

    columns = max(map(len, grid))
    size = (1.2 + 3.9 * columns, 1.3 + 2.4 * len(grid))
    figure = Figure(figsize=size, layout="constrained")
    places = figure.subplots(
        len(grid),
        columns,
        squeeze=False,
        sharex="col" if share else False,
        sharey="row" if share else False,
    )
    for row, panels in zip(places, grid, strict=True):
        for axes, panel in zip(row, panels, strict=True):
            _draw(axes, panel)
            if share:
                axes.label_outer()
    shown = {}
    for axes in places.flat:
        for line, name in zip(*axes.get_legend_handles_labels(), strict=True):
            shown[name] = line
    if shown:
        figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=2 * columns)
    return figure


def _draw(axes: Axes, panel: Panel) -> None:
    if panel.level is not None:
        axes.axhline(panel.level, color=GREY, linewidth=0.8, linestyle=(0, (3, 2)))
    for line in panel.lines:
        axes.plot(
            line.x,
            line.y,
            line.style,
            color=line.color,
            label=line.label or "_",
            linewidth=line.width,
            alpha=line.alpha,
            markersize=line.size,
            markerfacecolor="none" if line.hollow else line.color,
        )
    axes.set(title=panel.title, xlabel=panel.x, ylabel=panel.y)
    # Limits after the lines: to set one end stops the search for the other.
    if "x" in panel.log:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    if "y" in panel.log:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    if panel.xticks:
        axes.set_xticks(list(panel.xticks), list(panel.xticks.values()), minor=False)
        axes.set_xticks([], minor=True)
    if panel.yticks:
        axes.set_yticks(list(panel.yticks), list(panel.yticks.values()))
    if panel.xlim:
        axes.set_xlim(*panel.xlim)
    if panel.ylim:
        axes.set_ylim(*panel.ylim)
    if panel.equal:
        axes.set_aspect("equal", adjustable="datalim")
