"""Texts over their length, or part by part: a panel per task, on the axis of its measure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from formalbench.analysis.board import Board
from formalbench.analysis.measures import ShownBy
from formalbench.analysis.results import TaskFacts
from formalbench.analysis.text_lines import TextLine, text_line

from formalbench_leaderboard.renderers.length_figure import (
    MeanLine,
    columns_of,
    laid_out,
    legend,
    plot,
)
from formalbench_leaderboard.renderers.marks import label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
    return [measure for measure in found if panels(board, measure)]


def panels(board: Board, measure: ShownBy) -> list[tuple[TaskFacts, Lines]]:
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


def draw(board: Board, measure: ShownBy) -> Figure:
    """Draw the figure of a measure."""
    tasks = panels(board, measure)
    shown = [row for row in board.rows if any(row.model in lines for _, lines in tasks)]
    figure, every, below = laid_out(len(tasks), len(shown), sharey=False)
    across = columns_of(len(tasks))
    for place, (axes, (facts, lines)) in enumerate(zip(every, tasks, strict=True)):
        _panel(axes, facts, lines)
        if place % across == 0:
            axes.set_ylabel(axis_label(measure))
    legend(below, shown, across, scores=False)
    return figure


def axis_label(measure: ShownBy) -> str:
    """Return what an axis of values says: the measure, its unit and its direction."""
    unit = "%" if measure.share else "log scale"
    return f"{measure.heading} ({unit})\n{'less' if measure.less else 'more'} is better"


def _panel(axes: Axes, facts: TaskFacts, lines: Lines) -> None:
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
