"""The figures of a board: accuracy, or what texts are shown by, over length, and the cost."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from formalbench.analysis.board import Board, Page
from formalbench.analysis.cost import TRAINING_COST
from formalbench.analysis.figures import Kind, picture, styled
from formalbench.contracts.errors import RequestError
from formalbench.store import safe_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LENGTH_CAPTION = (
    "Accuracy against the length of the test strings: the mean over the seeds; bars, from the "
    "lowest to the highest end of the seeds' 95 % Wilson intervals; dotted, the chance level. What "
    "no seed learned at its training lengths has no line, and a task without a line no panel."
)
TEXT_CAPTION = (
    "{measure}, against the length of the texts or part by part: the mean over the seeds that "
    "finished; bars, from the seed with the least to the one with the most. Each panel has an axis "
    "of its own."
)
COST_CAPTION = (
    f"Score against the cost of training: {TRAINING_COST}, the mean over the tasks of the mean "
    "over the seeds; bars, the score's 95 % interval. A model that was not timed on every task has "
    "no cost. The seconds were measured on machines that differ and that did other work besides: "
    "read them as orders of magnitude."
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
    from formalbench_leaderboard.renderers import cost_figure, length_figure, text_figure

    name = safe_name(f"{title}-{board.protocol}")
    if board.version > 1:
        name += f"-v{board.version}"
    about = f"{title}, protocol {board.protocol}"
    found = []
    if length_figure.panels(board):
        one = f"{about}: accuracy against length"
        found.append(
            Drawing(f"{name}-length", one, LENGTH_CAPTION, lambda: length_figure.draw(board))
        )
    for measure in text_figure.measures(board):
        one = f"{about}: {measure.heading} against length"
        found.append(
            Drawing(
                f"{name}-{measure.name}",
                one,
                TEXT_CAPTION.format(measure=_capital(measure.title)),
                partial(text_figure.draw, board, measure),
            )
        )
    if len(cost_figure.points(board)) > 1:
        one = f"{about}: score against training cost"
        found.append(Drawing(f"{name}-cost", one, COST_CAPTION, lambda: cost_figure.draw(board)))
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
        raise RequestError("figures are drawn with matplotlib: pip install 'formalbench[figures]'")
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
