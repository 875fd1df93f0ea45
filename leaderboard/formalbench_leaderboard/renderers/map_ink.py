"""The shapes that the map is drawn with, as paths: each means the same in every theme."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from formalbench.analysis.map import MapCell, Said
from formalbench.analysis.strips import Strip

from formalbench_leaderboard.renderers.map_layout import CELL_HEIGHT

SHADES = 5
"""Of the ramp from chance to perfect; the last is for what counts as right."""

RIGHT = 0.99
_LEAST = 0.06
"""Of a bar's height, so that chance is seen, too."""

_FEW = 60.0
"""Cells narrower than this have half as many bars."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A path.

    Attributes:
        kind: how it looks, a class of the drawing's style.
        path: its commands.
    """

    kind: str
    path: str


def number(value: float) -> str:
    """Return a number as a path has it: to a tenth, without what is not needed."""
    return f"{value:.1f}".removesuffix(".0")


def shade_of(share: float) -> int:
    """Return which shade of the ramp a scaled accuracy has."""
    return SHADES - 1 if share >= RIGHT else min(SHADES - 2, int(share * (SHADES - 1)))


def bars(strip: Strip, x: float, y: float, width: float) -> list[Shape]:
    """Return a strip as bars: height and shade both tell the accuracy, the place the length.

    Args:
        strip: shortest strings first.
        x: where it begins.
        y: its upper edge.
        width: of all bars together.
    """
    shares = [step.share for step in strip]
    shares = _paired(shares) if width < _FEW else shares
    ends = [round(x + place * width / max(1, len(shares)), 1) for place in range(len(shares) + 1)]
    found: dict[int, list[str]] = {}
    for shade, run in groupby(enumerate(shares), key=lambda it: shade_of(it[1])):
        path, last, tops = "", 0.0, list(run)
        for height, same in groupby(tops, key=lambda it: _height(it[1])):
            places = [place for place, _ in same]
            wide = ends[places[-1] + 1] - ends[places[0]]
            path, last = f"{path}v{number(last - height)}h{number(wide)}", height
        start = f"M{number(ends[tops[0][0]])} {number(y + CELL_HEIGHT)}"
        found.setdefault(shade, []).append(f"{start}{path}v{number(last)}z")
    return [Shape(f"s{shade}", "".join(paths)) for shade, paths in sorted(found.items())]


def _height(share: float) -> float:
    """Return how high a bar is, to a half."""
    return round(2 * CELL_HEIGHT * max(_LEAST, share)) / 2


def _paired(shares: list[float]) -> list[float]:
    """Let neighbours share a bar."""
    pairs = [shares[place : place + 2] for place in range(0, len(shares), 2)]
    return [sum(pair) / len(pair) for pair in pairs]


def rectangle(x: float, y: float, width: float, height: float) -> str:
    """Return a rectangle."""
    return f"M{number(x)} {number(y)}h{number(width)}v{number(height)}H{number(x)}z"


def tick(x: float, y: float) -> Shape:
    """Return a check mark around a point."""
    return Shape("tick", f"M{number(x - 3.5)} {number(y)}l2.5 2.8 4.5-5.6")


def dot(x: float, y: float) -> Shape:
    """Return the dot of what was not run."""
    return Shape("dot", f"M{number(x)} {number(y)}h0")


def ring(x: float, y: float) -> Shape:
    """Return the sign of what not every seed learned."""
    return Shape("part", _disc(x, y, 1.8))


def wave(x: float, y: float) -> Shape:
    """Return the sign of weak evidence around a point: a tilde."""
    return Shape("part", f"M{number(x - 7)} {number(y)}q3.5-6 7-1.5t7-1.5v3q-3.5 6-7 1.5t-7 1.5z")


def verdict(said: Said, x: float, y: float) -> list[Shape]:
    """Return what theory says: a disc for can, a cross for cannot, half a disc for some models.

    What was seen in experiments only is in parentheses.
    """
    around = [] if said.proved else [Shape("line", _PARENTHESES.format(number(x - 6), number(y)))]
    if said.verdict == "cannot":
        cross = f"M{number(x - 3)} {number(y - 3)}l6 6m0-6l-6 6"
        return [Shape("line", cross), *around]
    if said.verdict == "can":
        return [Shape("fill", _disc(x, y, 4.2)), *around]
    half = f"M{number(x)} {number(y - 3.6)}a3.6 3.6 0 0 0 0 7.2z"
    return [Shape("line", _disc(x, y, 3.6)), Shape("fill", half), *around]


_PARENTHESES = "M{} {}m-.5-5.5q-3.5 5.5 0 11m13-11q3.5 5.5 0 11"


def solved(cell: MapCell) -> bool:
    """Say whether a cell is right as far as it was tested, on average over the seeds."""
    return bool(cell.strip) and cell.solved_to == cell.strip[-1].last


def _disc(x: float, y: float, radius: float) -> str:
    across = number(2 * radius)
    r = number(radius)
    return f"M{number(x - radius)} {number(y)}a{r} {r} 0 1 0 {across} 0a{r} {r} 0 1 0-{across} 0z"


def gathered(shapes: Iterable[Shape]) -> Iterator[Shape]:
    """Put shapes that look alike into one path, in the order of their first."""
    found: dict[str, list[str]] = {}
    for shape in shapes:
        found.setdefault(shape.kind, []).append(shape.path)
    for kind, paths in found.items():
        yield Shape(kind, "".join(paths))
