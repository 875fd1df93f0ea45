"""The figures of a board, as files, and scores against training time, parameters and state.

The same data do not always draw the same bytes: a layout is solved for, and its last digits, and
the names made of them, can differ; another version of the library says so in the file.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from formalbench.contracts.errors import RequestError
from formalbench.documents.charts import INK, Kind, picture, styled
from formalbench.statistics.board import Board, Page, Row
from formalbench.statistics.records import grouped_by
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
class ScorePoint:
    """A model: its place on a figure's axis, and its score in percent."""

    row: Row
    x: float
    score: float
    low: float
    high: float


def points(board: Board, x: Callable[[Row], float | None]) -> list[ScorePoint]:
    """Return the models that have a score and a place on an axis, best first.

    Args:
        board: what is shown.
        x: gives the place of a row, greater than 0; None if it has none.
    """
    found = []
    for row in board.rows:
        place = x(row)
        if place and row.score is not None and row.low is not None and row.high is not None:
            found.append(ScorePoint(row, place, 100 * row.score, 100 * row.low, 100 * row.high))
    return found


def draw(panels: Mapping[str, Sequence[ScorePoint]]) -> Figure:
    """Draw scores against what stands on the axis of each panel, by its label; log scales.

    Models that differ in their width alone are joined by a line.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    width, height = _SIZE
    figure = Figure(figsize=(width, height * len(panels)), layout="constrained")
    every = figure.subplots(len(panels), squeeze=False)[:, 0]
    for axes, (words, shown) in zip(every, panels.items(), strict=True):
        for place, point in enumerate(shown):
            mark = mark_of(_but_width(point.row.model))
            axes.errorbar(
                point.x,
                point.score,
                yerr=[[point.score - point.low], [point.high - point.score]],
                color=mark.colour,
                marker=mark.marker,
                markersize=7.5,
                markeredgecolor="white",
                markeredgewidth=0.7,
                elinewidth=1.3,
                zorder=3 + len(shown) - place,
                label=point.row.model,
            )
        for model, widths in grouped_by(lambda point: _but_width(point.row.model), shown).items():
            widths.sort(key=lambda point: point.x)
            ends = [[point.x for point in widths], [point.score for point in widths]]
            axes.plot(*ends, color=mark_of(model).colour, linewidth=1.3, zorder=2)
        axes.set_xscale("log")
        least, most = (pick(point.x for point in shown) for pick in (min, max))
        axes.set_xlim(least / 1.5, most * 1.5 * (most / least) ** 0.3)
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_ylim(min(-3.0, *(point.low - 3 for point in shown)), 104)
        axes.set_xlabel(words)
        axes.set_ylabel("score (scaled accuracy, %)")
    figure.draw_without_rendering()  # so that places on the page are known
    for axes, shown in zip(every, panels.values(), strict=True):
        _name(axes, shown)
    return figure


def _but_width(model: str) -> str:
    """Return a model's name without its width."""
    name, _, options = model.rstrip("]").partition("[")
    kept = [part for part in options.split(", ") if part and not part.startswith("width=")]
    return f"{name}[{', '.join(kept)}]" if kept else name


def _name(axes: Axes, every: Sequence[ScorePoint]) -> None:
    """Write each model's name beside its point, where it covers no point, bar or name."""
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

    reach = 5 * axes.figure.dpi / 72
    taken = []
    for point in every:
        (x, low), (_, high), (_, middle) = axes.transData.transform(
            [(point.x, y) for y in (point.low, point.high, point.score)]
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


def _written(axes: Axes, point: ScorePoint, offset: tuple[float, float]) -> Annotation:
    right, up = offset
    line = {"arrowstyle": "-", "color": "#9aa2ae", "linewidth": 0.7, "shrinkB": 4}
    text = axes.annotate(
        label(point.row.model),
        (point.x, point.score),
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


STATE_LENGTH = 40
"""Symbols of the string after which a model's state is counted."""


SIZE_CAPTION = (
    "Score against the number of parameters (the greatest over the tasks) and against the size of "
    f"the state: the numbers that a model keeps of a string of {STATE_LENGTH} symbols in order to "
    "read the next one (of a transformer, all keys and values). Bars, the score's 95 % interval; a "
    "line joins models that differ in their width alone."
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


def drawings(
    board: Board, title: str, state: Callable[[Row], int | None] = lambda row: None
) -> list[Drawing]:
    """Return the figures that a board has the data for.

    Args:
        board: what is shown.
        title: what is ranked, as a suite; part of the file names.
        state: gives the size of a row's state after `STATE_LENGTH` symbols, where it is known.
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
    timed = points(board, lambda row: training_seconds(row, board))
    if len(timed) > 1:
        one = f"{about}: score against training cost"
        panels = {f"{TRAINING_COST} (log scale; machines differ)": timed}
        found.append(Drawing(f"{name}-cost", one, COST_CAPTION, partial(draw, panels)))
    sizes = {
        "parameters (log scale)": points(board, lambda row: row.parameters[1]),
        f"numbers kept after {STATE_LENGTH} symbols (log scale)": points(board, state),
    }
    if all(len(shown) > 1 for shown in sizes.values()):
        one = f"{about}: score against size"
        found.append(Drawing(f"{name}-size", one, SIZE_CAPTION, partial(draw, sizes)))
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


def write_figures(
    page: Page, title: str, folder: Path, state: Callable[[Row], int | None]
) -> Iterator[Path]:
    """Write the figures of a page's boards, as SVG and as PNG; see `drawings`.

    Raises:
        RequestError: if one cannot be drawn or written.
    """
    from formalbench.store import write_atomically

    for board in page.boards:
        for drawing in drawings(board, title, state):
            kinds: tuple[Kind, ...] = ("svg", "png")
            for kind in kinds:
                path = folder / f"{drawing.name}.{kind}"
                write_atomically(path, rendered(drawing, kind))
                yield path
