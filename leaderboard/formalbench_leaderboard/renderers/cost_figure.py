"""Score against the cost of training: a point per model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from formalbench.analysis.board import Board, Row
from formalbench.analysis.cost import TRAINING_COST, training_seconds
from formalbench.analysis.figures import INK

from formalbench_leaderboard.renderers.marks import label, mark_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation
    from matplotlib.transforms import Bbox

_SIZE = (7.6, 4.9)
_TEXT = 8.5
_HEIGHTS = (0, *(sign * step for step in range(5, 120, 5) for sign in (1, -1)))
_OFFSETS = tuple((side, float(up)) for up in _HEIGHTS for side in (9.0, -9.0))
"""From a point to its name, in points of type, the nearest first."""
_FAR = 9
"""From here on a line leads from the name to the point."""


@dataclass(frozen=True, slots=True)
class CostPoint:
    """A model: what it costs (`training_seconds`), and its score in percent."""

    row: Row
    seconds: float
    score: float
    low: float
    high: float


def points(board: Board) -> list[CostPoint]:
    """Return the models that have a score and a cost, best first."""
    found = []
    for row in board.rows:
        seconds = training_seconds(row, board)
        if seconds and row.score is not None and row.low is not None and row.high is not None:
            found.append(CostPoint(row, seconds, 100 * row.score, 100 * row.low, 100 * row.high))
    return found


def draw(board: Board) -> Figure:
    """Draw the figure."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    every = points(board)
    figure = Figure(figsize=_SIZE, layout="constrained")
    axes = figure.subplots()
    for place, point in enumerate(every):
        mark = mark_of(point.row.model)
        axes.errorbar(
            point.seconds,
            point.score,
            yerr=[[point.score - point.low], [point.high - point.score]],
            color=mark.colour,
            marker=mark.marker,
            markersize=7.5,
            markeredgecolor="white",
            markeredgewidth=0.7,
            elinewidth=1.3,
            zorder=3 + len(every) - place,
            label=point.row.model,
        )
    axes.set_xscale("log")
    least, most = (pick(point.seconds for point in every) for pick in (min, max))
    axes.set_xlim(least / 1.5, most * 1.5 * (most / least) ** 0.3)
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_ylim(min(-3.0, *(point.low - 3 for point in every)), 104)
    axes.set_xlabel(f"{TRAINING_COST} (log scale; machines differ)")
    axes.set_ylabel("score (scaled accuracy, %)")
    figure.draw_without_rendering()  # so that places on the page are known
    _name(axes, every)
    return figure


def _name(axes: Axes, every: Sequence[CostPoint]) -> None:
    """Write each model's name beside its point, where it covers no point, bar or name."""
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

    reach = 5 * axes.figure.dpi / 72
    taken = []
    for point in every:
        (x, low), (_, high), (_, middle) = axes.transData.transform(
            [(point.seconds, y) for y in (point.low, point.high, point.score)]
        )
        taken.append(Bbox.from_extents(x - 2, low, x + 2, high))
        taken.append(Bbox.from_extents(x - reach, middle - reach, x + reach, middle + reach))
    for point in every:
        for offset in _OFFSETS:
            text = _written(axes, point, offset)
            text.get_window_extent()  # settles where the words are
            box = Text.get_window_extent(text)  # of them, without the line
            if _inside(box, axes) and not any(box.overlaps(other) for other in taken):
                break
            if offset is not _OFFSETS[-1]:
                text.remove()
        taken.append(box)


def _inside(box: Bbox, axes: Axes) -> bool:
    frame = axes.bbox
    return all(frame.contains(*corner) for corner in (box.p0, box.p1))


def _written(axes: Axes, point: CostPoint, offset: tuple[float, float]) -> Annotation:
    right, up = offset
    line = {"arrowstyle": "-", "color": "#9aa2ae", "linewidth": 0.7, "shrinkB": 4}
    text = axes.annotate(
        label(point.row.model),
        (point.seconds, point.score),
        offset,
        textcoords="offset points",
        ha="left" if right > 0 else "right",
        va="center",
        fontsize=_TEXT,
        color=INK,
        parse_math=False,
        arrowprops=line if abs(up) > _FAR else None,
    )
    text.set_in_layout(False)  # the places of all other things are settled
    return text
