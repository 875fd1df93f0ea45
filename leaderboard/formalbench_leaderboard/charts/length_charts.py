"""Accuracy and text measures against length.

Legend: L windows of lengths.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from formalbench.documents.charts import GREY, colour_of
from formalbench.documents.text import harmless, percent, ranks
from formalbench.statistics.board import Board, Row
from formalbench.statistics.intervals import Draws
from formalbench.statistics.length_profile import TextLine, curve_of, text_line
from formalbench.statistics.result import Result, ShownBy, TaskFacts, telling_cells

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


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


_MOST = 1e4
"""Times the least perplexity of a panel: what is worse leaves it, and does not squash the rest."""


_PART = 14
"""Letters of the name of a part; the rest is cut off."""


_MOST_PARTS = 8
"""Or lengths, whose names stand below a panel."""


_LETTERS = 30
"""Of these names that fit beside each other."""


Lines = dict[str, TextLine]


def measures(board: Board) -> list[ShownBy]:
    """Return the measures of texts that there is a figure of."""
    found = dict.fromkeys(facts.measure for facts in board.facts if not facts.measure.accuracy)
    return [measure for measure in found if text_panels(board, measure)]


def text_panels(board: Board, measure: ShownBy) -> list[tuple[TaskFacts, Lines]]:
    """Return the tasks that are shown by a measure, each with the lines of models.

    A task whose test has one place has none.
    """
    found = []
    for facts in board.facts:
        if facts.measure == measure:
            results = ((row.model, row.on(facts.title)) for row in board.rows)
            lines = {name: text_line(one) for name, one in results if one is not None}
            known = {name: line for name, line in lines.items() if line is not None}
            if any(len(line.mean) > 1 for line in known.values()):
                found.append((facts, known))
    return found


def draw_text(board: Board, measure: ShownBy) -> Figure:
    """Draw the figure of a measure."""
    tasks = text_panels(board, measure)
    shown = [row for row in board.rows if any(row.model in lines for _, lines in tasks)]
    figure, every, below = laid_out(len(tasks), len(shown), sharey=False)
    across = columns_of(len(tasks))
    for place, (axes, (facts, lines)) in enumerate(zip(every, tasks, strict=True)):
        _text_panel(axes, facts, lines)
        if place % across == 0:
            axes.set_ylabel(axis_label(measure))
    legend(below, shown, across, scores=False)
    return figure


def axis_label(measure: ShownBy) -> str:
    """Return what an axis of values says: the measure, its unit and its direction."""
    unit = "%" if measure.share else "log scale"
    return f"{measure.heading} ({unit})\n{'less' if measure.less else 'more'} is better"


def _text_panel(axes: Axes, facts: TaskFacts, lines: Lines) -> None:
    axes.set_title(label(facts.title), parse_math=False)
    parts = list(dict.fromkeys(name for line in lines.values() for name in line.names))
    share = facts.measure.share
    if not share:
        _log_axis(axes, list(lines.values()))
    top = np.inf if share else 10 * axes.get_ylim()[1]  # so far a line that leaves the panel goes
    for place, (model, line) in enumerate(lines.items()):
        at = [parts.index(name) for name in line.names] or line.length
        values = ((100.0 if share else 1.0) * one for one in (line.mean, line.low, line.high))
        found = MeanLine(np.array(at, dtype=float), *(one.clip(max=top) for one in values))
        plot(axes, found, model, place, above=3 + len(lines) - place)
    if parts:
        shown = range(0, len(parts), -(-len(parts) // _MOST_PARTS))
        names = [_short(parts[at]) for at in shown]
        axes.set_xticks(shown, names, rotation=20 if sum(map(len, names)) > _LETTERS else 0)
        axes.set_xlim(-0.3, len(parts) - 0.7)
        for text in axes.get_xticklabels():
            text.set_parse_math(False)
    else:
        axes.set_xlabel("test length")
        axes.margins(x=0.02)
        lengths = sorted({length for line in lines.values() for length in line.length})
        if grows_by_factors(lengths):
            _log_lengths(axes, lengths)
    if share:
        axes.set_ylim(bottom=0)


def grows_by_factors(lengths: Sequence[int]) -> bool:
    """Say whether lengths are like 32, 64, 128: they then stand as far apart as each other."""
    return len(lengths) > 2 and all(0 < 1.5 * a <= b for a, b in pairwise(lengths))


def _log_lengths(axes: Axes, lengths: Sequence[int]) -> None:
    from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(lengths[:: -(-len(lengths) // _MOST_PARTS)]))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.xaxis.set_minor_locator(NullLocator())


def _short(part: str) -> str:
    return part if len(part) <= _PART else f"{part[: _PART - 1]}…"


def _log_axis(axes: Axes, lines: Sequence[TextLine]) -> None:
    from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

    least = min(float(line.low.min()) for line in lines)
    most = min(max(float(line.high.max()) for line in lines), _MOST * least)
    axes.set_yscale("log")
    low, high = (least / 1.05, most * 1.05) if most < 2 * least else (least / 1.2, most * 1.2)
    axes.set_ylim(low, high)
    axes.yaxis.set_major_locator(FixedLocator(ticks(low, high)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.4g}"))
    axes.yaxis.set_minor_locator(NullLocator())


def ticks(low: float, high: float) -> list[float]:
    """Return round numbers between two, a few: of a logarithmic axis."""
    from matplotlib.ticker import MaxNLocator

    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    round_ones = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
    found = [value for value in round_ones if low <= value <= high]
    if len(found) > 2:
        return found if len(found) <= 9 else [value for value in found if _is_power(value)]
    return [float(value) for value in MaxNLocator(4).tick_values(low, high) if low <= value <= high]


def _is_power(value: float) -> bool:
    return f"{value:e}".startswith("1.0")
