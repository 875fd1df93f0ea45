"""Accuracy, and measures of text models, against length.

Legend: L windows of lengths.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise

import numpy as np
from formalbench.documents.charts import GREY, colour_of
from formalbench.documents.figures import Figure, Panel, Series
from formalbench.documents.text import percent, ranks, shortened
from formalbench.statistics.board import Board, Row
from formalbench.statistics.intervals import Draws
from formalbench.statistics.length_profile import TextLine, curve_of, text_line
from formalbench.statistics.result import Result, TaskFacts, TaskMeasure, informative_cells

MOST_LINES = 8
"""Maximum number of models in a panel."""

_MARKERS = "osD^v<>P"

_POINTS = 46
"""Maximum number of points of a line; with more lengths, neighbouring ones share a point."""

_PANEL = (245, 150)


def style_of(model: str) -> str:
    """Return the marker and the line style of a model; they are the same in every figure.

    The line of a model with options set may be dashed.
    """
    marker, line = sha256(model.encode()).digest()[3:5]
    dashed = "[" in model and line % 2
    return _MARKERS[marker % len(_MARKERS)] + ("--" if dashed else "-")


@dataclass(frozen=True, slots=True)
class MeanLine:
    """A model's accuracy at each length, in percent; arrays of shape (L,)."""

    length: Draws
    mean: Draws
    low: Draws
    high: Draws


def panels(board: Board) -> list[TaskFacts]:
    """Return the tasks shown by accuracy, with several lengths, on which a model has a line."""
    return [
        facts
        for facts in board.facts
        if facts.cells > 1 and facts.measure.accuracy and lines(board, facts)
    ]


def lines(board: Board, facts: TaskFacts) -> dict[str, MeanLine]:
    """Return the lines of the models that have one on a task, in the order of the board."""
    results = ((row.model, row.on(facts.title)) for row in board.rows)
    by_model = {model: line(result, facts) for model, result in results if result is not None}
    return {model: one for model, one in by_model.items() if one is not None}


def line(result: Result, facts: TaskFacts) -> MeanLine | None:
    """Return a model's line; None if no run that learned its training lengths finished.

    A run that did not finish counts as chance level at every length, as in the score. Lengths at
    which chance is always right are left out.
    """
    cells = informative_cells(result, facts) if result.reaches else []
    if not cells:
        return None
    starts = np.unique(np.linspace(0, len(cells[0].length), _POINTS + 1).astype(int)[:-1])
    curve = curve_of(cells, starts)
    mean_L = curve.shares.mean(axis=0)
    return MeanLine(curve.length, 100 * mean_L, 100 * curve.low, 100 * curve.high)


def length_chart(board: Board) -> Figure:
    """Draw accuracy against length, a panel for each task."""
    tasks = [(facts, lines(board, facts)) for facts in panels(board)]
    rows = _shown([row for row in board.rows if any(row.model in curves for _, curves in tasks)])
    ends = _bottom(tasks), 103.0
    columns = _columns(len(tasks))
    drawn = [
        Panel(
            [
                *(_legend(rows, scores=True) if not place else ()),
                *_chance(facts),
                *_series(curves, rows),
            ],
            shortened(facts.title),
            "test length" if place + columns >= len(tasks) else "",
            "" if place % columns else "accuracy (%)",
            ylim=ends,
        )
        for place, (facts, curves) in enumerate(tasks)
    ]
    scored = any(row.score is not None for row in rows)
    legend = "model (rank, score)" if scored else "model"
    return Figure(_grid(drawn), share=False, size=_PANEL, legend=legend)


def _shown(rows: Sequence[Row]) -> list[Row]:
    """Return the rows to draw, in the order of the board.

    Rows with a score go before others, and of each, the best of each family go before its rest.
    """
    best = {row.model.partition("[")[0]: row.model for row in reversed(rows)}.values()
    by_merit = sorted(rows, key=lambda row: (row.score is None, row.model not in best))
    chosen = by_merit[:MOST_LINES]
    return [row for row in rows if row in chosen]


def _columns(panels: int) -> int:
    """Return the number of panels in a row."""
    return min(panels, 4 if panels > 9 else 3)


def _grid(panels: Sequence[Panel]) -> list[Sequence[Panel]]:
    columns = _columns(len(panels))
    return [panels[at : at + columns] for at in range(0, len(panels), columns)]


def _bottom(tasks: Sequence[tuple[TaskFacts, Mapping[str, MeanLine]]]) -> float:
    """Return the lower end of the axis: a little below every line."""
    least = min(100 * min(facts.chance_by_cell) for facts, _ in tasks)
    least = min([least, *(float(one.mean.min()) for _, lines in tasks for one in lines.values())])
    return max(-3.0, 10 * math.floor((least - 5) / 10))


def _legend(rows: Sequence[Row], *, scores: bool) -> list[Series]:
    """Return a series without points for each model, for the legend, in the order of the board."""
    return [
        Series((), (), colour_of(row.model), _name(row) if scores else shortened(row.model),
               style_of(row.model))
        for row in rows
    ]  # fmt: skip


def _name(row: Row) -> str:
    """Return a model's name with its rank and score, if it has these."""
    if row.score is None:
        return shortened(row.model)
    return f"{shortened(row.model)} ({ranks(row.rank_low, row.rank_high)}, {percent(row.score)})"


