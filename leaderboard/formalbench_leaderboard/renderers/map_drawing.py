"""The map put on a sheet: every text, shape and target with its place, before any markup."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from formalbench.analysis.map import FamilyRows, HandBuilt, LanguageMap, MapCell, MapRow
from formalbench.analysis.map_sentences import NOTHING, told
from formalbench.analysis.text import percent

from formalbench_leaderboard.renderers import map_ink as ink
from formalbench_leaderboard.renderers.map_layout import (
    CELL_HEIGHT,
    GAP,
    MARGIN,
    ROW,
    SMALL,
    TEXT,
    Band,
    Frame,
    bands,
    shortened,
    width_of,
)

Address = Callable[[str], str]


_LONGEST_TITLE = 150.0
_LONGEST_LABEL = 210.0


@dataclass(frozen=True, slots=True)
class Lettering:
    """A text.

    Attributes:
        x: where it begins, lies in the middle or ends, as its kind is.
        y: its baseline.
        content: what it says.
        kind: how it looks, a class of the drawing's style.
        href: what it leads to, if anything.
    """

    x: float
    y: float
    content: str
    kind: str
    href: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """A cell to be pointed at, and what it says."""

    x: float
    y: float
    width: float
    title: str


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where models and tasks are told; nowhere in a file of its own."""

    model: Address = lambda name: ""
    task: Address = lambda name: ""


@dataclass(slots=True)
class Canvas:
    """A sheet that is being filled from above.

    Attributes:
        frame: its measures.
        to: what is linked to.
        y: down to where it is filled.
    """

    frame: Frame
    to: Addresses
    y: float = MARGIN
    texts: list[Lettering] = field(default_factory=list)
    shapes: list[ink.Shape] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)

    def label(self, text: str, kind: str, href: str = "") -> None:
        """Write the name of a row."""
        shown = shortened(text, self.frame.label, TEXT)
        at = self.frame.left - 10
        self.texts.append(Lettering(at, self.y + 12, shown, kind, href))

    def write(self, x: float, text: str, kind: str) -> None:
        """Write on the row that is being filled."""
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
        frame: how wide it is.
        to: where models and tasks are told.
        targets: whether cells are told one by one where they are pointed at.
        legend: writes the legend above the map; without it there is none.
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
    """Leave out the rows of which nothing was run in a band."""
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
        paths.append(f"M{ink.number(heading.x)} {ink.number(rule)}h{ink.number(heading.width)}")
    sheet.shapes.append(ink.Shape("rule", "".join(paths)))
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
        sheet.shapes += ink.verdict(said, middle, sheet.y + 8)
    if label != "theory" and built is not None:
        text = length(built)
        half = (10 + width_of(text, SMALL)) / 2
        sheet.shapes.append(ink.Shape("built", ink.tick(middle - half + 4, sheet.y + 8).path))
        sheet.write(middle - half + 10, text, "made")


def length(built: HandBuilt) -> str:
    """Return a length in few signs: ``10k``."""
    to = built.verified_to
    return f"{to / 1000:.3g}k" if to >= 1000 else str(to)


def _row(sheet: Canvas, row: MapRow, family: str, band: Band, *, targets: bool) -> None:
    sheet.label(_label(row.model, family), "model", sheet.to.model(row.model))
    shapes: list[ink.Shape] = []
    for one in band.columns:
        cell = row.cells[one.index]
        shapes += _cell(sheet, cell, one.x, one.width)
        if targets:
            title = f"{_short(row.model)} on {_short(cell.task)}: {_short(told(cell))}"
            sheet.targets.append(Target(one.x, sheet.y, one.width, title))
    # Signs come last, so that no bar of another cell, put into one path with theirs, covers them.
    sheet.shapes += ink.gathered(sorted(shapes, key=lambda shape: shape.kind in ("tick", "part")))
    sheet.y += ROW


def _label(model: str, family: str) -> str:
    """Return a model as its row is named: the options alone where the family says the rest."""
    options = model.removeprefix(f"{family}[")
    return model if options == model else options.removesuffix("]")


def _short(text: str) -> str:
    """Return a text as far as anybody reads it."""
    return shortened(text, _LONGEST_TITLE, 1.0)


def _cell(sheet: Canvas, cell: MapCell, x: float, width: float) -> Sequence[ink.Shape]:
    """Return the shapes of a cell, and write what it says in letters."""
    middle, y = x + width / 2, sheet.y
    whole = ink.rectangle(x, y, width, CELL_HEIGHT)
    if cell.state == "not run":
        return [ink.dot(middle, y + CELL_HEIGHT / 2)]
    if cell.state == "failed":
        sheet.write(middle, "!", "failed")
        return [ink.Shape("grey", whole)]
    if cell.state == "unlearned":
        sheet.write(middle, percent(cell.validation, 0), "value")
        return [ink.Shape("grey", whole)]
    shapes = [ink.Shape("track", whole), *ink.bars(cell.strip, x, y, width)]
    if cell.learned < cell.seeds:
        shapes.append(ink.ring(x + width + GAP / 2, y + 2))
    if cell.weak:
        shapes.append(ink.wave(middle, y + CELL_HEIGHT / 2))
    elif ink.solved(cell):
        shapes.append(ink.tick(middle, y + CELL_HEIGHT / 2))
    return shapes


Sign = Callable[[Canvas, float], None]
Entry = tuple[float, str, Sign]
"""What a legend tells: how wide its sign is, the text beside it, and what draws the sign."""


def flow(sheet: Canvas, entries: Sequence[Entry]) -> None:
    """Put the entries of a legend side by side, in as many lines as it takes."""
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
