"""The map as SVG: its layout, cells and texts.

The columns of a wide map are divided into bands, one below the other. Each band has all rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, groupby, pairwise

from formalbench.documents.text import harmless, percent
from formalbench.statistics.length_profile import Strip

from formalbench_leaderboard.charts.language_map import (
    NOTHING,
    FamilyRows,
    HandBuilt,
    LanguageMap,
    MapCell,
    MapColumn,
    MapRow,
    Said,
    told,
)

MARGIN = 12.0


CELL_HEIGHT = 16.0


ROW = 20.0


GAP = 4.0


GROUP_GAP = 12.0


NARROWEST, WIDEST = 34, 116


SMALL, TEXT = 10.0, 11.0
"""Font sizes."""


_EM = 0.56
"""Average width of a letter as a multiple of the font size; the reader's font is unknown."""


_LONGEST_NAME = 24


@dataclass(frozen=True, slots=True)
class Placed:
    """A column and its position."""

    column: MapColumn
    index: int
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading of a class: its lines of text, and the columns that it spans."""

    lines: tuple[str, ...]
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Band:
    """Columns that share one set of rows.

    Attributes:
        headings: the headings of the classes.
        columns: the columns with their positions.
        names: the lines of each column's name; one line if names are upright.
        upright: whether names are rotated, because there is too little room.
    """

    headings: tuple[Heading, ...]
    columns: tuple[Placed, ...]
    names: tuple[tuple[str, ...], ...]
    upright: bool

    @property
    def names_height(self) -> float:
        """Height of the names."""
        if self.upright:
            return max(width_of(name[0], SMALL) for name in self.names)
        return SMALL * 1.2 * max(map(len, self.names))


@dataclass(frozen=True, slots=True)
class Frame:
    """The measures of a drawing: its width, and the width of the row names."""

    width: float
    label: float

    @property
    def left(self) -> float:
        """Where the first column begins."""
        return MARGIN + self.label + 10.0

    @property
    def room(self) -> float:
        """Width that is available for columns."""
        return self.width - MARGIN - self.left


WIDE = Frame(960.0, 172.0)
"""For a web page, or both columns of a paper."""


NARROW = Frame(460.0, 118.0)
"""For a phone."""


def width_of(text: str, size: float) -> float:
    """Return the approximate width of a text."""
    return len(text) * size * _EM


def shortened(text: str, room: float, size: float) -> str:
    """Return a name, cut off if it is too long."""
    clean, most = harmless(text), max(4, int(room / (size * _EM)))
    return clean if len(clean) <= most else f"{clean[: most - 1]}…"


def bands(shown: LanguageMap, frame: Frame) -> list[Band]:
    """Divide the columns into as few bands as possible."""
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
    """Return the greatest cell width at which these columns fit; 0 if there is none."""
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
    """Return the name of a class in one line if it fits, else in two."""
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


SHADES = 5
"""Number of shades from chance to perfect; the last one is for accuracies that count as right."""


RIGHT = 0.99


_LEAST = 0.06
"""Minimum height of a bar, as a share, so that chance level is visible, too."""


_FEW = 60.0
"""Cells narrower than this have half as many bars."""


@dataclass(frozen=True, slots=True)
class Shape:
    """An SVG path.

    Attributes:
        kind: a class of the drawing's style sheet.
        path: the path's commands.
    """

    kind: str
    path: str


def number(value: float) -> str:
    """Return a number as text for a path: one decimal, without superfluous zeros."""
    return f"{value:.1f}".removesuffix(".0")


def shade_of(share: float) -> int:
    """Return the index of the shade for a scaled accuracy."""
    return SHADES - 1 if share >= RIGHT else min(SHADES - 2, int(share * (SHADES - 1)))


def bars(strip: Strip, x: float, y: float, width: float) -> list[Shape]:
    """Return a strip as bars: height and shade show the accuracy, the position shows the length.

    Args:
        strip: accuracies, the shortest length first.
        x: left edge.
        y: upper edge.
        width: width of all bars together.
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
    """Return the height of a bar, rounded to a half."""
    return round(2 * CELL_HEIGHT * max(_LEAST, share)) / 2