def _series(lines: Mapping[str, MeanLine], rows: Sequence[Row]) -> list[Series]:
    """Return the lines of models with separate markers; the best is last and so drawn on top."""
    series = []
    for place, row in reversed([*enumerate(rows)]):
        if (one := lines.get(row.model)) is not None:
            step = max(1, len(one.length) // 5)
            at = slice(place % step, None, step)
            series.append(
                Series(
                    one.length.tolist(),
                    one.mean.tolist(),
                    colour_of(row.model),
                    style=style_of(row.model),
                    width=1.6,
                    bars=(one.length[at].tolist(), one.low[at].tolist(), one.high[at].tolist()),
                    every=(step, place % step),
                )
            )
    return series


def _chance(facts: TaskFacts) -> list[Series]:
    """Return the chance level at each length where it is below 1; if none, 1 at all lengths."""
    levels = facts.informative_lengths or [(length, 1.0) for length in facts.lengths]
    x, y = zip(*levels, strict=True)
    return [Series(x, [100 * chance for chance in y], GREY, style="--", width=1.0)]


_MOST = 1e4
"""The axis ends at this multiple of the panel's lowest perplexity; larger values are cut off."""

_PART = 14
"""Maximum number of characters of a part's name; longer names are cut off."""

_MOST_PARTS = 8
"""Maximum number of parts, or lengths, with their names below a panel."""

Lines = dict[str, TextLine]


def measures(board: Board) -> list[TaskMeasure]:
    """Return the measures of texts that have a figure."""
    candidates = dict.fromkeys(facts.measure for facts in board.facts if not facts.measure.accuracy)
    return [measure for measure in candidates if text_panels(board, measure)]


def text_panels(board: Board, measure: TaskMeasure) -> list[tuple[TaskFacts, Lines]]:
    """Return the tasks that are shown by a measure, each with the lines of models.

    A task whose test has only one length or part has none.
    """
    found = []
    for facts in board.facts:
        if facts.measure == measure:
            results = ((row.model, row.on(facts.title)) for row in board.rows)
            lines = {name: text_line(one) for name, one in results if one is not None}
            valid = {name: line for name, line in lines.items() if line is not None}
            if any(len(line.mean) > 1 for line in valid.values()):
                found.append((facts, valid))
    return found


def text_chart(board: Board, measure: TaskMeasure) -> Figure:
    """Draw a measure of texts against length, or for each part; there is a panel for each task."""
    tasks = text_panels(board, measure)
    rows = _shown([row for row in board.rows if any(row.model in lines for _, lines in tasks)])
    columns = _columns(len(tasks))
    drawn = [
        _text_panel(facts, lines, rows, first=not place, outer=not place % columns)
        for place, (facts, lines) in enumerate(tasks)
    ]
    return Figure(_grid(drawn), share=False, size=_PANEL, legend="model")


def axis_label(measure: TaskMeasure) -> str:
    """Return the title of an axis of values: the measure, its unit and its direction."""
    unit = "%" if measure.share else "log scale"
    return f"{measure.heading} ({unit}), {'less' if measure.less else 'more'} is better"


def _text_panel(
    facts: TaskFacts, lines: Lines, rows: Sequence[Row], *, first: bool, outer: bool
) -> Panel:
    share = facts.measure.share
    parts = list(dict.fromkeys(name for line in lines.values() for name in line.names))
    ends = (0.0, None) if share else _log_ends(list(lines.values()))
    factor, top = (100.0, np.inf) if share else (1.0, 10 * (ends[1] or 1.0))
    curves = {
        model: MeanLine(
            np.array([parts.index(name) for name in line.names] or line.length, dtype=float),
            *((factor * one).clip(max=top) for one in (line.mean, line.low, line.high)),
        )
        for model, line in lines.items()
    }
    lengths = sorted({length for line in lines.values() for length in line.length})
    factors = not parts and grows_by_factors(lengths)
    indices = range(0, len(parts), -(-len(parts) // _MOST_PARTS)) if parts else ()
    ticks: dict[float, str] = {at: shortened(parts[at], _PART) for at in indices}
    if factors:
        ticks = {n: f"{n:g}" for n in lengths[:: -(-len(lengths) // _MOST_PARTS)]}
    return Panel(
        [*(_legend(rows, scores=False) if first else ()), *_series(curves, rows)],
        shortened(facts.title),
        "" if parts else "test length",
        axis_label(facts.measure) if outer else "",
        xlim=(-0.3, len(parts) - 0.7) if parts else None,
        ylim=ends,
        log="x" * factors + "y" * (not share),
        xticks=ticks,
    )


def grows_by_factors(lengths: Sequence[float]) -> bool:
    """Whether lengths grow like 32, 64, 128, so that they are spaced evenly."""
    return len(lengths) > 2 and all(0 < 1.5 * a <= b for a, b in pairwise(lengths))


def _log_ends(lines: Sequence[TextLine]) -> tuple[float, float]:
    """Return the ends of a logarithmic axis of values."""
    least = min(float(line.low.min()) for line in lines)
    most = min(max(float(line.high.max()) for line in lines), _MOST * least)
    margin = 1.05 if most < 2 * least else 1.2
    return least / margin, most * margin
