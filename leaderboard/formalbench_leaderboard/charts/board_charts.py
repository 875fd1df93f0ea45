"""The figures of a board, as files, and score against training time.

The same data do not always draw the same bytes: a layout is solved for, and its last digits, and
the names made of them, can differ; another version of the library says so in the file.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from formalbench.contracts.errors import RequestError
from formalbench.documents.charts import INK, Kind, picture, styled
from formalbench.statistics.board import Board, Page, Row
from formalbench.store import safe_name

from formalbench_leaderboard.board.tables import TRAINING_COST, training_seconds
from formalbench_leaderboard.charts.length_charts import label, mark_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation
    from matplotlib.transforms import Bbox


TOLERANCE = 0.05
"""By how much a number may differ: in an SVG, points, of which 72 are an inch."""


_MADE_BY = re.compile(r"<dc:title>Matplotlib v[^<]*</dc:title>")


_NAME = re.compile(r'(?<=["#])[A-Za-z][A-Za-z0-9_]*?[0-9a-f]{10}(?=[")])')
"""What a clip, a marker or a collection is called: after a hash of its numbers."""


_NUMBER = re.compile(r"(-?\d+(?:\.\d+)?)")


def shows_the_same(one: bytes, other: bytes) -> bool:
    """Say whether two figures differ in nothing but the last digits of their numbers.

    Every sign of both files is compared, so that nothing can hide in either.
    """
    if one == other:
        return True
    try:
        parts, others = (_parts(svg.decode()) for svg in (one, other))
    except UnicodeDecodeError:
        return False
    pairs = itertools.zip_longest(parts, others, fillvalue="")
    return all(a == b or (place % 2 == 1 and _near(a, b)) for place, (a, b) in enumerate(pairs))


def _parts(svg: str) -> list[str]:
    """Cut a figure into text, number, text, …, with what it calls its parts counted instead."""
    names: dict[str, str] = {}

    def counted(match: re.Match[str]) -> str:
        return names.setdefault(match[0], f"name-{len(names)}")

    return _NUMBER.split(_NAME.sub(counted, _MADE_BY.sub("", svg)))


def _near(one: str, other: str) -> bool:
    """Compare two numbers; whole ones are colours and letters, too, and must be the same."""
    if not one or not other or "." not in one + other:
        return False
    return math.isclose(float(one), float(other), rel_tol=0.0, abs_tol=TOLERANCE)


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


LENGTH_CAPTION = (
    "Mean accuracy over the seeds against the length of the test strings. Bars span the 95 % "
    "Wilson intervals of all seeds; the dotted line is chance. Models whose training lengths no "
    "seed learned have no line; tasks without a line have no panel."
)


TEXT_CAPTION = (
    "{measure} against the length of the texts or for each part: the mean over the seeds that "
    "finished. Bars span the lowest and the highest seed. Each panel has its own axis."
)


COST_CAPTION = (
    f"Score against the cost of training: {TRAINING_COST}, averaged over seeds and tasks. Bars are "
    "the 95 % intervals of the scores. A model that was not timed on every task has no cost. The "
    "times come from different machines under different loads: compare orders of magnitude only."
)


_CREATOR = re.compile(rb"Matplotlib v([^,<]+),")


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure to be drawn.

    Attributes:
        name: its file's name without the suffix.
        title: what it shows, in a few words.
        caption: how to read it.
        draw: draws it.
    """

    name: str
    title: str
    caption: str
    draw: Callable[[], Figure]


def drawings(board: Board, title: str) -> list[Drawing]:
    """Return the figures that a board has the data for.

    Args:
        board: what is shown.
        title: what is ranked, as a suite; part of the file names.
    """
    from formalbench_leaderboard.charts import length_charts

    name = safe_name(f"{title}-{board.protocol}")
    if board.version > 1:
        name += f"-v{board.version}"
    about = f"{title}, protocol {board.protocol}"
    found = []
    if length_charts.panels(board):
        one = f"{about}: accuracy against length"
        found.append(
            Drawing(f"{name}-length", one, LENGTH_CAPTION, lambda: length_charts.draw(board))
        )
    for measure in length_charts.measures(board):
        one = f"{about}: {measure.heading} against length"
        found.append(
            Drawing(
                f"{name}-{measure.name}",
                one,
                TEXT_CAPTION.format(measure=_capital(measure.title)),
                partial(length_charts.draw_text, board, measure),
            )
        )
    if len(points(board)) > 1:
        one = f"{about}: score against training cost"
        found.append(Drawing(f"{name}-cost", one, COST_CAPTION, lambda: draw(board)))
    return found


def _capital(title: str) -> str:
    return title[:1].upper() + title[1:]


def rendered(drawing: Drawing, kind: Kind) -> bytes:
    """Draw a figure: the same bytes each time, with one version of the library.

    Args:
        drawing: the figure.
        kind: ``svg`` or ``png``.

    Raises:
        RequestError: if the library is not installed.
    """
    if installed_version() is None:
        raise RequestError("figures need matplotlib: pip install 'formalbench[figures]'")
    # An SVG keeps the library's version, by which `drawn_by` knows it; no day.
    left_out = {"Date": None} if kind == "svg" else {"Software": None}
    with styled():
        return picture(drawing.draw(), kind, **left_out)


def installed_version() -> str | None:
    """Return the version of the library that draws; None if it is not installed."""
    try:
        return metadata.version("matplotlib")
    except metadata.PackageNotFoundError:
        return None


def drawn_by(svg: bytes) -> str | None:
    """Return the version of the library that drew a figure; None if it does not say."""
    found = _CREATOR.search(svg)
    return None if found is None else found[1].decode("ascii", "replace")


def write_figures(page: Page, title: str, folder: Path) -> Iterator[Path]:
    """Write the figures of a page's boards, as SVG and as PNG.

    Raises:
        RequestError: if one cannot be drawn or written.
    """
    from formalbench.store import write_atomically

    for board in page.boards:
        for drawing in drawings(board, title):
            kinds: tuple[Kind, ...] = ("svg", "png")
            for kind in kinds:
                path = folder / f"{drawing.name}.{kind}"
                write_atomically(path, rendered(drawing, kind))
                yield path