def _paired(shares: list[float]) -> list[float]:
    """Merge neighbouring values, so that they share a bar."""
    pairs = [shares[place : place + 2] for place in range(0, len(shares), 2)]
    return [sum(pair) / len(pair) for pair in pairs]


def rectangle(x: float, y: float, width: float, height: float) -> str:
    """Return a rectangle."""
    return f"M{number(x)} {number(y)}h{number(width)}v{number(height)}H{number(x)}z"


def tick(x: float, y: float) -> Shape:
    """Return a check mark around a point."""
    return Shape("tick", f"M{number(x - 3.5)} {number(y)}l2.5 2.8 4.5-5.6")


def dot(x: float, y: float) -> Shape:
    """Return the dot of a cell that was not run."""
    return Shape("dot", f"M{number(x)} {number(y)}h0")


def ring(x: float, y: float) -> Shape:
    """Return the sign of a cell that not every seed learned."""
    return Shape("part", _disc(x, y, 1.8))


def wave(x: float, y: float) -> Shape:
    """Return the sign of weak evidence around a point: a tilde."""
    return Shape("part", f"M{number(x - 7)} {number(y)}q3.5-6 7-1.5t7-1.5v3q-3.5 6-7 1.5t-7 1.5z")


def hatching(x: float, y: float, width: float) -> Shape:
    """Return the diagonal lines over a cell with a run that diverged or did not finish."""
    lines = []
    for start in range(-int(CELL_HEIGHT), int(width), 6):
        left, right = max(0.0, start), min(width, start + CELL_HEIGHT)
        bottom = y + CELL_HEIGHT - (left - start)
        lines.append(
            f"M{number(x + left)} {number(bottom)}l{number(right - left)} {number(left - right)}"
        )
    return Shape("hatch", "".join(lines))


def verdict(said: Said, x: float, y: float) -> list[Shape]:
    """Return the sign of a prediction: a disc for can, a cross for cannot, half a disc for some.

    Predictions of experiments are in parentheses.
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
    """Whether the mean accuracy over the seeds is at least 99 % at every tested length."""
    return bool(cell.strip) and cell.solved_to == cell.strip[-1].last


def _disc(x: float, y: float, radius: float) -> str:
    across = number(2 * radius)
    r = number(radius)
    return f"M{number(x - radius)} {number(y)}a{r} {r} 0 1 0 {across} 0a{r} {r} 0 1 0-{across} 0z"


def gathered(shapes: Iterable[Shape]) -> Iterator[Shape]:
    """Merge shapes of the same kind into one path; kinds keep the order of their first shape."""
    found: dict[str, list[str]] = {}
    for shape in shapes:
        found.setdefault(shape.kind, []).append(shape.path)
    for kind, paths in found.items():
        yield Shape(kind, "".join(paths))


Address = Callable[[str], str]


_LONGEST_TITLE = 150.0


_LONGEST_LABEL = 210.0


@dataclass(frozen=True, slots=True)
class Lettering:
    """A text.

    Attributes:
        x: its start, middle or end, depending on its kind.
        y: its baseline.
        content: the text.
        kind: a class of the drawing's style sheet.
        href: the address of its link, if it has one.
    """

    x: float
    y: float
    content: str
    kind: str
    href: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """The area of a cell, with the text of its tooltip."""

    x: float
    y: float
    width: float
    title: str


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses of models and tasks; a separate file has none."""

    model: Address = lambda name: ""
    task: Address = lambda name: ""


@dataclass(slots=True)
class Canvas:
    """A sheet that is filled from top to bottom.

    Attributes:
        frame: its measures.
        to: addresses of links.
        y: the position down to which it is filled.
    """

    frame: Frame
    to: Addresses
    y: float = MARGIN
    texts: list[Lettering] = field(default_factory=list)
    shapes: list[Shape] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)

    def label(self, text: str, kind: str, href: str = "") -> None:
        """Write the name of a row."""
        shown = shortened(text, self.frame.label, TEXT)
        at = self.frame.left - 10
        self.texts.append(Lettering(at, self.y + 12, shown, kind, href))

    def write(self, x: float, text: str, kind: str) -> None:
        """Write a text on the current row."""
        self.texts.append(Lettering(x, self.y + 12, text, kind))


