"""Where everything on the map lies: lengths are in units of the drawing, of which y grows downward.

The columns of a wide map are divided among bands, one below the other, with all rows in each.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from formalbench.analysis.map import LanguageMap, MapColumn
from formalbench.analysis.text import harmless

MARGIN = 12.0
CELL_HEIGHT = 16.0
ROW = 20.0
GAP = 4.0
GROUP_GAP = 12.0
NARROWEST, WIDEST = 34, 116
SMALL, TEXT = 10.0, 11.0
"""Sizes of type."""

_EM = 0.56
"""Average width of a letter, of its size: nobody here knows the reader's fonts."""

_LONGEST_NAME = 24


@dataclass(frozen=True, slots=True)
class Placed:
    """A column and where it is."""

    column: MapColumn
    index: int
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Heading:
    """The class above some columns: its lines of text, and from where to where it reaches."""

    lines: tuple[str, ...]
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Band:
    """Columns that share one set of rows.

    Attributes:
        headings: the classes above the columns.
        columns: each with its place.
        names: the lines of each column's name; one line where names are upright.
        upright: whether names are turned, for want of room.
    """

    headings: tuple[Heading, ...]
    columns: tuple[Placed, ...]
    names: tuple[tuple[str, ...], ...]
    upright: bool

    @property
    def names_height(self) -> float:
        """How much room the names take."""
        if self.upright:
            return max(width_of(name[0], SMALL) for name in self.names)
        return SMALL * 1.2 * max(map(len, self.names))


@dataclass(frozen=True, slots=True)
class Frame:
    """The measures of a drawing: its width, and how much of it is for the names of rows."""

    width: float
    label: float

    @property
    def left(self) -> float:
        """Where the first column begins."""
        return MARGIN + self.label + 10.0

    @property
    def room(self) -> float:
        """How much room there is for columns."""
        return self.width - MARGIN - self.left


WIDE = Frame(960.0, 172.0)
"""For a page, or across both columns of a paper."""

NARROW = Frame(460.0, 118.0)
"""For a phone."""


def width_of(text: str, size: float) -> float:
    """Return about how wide a text is."""
    return len(text) * size * _EM


def shortened(text: str, room: float, size: float) -> str:
    """Return a name as far as there is room for it."""
    clean, most = harmless(text), max(4, int(room / (size * _EM)))
    return clean if len(clean) <= most else f"{clean[: most - 1]}…"


def bands(shown: LanguageMap, frame: Frame) -> list[Band]:
    """Divide the columns among as few bands as they fit in."""
    columns = list(enumerate(shown.columns))
    for count in range(1, len(columns) + 1):
        parts = _parts(columns, count)
        width = min(_cell_width(part, frame) for part in parts)
        if width or count == len(columns):
            return [_band(part, width or NARROWEST, frame) for part in parts]
    return []


Numbered = tuple[int, MapColumn]


def _parts(columns: Sequence[Numbered], count: int) -> list[list[Numbered]]:
    """Divide a list into parts of nearly the same size."""
    ends = [round(place * len(columns) / count) for place in range(count + 1)]
    return [list(columns[a:b]) for a, b in pairwise(ends)]


def _groups(columns: Sequence[Numbered]) -> list[tuple[str, list[Numbered]]]:
    return [(name, list(part)) for name, part in groupby(columns, key=lambda it: it[1].group)]


def _cell_width(columns: Sequence[Numbered], frame: Frame) -> int:
    """Return the greatest width of a cell at which these columns fit; 0 if there is none."""
    groups = _groups(columns)

    def total(cell: int) -> float:
        wide = (_group_width(name, len(part), cell) for name, part in groups)
        return sum(wide) + GROUP_GAP * (len(groups) - 1)

    return next((w for w in range(WIDEST, NARROWEST - 1, -1) if total(w) <= frame.room), 0)


def _group_width(name: str, columns: int, cell: int) -> float:
    return max(columns * (cell + GAP) - GAP, _heading_width(name))


def _heading_width(name: str) -> float:
    return max(width_of(line, TEXT) for line in _heading_lines(name, 0.0))


def _heading_lines(name: str, room: float) -> tuple[str, ...]:
    """Return a class in two lines, unless there is room for it in one."""
    name = shortened(name, _LONGEST_NAME, 1 / _EM)
    if width_of(name, TEXT) <= room:
        return (name,)
    return tuple(re.split(r"(?<=.-)| ", name, maxsplit=1))


def _band(columns: Sequence[Numbered], cell: int, frame: Frame) -> Band:
    headings, placed, x = list[Heading](), list[Placed](), frame.left
    for name, part in _groups(columns):
        width = _group_width(name, len(part), cell)
        each = (width + GAP) / len(part) - GAP
        headings.append(Heading(_heading_lines(name, width), x, width))
        for place, (index, column) in enumerate(part):
            placed.append(Placed(column, index, x + place * (each + GAP), each))
        x += width + GROUP_GAP
    names = [_wrapped(one.column.task, one.width + GAP - 2) for one in placed]
    fit = [name for name in names if name is not None]
    upright = len(fit) < len(names)
    most = _LONGEST_NAME * SMALL * _EM
    turned = [(shortened(one.column.task, most, SMALL),) for one in placed]
    return Band(tuple(headings), tuple(placed), tuple(turned if upright else fit), upright)


def _wrapped(name: str, room: float) -> tuple[str, ...] | None:
    """Break a name at hyphens into at most two lines; None if they are too wide."""
    lines = [""]
    for part in re.split(r"(?<=[-:])", harmless(name)):
        if lines[-1] and width_of(lines[-1] + part, SMALL) > room:
            lines.append("")
        lines[-1] += part
    fits = len(lines) <= 2 and all(width_of(line, SMALL) <= room for line in lines)
    return tuple(lines) if fits else None
