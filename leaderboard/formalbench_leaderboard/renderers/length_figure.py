"""Accuracy against the length of the test strings: a panel per task, all models.

Legend: S seeds, L lengths.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from formalbench.analysis.board import Board, Row
from formalbench.analysis.figures import GREY
from formalbench.analysis.results import Result, TaskFacts
from formalbench.analysis.statistics import Draws, wilson_each
from formalbench.analysis.text import percent

from formalbench_leaderboard.renderers.marks import Mark, label, marks

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
    """Return the tasks whose test strings have several lengths."""
    return [facts for facts in board.facts if facts.cells > 1]


def line(result: Result, chance: float) -> MeanLine | None:
    """Return how a model did; None if no run of it finished.

    A run that did not finish is at chance everywhere, as in the score.
    """
    tested = [run.cells for run in result.runs if run.cells is not None]
    if not tested or len({cells.length for cells in tested}) > 1:
        return None
    starts = np.unique(np.linspace(0, len(tested[0].length), _POINTS + 1).astype(int)[:-1])
    length_L = np.array(tested[0].length, dtype=float)
    sizes = np.diff([*starts, len(length_L)])
    correct_SL = np.add.reduceat([cells.correct for cells in tested], starts, axis=1)
    strings_SL = np.add.reduceat([cells.strings for cells in tested], starts, axis=1)
    shares_SL = correct_SL / strings_SL
    low_SL, high_SL = wilson_each(correct_SL.ravel().tolist(), strings_SL.ravel().tolist())
    failed = len(result.runs) - len(tested)
    mean_L = (shares_SL.sum(axis=0) + failed * chance) / len(result.runs)
    low_L = low_SL.reshape(shares_SL.shape).min(axis=0)
    high_L = high_SL.reshape(shares_SL.shape).max(axis=0)
    if failed:
        low_L, high_L = np.minimum(low_L, chance), np.maximum(high_L, chance)
    middle_L = np.add.reduceat(length_L, starts) / sizes
    return MeanLine(middle_L, 100 * mean_L, 100 * low_L, 100 * high_L)


def draw(board: Board) -> Figure:
    """Draw the figure."""
    from matplotlib.figure import Figure

    tasks, looks = panels(board), marks(board.rows)
    across = min(len(tasks), 4 if len(tasks) > 9 else 3)
    down = -(-len(tasks) // across)
    legend_down = -(-len(board.rows) // _columns(across))
    height = down * _PANEL[1] + (legend_down + 1.5) * _LEGEND_ROW
    figure = Figure(figsize=(across * _PANEL[0], height), layout="constrained")
    top, bottom = figure.subfigures(
        2, 1, squeeze=False, height_ratios=[down * _PANEL[1], (legend_down + 1.5) * _LEGEND_ROW]
    ).ravel()
    every = top.subplots(down, across, squeeze=False, sharey=True).ravel()
    for axes, facts in zip(every, tasks, strict=False):
        _panel(axes, facts, board.rows, looks)
    for axes in every[len(tasks) :]:
        axes.set_visible(False)
    every[0].set_ylim(_bottom(tasks, board.rows), 103)
    for place, axes in enumerate(every[: len(tasks)]):
        if place % across == 0:
            axes.set_ylabel("accuracy (%)")
        if place + across >= len(tasks):
            axes.set_xlabel("test length")
    _legend(bottom, board.rows, looks, _columns(across))
    return figure


def _bottom(tasks: Sequence[TaskFacts], rows: Sequence[Row]) -> float:
    """Return where the axis begins: a little below every line."""
    least = min(100 * facts.chance_length for facts in tasks)
    for facts in tasks:
        results = (row.on(facts.title) for row in rows)
        lines = (line(result, facts.chance_length) for result in results if result)
        least = min([least, *(float(one.mean.min()) for one in lines if one)])
    return max(-3.0, 10 * math.floor((least - 5) / 10))


def _columns(across: int) -> int:
    return max(1, min(3, across))


def _panel(axes: Axes, facts: TaskFacts, rows: Sequence[Row], looks: dict[str, Mark]) -> None:
    axes.set_title(label(facts.title), parse_math=False)
    axes.axhline(100 * facts.chance_length, color=GREY, linestyle=":", linewidth=1.2, zorder=1)
    count = len(rows)
    for place, row in enumerate(rows):
        result, mark = row.on(facts.title), looks[row.model]
        found = line(result, facts.chance_length) if result else None
        if found is None:
            continue
        above = 3 + count - place  # the better ones lie on top
        every = max(1, len(found.length) // 5)
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
        axes.plot(
            found.length,
            found.mean,
            color=mark.colour,
            linestyle=mark.line,
            linewidth=1.5,
            marker=mark.marker,
            markersize=4.5,
            markeredgecolor="white",
            markeredgewidth=0.5,
            markevery=marked,
            zorder=above,
        )
    axes.margins(x=0.02)


def _legend(figure: object, rows: Sequence[Row], looks: dict[str, Mark], columns: int) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D(
            [],
            [],
            color=looks[row.model].colour,
            linestyle=looks[row.model].line,
            linewidth=1.5,
            marker=looks[row.model].marker,
            markersize=5.5,
            markeredgecolor="white",
            markeredgewidth=0.5,
        )
        for row in rows
    ]
    names = [
        f"{row.rank or '–'}   {label(row.model)}"
        + ("" if row.score is None else f"   {percent(row.score)}")
        for row in rows
    ]
    legend = figure.legend(  # type: ignore[attr-defined]
        handles, names, loc="upper center", ncols=columns, handlelength=3.2, columnspacing=2.4
    )
    legend.set_title("rank, model, score", prop={"size": 8.5, "weight": "bold"})
    for text in legend.get_texts():
        text.set_parse_math(False)