def draw(
    shown: LanguageMap,
    frame: Frame,
    to: Addresses,
    *,
    targets: bool,
    legend: Callable[[Canvas, LanguageMap], None] | None = None,
) -> Canvas:
    """Draw a map.

    Args:
        shown: the map.
        frame: its measures.
        to: addresses of models and tasks.
        targets: whether cells have tooltips.
        legend: writes the legend above the map; None for no legend.
    """
    labels = [_label(row.model, f.name) for f in shown.families for row in f.rows]
    longest = max((width_of(label, TEXT) for label in labels), default=0.0)
    label = min(max(longest, frame.label), _LONGEST_LABEL)
    sheet = Canvas(replace(frame, label=label), to)
    if legend:
        legend(sheet, shown)
    for band in bands(shown, sheet.frame):
        _head(sheet, band)
        for family in shown.families:
            if (seen := _seen(family, band)).rows or any(seen.built):
                _family(sheet, seen, band, targets=targets)
        sheet.y += ROW
    if not shown.columns:
        sheet.texts.append(Lettering(MARGIN, sheet.y + 12, NOTHING, "family"))
        sheet.y += ROW
    return sheet


def _seen(family: FamilyRows, band: Band) -> FamilyRows:
    """Leave out the rows that have no result in a band."""
    shown = [one.index for one in band.columns]
    rows = [row for row in family.rows if any(row.cells[i].state != "not run" for i in shown)]
    built = [one if place in shown else None for place, one in enumerate(family.built)]
    return replace(family, rows=tuple(rows), built=tuple(built))


def _head(sheet: Canvas, band: Band) -> None:
    most = max(len(heading.lines) for heading in band.headings)
    rule = sheet.y + most * TEXT * 1.25 + 2
    paths = []
    for heading in band.headings:
        for place, line in enumerate(reversed(heading.lines)):
            y = rule - 5 - place * TEXT * 1.2
            sheet.texts.append(Lettering(heading.x, y, line, "group"))
        paths.append(f"M{number(heading.x)} {number(rule)}h{number(heading.width)}")
    sheet.shapes.append(Shape("rule", "".join(paths)))
    bottom = rule + 6 + band.names_height
    for one, lines in zip(band.columns, band.names, strict=True):
        href, middle = sheet.to.task(one.column.task), one.x + one.width / 2
        for place, line in enumerate(reversed(lines)):
            y = bottom - place * SMALL * 1.15
            x, kind = (middle + 3.5, "upright") if band.upright else (middle, "task")
            sheet.texts.append(Lettering(x, y, line, kind, href))
    sheet.y = bottom + 2


def _family(sheet: Canvas, family: FamilyRows, band: Band, *, targets: bool) -> None:
    heads = [
        (label, every)
        for label, every in (("theory", family.theory), ("built by hand", family.built))
        if any(every)
    ]
    alone = len(family.rows) == 1 and family.rows[0].model == family.name
    sheet.y += 7
    if not (alone and not heads):
        name = shortened(family.name, sheet.frame.label, TEXT)
        sheet.texts.append(Lettering(MARGIN, sheet.y + 12, name, "family"))
        beside = width_of(heads[0][0], SMALL) + 10 if heads else 0
        if not heads or width_of(name, TEXT * 1.1) + beside > sheet.frame.label:
            sheet.y += ROW - 2
    for label, _ in heads:
        sheet.label(label, "head")
        for one in band.columns:
            _headed(sheet, family, label, one.index, one.x + one.width / 2)
        sheet.y += ROW - 1
    for row in family.rows:
        _row(sheet, row, family.name, band, targets=targets)


