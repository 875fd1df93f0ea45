"""Accuracy against the length of the test strings: a panel per task, all models.

Legend: L windows of lengths.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from formalbench.analysis.board import Board, Row
from formalbench.analysis.curves import curve_of
from formalbench.analysis.figures import GREY
from formalbench.analysis.results import Result, TaskFacts, telling_cells
from formalbench.analysis.statistics import Draws
from formalbench.analysis.text import percent, ranks

from formalbench_leaderboard.renderers.marks import Mark, label, mark_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_POINTS = 46
"""Of a line, at most; of more lengths, neighbours share one."""

_PANEL = (3.5, 2.5)
_LEGEND_ROW = 0.23


@dataclass(frozen=True, slots=True)
class MeanLine:
    """How a model did at each length; shares in percent, (L,) each."""

    length: Draws
    mean: Draws
    low: Draws
    high: Draws


def panels(board: Board) -> list[TaskFacts]:
    """Return the tasks shown by accuracy, of several lengths, on which a model has a line."""
    return [
        facts
        for facts in board.facts
        if facts.cells > 1 and facts.measure.accuracy and lines(board, facts)
    ]


def lines(board: Board, facts: TaskFacts) -> dict[str, MeanLine]:
    """Return the line of each model that has one on a task, in the order of the board."""
    results = ((row.model, row.on(facts.title)) for row in board.rows)
    found = {model: line(result, facts) for model, result in results if result is not None}
    return {model: one for model, one in found.items() if one is not None}


def line(result: Result, facts: TaskFacts) -> MeanLine | None:
    """Return how a model did; None if none that learned its training lengths finished.

    A run that did not finish is at chance everywhere, as in the score. Lengths at which chance is
    always right tell nothing, and are left out.
    """
    tested = telling_cells(result, facts) if result.reaches else []
    if not tested:
        return None
    starts = np.unique(np.linspace(0, len(tested[0].length), _POINTS + 1).astype(int)[:-1])
    curve = curve_of(tested, starts)
    mean_L = curve.shares.mean(axis=0)
    return MeanLine(curve.length, 100 * mean_L, 100 * curve.low, 100 * curve.high)


def draw(board: Board) -> Figure:
    """Draw the figure."""
    tasks = [(facts, lines(board, facts)) for facts in panels(board)]
    figure, every, bottom = laid_out(len(tasks), len(board.rows), sharey=True)
    across = columns_of(len(tasks))
    for axes, (facts, found) in zip(every, tasks, strict=True):
        _panel(axes, facts, board.rows, found)
    every[0].set_ylim(_bottom(tasks), 103)
    for place, axes in enumerate(every):
        if place % across == 0:
            axes.set_ylabel("accuracy (%)")
        if place + across >= len(tasks):
            axes.set_xlabel("test length")
    legend(bottom, board.rows, across)
    return figure


def columns_of(panels: int) -> int:
    """Return how many panels stand beside each other."""
    return min(panels, 4 if panels > 9 else 3)


def laid_out(panels: int, models: int, *, sharey: bool) -> tuple[Figure, list[Axes], object]:
    """Return a figure, its panels, and the part below them for the legend.

    Args:
        panels: how many.
        models: how many the legend names.
        sharey: whether the panels have one axis of values.
    """
    from matplotlib.figure import Figure

    across = columns_of(panels)
    down = -(-panels // across)
    room = (-(-models // _columns(across)) + 1.5) * _LEGEND_ROW
    height = down * _PANEL[1] + room
    figure = Figure(figsize=(across * _PANEL[0], height), layout="constrained")
    top, bottom = figure.subfigures(
        2, 1, squeeze=False, height_ratios=[down * _PANEL[1], room]
    ).ravel()
    every = top.subplots(down, across, squeeze=False, sharey=sharey).ravel()
    for axes in every[panels:]:
        axes.set_visible(False)
    return figure, list(every[:panels]), bottom


def _bottom(tasks: Sequence[tuple[TaskFacts, Mapping[str, MeanLine]]]) -> float:
    """Return where the axis begins: a little below every line."""
    least = min(100 * min(facts.chance_by_cell) for facts, _ in tasks)
    least = min([least, *(float(one.mean.min()) for _, found in tasks for one in found.values())])
    return max(-3.0, 10 * math.floor((least - 5) / 10))


def _columns(across: int) -> int:
    return max(1, min(3, across))


def _panel(
    axes: Axes, facts: TaskFacts, rows: Sequence[Row], found: Mapping[str, MeanLine]
) -> None:
    axes.set_title(label(facts.title), parse_math=False)
    _chance(axes, facts)
    count = len(rows)
    for place, row in enumerate(rows):
        if row.model in found:  # the better ones lie on top
            plot(axes, found[row.model], row.model, place, above=3 + count - place)
    axes.margins(x=0.02)


def plot(axes: Axes, found: MeanLine, model: str, place: int, above: int) -> None:
    """Draw the line of one model, its markers apart from those of the others.

    Args:
        axes: of the panel.
        found: what it is.
        model: its name, by which it looks.
        place: of the model among the others.
        above: which lines it lies on.
    """
    every, mark = max(1, len(found.length) // 5), mark_of(model)
    marked = slice(place % every, None, every)
    axes.vlines(
        found.length[marked],
        found.low[marked],
        found.high[marked],
        color=mark.colour,
        linewidth=1.0,
        alpha=0.45,
        zorder=2,
    )
    look = _look(mark, size=4.5)
    axes.plot(
        found.length, found.mean, **look, markevery=marked, zorder=above, label=f"model {model}"
    )


def _look(mark: Mark, size: float) -> dict[str, Any]:
    """Return how a line looks, and the markers on it."""
    return {
        "color": mark.colour,
        "linestyle": mark.line,
        "linewidth": 1.5,
        "marker": mark.marker,
        "markersize": size,
        "markeredgecolor": "white",
        "markeredgewidth": 0.5,
    }


def _chance(axes: Axes, facts: TaskFacts) -> None:
    """Draw the chance level: a line across, if it is the same at every length that tells."""
    known = facts.telling
    levels = {chance for _, chance in known} or {1.0}
    look: dict[str, Any] = {"color": GREY, "linestyle": ":", "linewidth": 1.2, "zorder": 1}
    if len(levels) == 1:
        axes.axhline(100 * levels.pop(), **look)
    else:
        axes.plot([length for length, _ in known], [100 * chance for _, chance in known], **look)


def legend(
    figure: object,
    rows: Sequence[Row],
    across: int,
    *,
    scores: bool = True,
) -> None:
    """Name the models below the panels.

    Args:
        figure: the part for it.
        rows: the models.
        across: panels beside each other.
        scores: whether rank and score stand beside the names.
    """
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], **_look(mark_of(row.model), size=5.5)) for row in rows]
    names = [_told(row) if scores else label(row.model) for row in rows]
    found = figure.legend(  # type: ignore[attr-defined]
        handles,
        names,
        loc="upper center",
        ncols=_columns(across),
        handlelength=3.2,
        columnspacing=2.4,
    )
    title = "rank, model, score" if scores else "model"
    found.set_title(title, prop={"size": 8.5, "weight": "bold"})
    for text in found.get_texts():
        text.set_parse_math(False)


def _told(row: Row) -> str:
    score = "" if row.score is None else f"   {percent(row.score)}"
    return f"{ranks(row.rank_low, row.rank_high)}   {label(row.model)}{score}"
