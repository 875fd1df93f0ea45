"""How figures look, and the bytes of them: one style for all of them."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Kind = Literal["svg", "png"]

RED = "#c1272d"
INK = "#1b2a41"
BLUES = ("#9ecae1", "#5ba3cf", "#2a7ab9", "#0b4d8c")
GREEN = "#2f8f5b"
ORANGE = "#e08214"
GREY = "#8a919c"

_SETTINGS: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9.5,
    "axes.labelcolor": INK,
    "axes.edgecolor": "#b8bec8",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6e9ee",
    "grid.linewidth": 0.8,
    "xtick.color": "#5b6472",
    "ytick.color": "#5b6472",
    "text.color": INK,
    "lines.linewidth": 1.9,
    "lines.solid_capstyle": "round",
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "savefig.dpi": 200,
    "svg.fonttype": "path",
    # The same data draw the same file: no random identifiers in it.
    "svg.hashsalt": "formalbench",
}


@contextmanager
def styled() -> Iterator[None]:
    """Draw in this style, without a screen."""
    import matplotlib

    with matplotlib.rc_context(_SETTINGS), warnings.catch_warnings():
        # A name from a record may have letters that the font lacks: they are shown as boxes.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def picture(figure: Figure, kind: Kind, **left_out: None) -> bytes:
    """Return a figure as a file: the same bytes each time, with one version of the library.

    Args:
        figure: made in this style, which is still in force.
        kind: of file.
        left_out: what the library would tell in the file, as ``Date=None``.
    """
    target = io.BytesIO()
    figure.savefig(target, format=kind, metadata=left_out)
    return target.getvalue()