def _headed(sheet: Canvas, family: FamilyRows, label: str, index: int, middle: float) -> None:
    said, built = family.theory[index], family.built[index]
    if label == "theory" and said is not None:
        sheet.shapes += verdict(said, middle, sheet.y + 8)
    if label != "theory" and built is not None:
        text = length(built)
        half = (10 + width_of(text, SMALL)) / 2
        sheet.shapes.append(Shape("built", tick(middle - half + 4, sheet.y + 8).path))
        sheet.write(middle - half + 10, text, "made")


def length(built: HandBuilt) -> str:
    """Return a length as a short text: ``10k``."""
    to = built.verified_to
    return f"{to / 1000:.3g}k" if to >= 1000 else str(to)


def _row(sheet: Canvas, row: MapRow, family: str, band: Band, *, targets: bool) -> None:
    sheet.label(_label(row.model, family), "model", sheet.to.model(row.model))
    shapes: list[Shape] = []
    for one in band.columns:
        cell = row.cells[one.index]
        shapes += _cell(sheet, cell, one.x, one.width)
        if targets:
            title = f"{_short(row.model)} on {_short(cell.task)}: {_short(told(cell))}"
            sheet.targets.append(Target(one.x, sheet.y, one.width, title))
    # Signs come last, so that they are drawn above the bars of all cells, which share a path.
    order = {"hatch": 1, "tick": 2, "part": 2}
    sheet.shapes += gathered(sorted(shapes, key=lambda shape: order.get(shape.kind, 0)))
    sheet.y += ROW


def _label(model: str, family: str) -> str:
    """Return a model's name in its row: only the options, if the family's name says the rest."""
    options = model.removeprefix(f"{family}[")
    return model if options == model else options.removesuffix("]")


def _short(text: str) -> str:
    """Return a text, cut off after a maximum length."""
    return shortened(text, _LONGEST_TITLE, 1.0)


def _cell(sheet: Canvas, cell: MapCell, x: float, width: float) -> Sequence[Shape]:
    """Return the shapes of a cell, and write its texts."""
    middle, y = x + width / 2, sheet.y
    whole = rectangle(x, y, width, CELL_HEIGHT)
    if cell.state == "not run":
        return [dot(middle, y + CELL_HEIGHT / 2)]
    if cell.state == "failed":
        sheet.write(middle, "!", "failed")
        return [Shape("grey", whole)]
    if cell.state == "unlearned":
        sheet.write(middle, percent(cell.validation, 0), "value")
        return [Shape("grey", whole)]
    shapes = [Shape("track", whole), *bars(cell.strip, x, y, width)]
    if cell.unfinished:
        shapes.append(hatching(x, y, width))
    if cell.learned < cell.seeds:
        shapes.append(ring(x + width + GAP / 2, y + 2))
    if cell.weak:
        shapes.append(wave(middle, y + CELL_HEIGHT / 2))
    elif solved(cell):
        shapes.append(tick(middle, y + CELL_HEIGHT / 2))
    return shapes


Sign = Callable[[Canvas, float], None]


Entry = tuple[float, str, Sign]
"""An entry of a legend: the width of its sign, its text, and the function that draws the sign."""


def flow(sheet: Canvas, entries: Sequence[Entry]) -> None:
    """Place the entries of a legend side by side, in as many lines as needed."""
    x = MARGIN
    for wide, text, sign in entries:
        for place, line in enumerate(_lines(text, sheet.frame.width - 2 * MARGIN - wide - 6)):
            needed = wide + 6 + 0.92 * width_of(line, SMALL)
            if place or x + needed > sheet.frame.width - MARGIN:
                x, sheet.y = MARGIN, sheet.y + ROW - 1
            if not place:
                sign(sheet, x)
            sheet.write(x + wide + 6, line, "legend")
            x += needed + 18
    sheet.y += ROW


def _lines(text: str, room: float) -> Iterator[str]:
    """Break a text at spaces."""
    line = ""
    for word in chain(text.split(), [""]):
        if line and (not word or width_of(f"{line} {word}", SMALL) > room):
            yield line
            line = word
        else:
            line = f"{line} {word}".strip()
    if line:
        yield line
