"""The figures of a board as files: scores against training time, parameters and state size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path

from formalbench.contracts.errors import RequestError
from formalbench.documents.charts import colour_of
from formalbench.documents.figures import Figure, Kind, Panel, Series, picture
from formalbench.documents.text import shortened
from formalbench.statistics.board import Board, Page, Row
from formalbench.store import safe_name

from formalbench_leaderboard.board.plugin_info import STATE_LENGTH
from formalbench_leaderboard.board.tables import TRAINING_COST, training_seconds
from formalbench_leaderboard.charts import length_charts
from formalbench_leaderboard.charts.length_charts import MOST_LINES


@dataclass(frozen=True, slots=True)
class ScorePoint:
    """A model's position on a figure's axis, and its score in percent."""

    row: Row
    x: float
    score: float
    low: float
    high: float


def points(board: Board, x: Callable[[Row], float | None]) -> list[ScorePoint]:
    """Return the models that have a score and a position on an axis, best first.

    Args:
        board: the board.
        x: returns the position of a row, greater than 0; None if it has none.
    """
    found = []
    for row in board.rows:
        place = x(row)
        if place and row.score is not None and row.low is not None and row.high is not None:
            found.append(ScorePoint(row, place, 100 * row.score, 100 * row.low, 100 * row.high))
    return found


def score_chart(panels: Mapping[str, Sequence[ScorePoint]]) -> Figure:
    """Draw a line for each model with its score, and a panel for each measure on a log scale.

    Args:
        panels: the models with a measure, by its label. A model without a value has no point in
            that panel.
    """
    first = {point.row.model: point for shown in panels.values() for point in shown}
    points = sorted(first.values(), key=lambda point: point.score)
    place = {point.row.model: at for at, point in enumerate(points)}
    names: dict[float, str] = {at: shortened(model) for model, at in place.items()}
    ends = -0.6, len(points) - 0.4

    def dots(shown: Sequence[ScorePoint], x: Callable[[ScorePoint], float]) -> list[Series]:
        """Return a mark for each model; models that differ only in their width share a colour."""
        return [
            Series(
                [x(point)],
                [place[point.row.model]],
                colour_of(_without_width(point.row.model)),
                style="o",
                size=9,
            )
            for point in shown
        ]

    bars = [
        Series([point.low, point.high], [at, at], colour_of(_without_width(point.row.model)))
        for at, point in enumerate(points)
    ]
    score = Panel(
        [*bars, *dots(points, lambda point: point.score)],
        x="score (scaled accuracy, %)",
        xlim=(min(0.0, *(point.low for point in points)), 102),
        ylim=ends,
        yticks=names,
    )
    others = [
        Panel(dots(shown, lambda point: point.x), x=heading, log="x", ylim=ends, yticks=names)
        for heading, shown in panels.items()
    ]
    return Figure([[score, *others]], size=(250 if len(panels) < 2 else 200, 20 * len(points) + 10))


def _without_width(model: str) -> str:
    """Return a model's name without its width."""
    name, _, options = model.rstrip("]").partition("[")
    others = [part for part in options.split(", ") if part and not part.startswith("width=")]
    return f"{name}[{', '.join(others)}]" if others else name


LENGTH_CAPTION = (
    "Mean accuracy over the seeds against the length of the test strings. Bars span the 95 % "
    "Wilson intervals of all seeds; the dashed grey line is chance. Models whose training lengths "
    f"no seed learned have no line. At most {MOST_LINES} models are shown, those with a score and "
    "the best of each family first; tasks without a line have no panel."
)


TEXT_CAPTION = (
    "{measure} against the length of the texts or for each part: the mean over the seeds that "
    "finished. Bars span the lowest and the highest seed. Each panel has its own axis. At most "
    f"{MOST_LINES} models are shown, the best of each family first."
)


COST_CAPTION = (
    f"Score and cost of training: {TRAINING_COST}, averaged over seeds and tasks. Bars are "
    "the 95 % intervals of the scores. A model that was not timed on every task has no cost. The "
    "times come from different machines under different loads: compare orders of magnitude only."
)


SIZE_CAPTION = (
    "Score, number of parameters (the greatest over the tasks) and size of "
    f"the state: the numbers that a model keeps of a string of {STATE_LENGTH} symbols in order to "
    "read the next one (of a transformer, all keys and values). Bars are the 95 % "
    "intervals of the scores; models that differ in their width alone have one colour."
)


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure to be drawn.

    Attributes:
        name: the file name without the suffix.
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
    """Return the figures that a board has data for.

    Args:
        board: the board.
        title: the ranked tasks, such as a suite's name; part of the file names.
        state: returns the size of a row's state after `STATE_LENGTH` symbols, if known.
    """
    name = safe_name(f"{title}-{board.protocol}")
    if board.version > 1:
        name += f"-v{board.version}"
    prefix = f"{title}, protocol {board.protocol}"
    figures = []
    if length_charts.panels(board):
        heading = f"{prefix}: accuracy against length"
        figures.append(
            Drawing(
                f"{name}-length", heading, LENGTH_CAPTION, lambda: length_charts.length_chart(board)
            )
        )
    for measure in length_charts.measures(board):
        heading = f"{prefix}: {measure.heading} against length"
        figures.append(
            Drawing(
                f"{name}-{measure.name}",
                heading,
                TEXT_CAPTION.format(measure=measure.title[:1].upper() + measure.title[1:]),
                partial(length_charts.text_chart, board, measure),
            )
        )
    timed = points(board, lambda row: training_seconds(row, board))
    if len(timed) > 1:
        heading = f"{prefix}: score against training cost"
        panels = {f"{TRAINING_COST} (log scale; machines differ)": timed}
        figures.append(Drawing(f"{name}-cost", heading, COST_CAPTION, partial(score_chart, panels)))
    sizes = {
        "parameters (log scale)": points(board, lambda row: row.parameters[1]),
        f"numbers kept after {STATE_LENGTH} symbols (log scale)": points(board, state),
    }
    if all(len(shown) > 1 for shown in sizes.values()):
        heading = f"{prefix}: score against size"
        figures.append(Drawing(f"{name}-size", heading, SIZE_CAPTION, partial(score_chart, sizes)))
    return figures


def rendered(drawing: Drawing, kind: Kind) -> bytes:
    """Draw a figure; the same version of the library always gives the same bytes.

    An SVG ends with a comment that names the version.

    Raises:
        RequestError: if the library is not installed.
    """
    try:
        metadata.version("altair")
        version = metadata.version("vl-convert-python")
    except metadata.PackageNotFoundError:
        message = "figures need altair and vl-convert: pip install 'formalbench[figures]'"
        raise RequestError(message) from None
    image = picture(drawing.draw(), kind)
    comment = f"<!-- vl-convert {version} --></svg>".encode()
    return image.replace(b"</svg>", comment) if kind == "svg" else image


def write_figures(
    page: Page, title: str, folder: Path, state: Callable[[Row], int | None]
) -> Iterator[Path]:
    """Write the figures of a page's boards, as SVG and as PNG; see `drawings`.

    Raises:
        RequestError: if one cannot be drawn or written.
    """
    from formalbench.files import write_atomically

    for board in page.boards:
        for drawing in drawings(board, title, state):
            kinds: tuple[Kind, ...] = ("svg", "png")
            for kind in kinds:
                path = folder / f"{drawing.name}.{kind}"
                write_atomically(path, rendered(drawing, kind))
                yield path
