"""The map as SVG: where everything is. What it looks like is in the template `map.svg.j2`.

The same map gives the same bytes on every machine: the width of a text is estimated from its number
of letters.
"""

from __future__ import annotations

import math
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count, groupby, pairwise
from pathlib import Path
from typing import Literal

from formalbench.documents.table import CAPPED
from formalbench.documents.text import percent, shortened
from formalbench.statistics.length_profile import Step

from formalbench_leaderboard.board.sources import FIGURES
from formalbench_leaderboard.charts.language_map import (
    BY_EXPERIMENTS,
    NOTHING,
    FamilyRows,
    LanguageMap,
    MapCell,
    TheoryClaim,
    cell_text,
    sentences,
)
from formalbench_leaderboard.templating import render as from_template

TITLE = "What each family of models can express, learns and extrapolates on"

WIDE, NARROW = 960, 460
"""Widths for a web page, or both columns of a paper, and for a phone. A map with too many columns
is wider."""

MARGIN, ROW, HEIGHT, GAP, GROUP_GAP, FAMILY_GAP = 12, 20, 16, 4, 12, 6
"""In pixels, as all measures. A cell is `HEIGHT` tall in a row of `ROW`."""

NARROWEST, WIDEST = 34, 116
"""Limits of a cell's width."""

LETTER = 5.5
"""Estimated width of a letter."""

LONGEST_NAME, LONGEST_FAMILY, LONGEST_TITLE = 36, 20, 300
"""In letters; longer ones are cut off."""

TICK = "8l2.5 2.8 4.5-5.6"
"""The path of a tick, after the position of its left end."""

FEW = 1500
"""Maps with more cells have no tooltips."""

Theme = Literal["file", "page"]
"""A file follows its reader's theme, and an SVG in the web page follows the page's theme."""

CellContent = MapCell | TheoryClaim | int | None
"""What a cell shows: a result, what theory says, or the length up to which a construction is right.
"""


def parts_of(shown: CellContent) -> list[str]:
    """Return what the sign of a cell consists of: keys of `LEGEND`."""
    if shown is None:
        return []
    if not isinstance(shown, MapCell):
        return [shown if isinstance(shown, str) else "built"]
    parts = {
        "solved": shown.right_throughout and not shown.weak,
        "weak": shown.weak,
        "unfinished": shown.state == "learned" and shown.unfinished,
        "partly": shown.state == "learned" and shown.learned < shown.seeds,
        "capped": shown.state == "unlearned" and shown.capped,
    }
    return [shown.state, *(part for part, present in parts.items() if present)]


_RIGHT = MapCell("", "learned", "", (Step(0, 0, 1.0),), 1, 1)

_UNLEARNED = MapCell("", "unlearned", "", validation=0.58)

_RAMP = tuple(Step(place, place, share) for place, share in enumerate((0.0, 0.3, 0.6, 0.85, 1.0)))

_DIFFERS = "differs within the family, or unknown"

LEGEND: Mapping[str, tuple[CellContent, str]] = {
    "learned": (
        replace(_RIGHT, strip=_RAMP),
        "learned; accuracy on longer strings, from chance to perfect",
    ),
    "solved": (
        replace(_RIGHT, solved_to=0),
        "99 % or more at every tested length, on average over the seeds",
    ),
    "weak": (
        replace(_RIGHT, weak=True),
        "weak evidence: a predictor that is wrong on some test strings has over 95 %",
    ),
    "unfinished": (
        replace(_RIGHT, unfinished=1),
        "a run diverged or did not finish, and counts as chance",
    ),
    "partly": (replace(_RIGHT, learned=0), "not every seed learned"),
    "unlearned": (_UNLEARNED, "training lengths not learned: validation accuracy in %"),
    "capped": (replace(_UNLEARNED, capped=1), "a run that did not learn was stopped early"),
    "failed": (replace(_UNLEARNED, state="failed"), "no run finished"),
    "not run": (replace(_UNLEARNED, state="not run"), "not run"),
    "can": ("can", "theory: can"),
    f"can{BY_EXPERIMENTS}": (f"can{BY_EXPERIMENTS}", "experiments: some setting extrapolates"),
    "cannot": ("cannot", "theory: cannot"),
    f"cannot{BY_EXPERIMENTS}": (f"cannot{BY_EXPERIMENTS}", "experiments: does not extrapolate"),
    "some": ("some", f"theory: {_DIFFERS}"),
    f"some{BY_EXPERIMENTS}": (f"some{BY_EXPERIMENTS}", f"experiments: {_DIFFERS}"),
    "built": (10_000, "built by hand and verified up to this length"),
}
"""An example and the meaning of each part of a sign."""


LAYERS = (
    *("track", "grey", *(f"shade{shade}" for shade in range(5))),
    *("paper line", "mark", "quiet", "built line", "ink", "ink line"),
)
"""The classes of the paths, in the order in which they are drawn."""


def bars(strip: Sequence[Step], left: int, width: int) -> Iterator[tuple[str, str]]:
    """Yield the class and the path of each group of bars of one shade, from left to right.

    Their positions show the lengths.
    """
    edges = [round(width * place / len(strip)) for place in range(len(strip) + 1)]
    sizes = [end - start for start, end in pairwise(edges)]
    shades = [4 if step.share >= 0.99 else min(3, int(4 * step.share)) for step in strip]
    heights = [max(1, round(2 * HEIGHT * step.share) / 2) for step in strip]  # chance is visible
    for shade, group in groupby(range(len(strip)), key=shades.__getitem__):
        places = list(group)
        tops = "".join(f"V{HEIGHT - heights[place]:g}h{sizes[place]}" for place in places)
        yield f"shade{shade}", f"M{left + edges[places[0]]} {HEIGHT}{tops}V{HEIGHT}"


def paths_of(shown: CellContent, left: int, width: int) -> Iterator[tuple[str, str]]:
    """Yield the class and the path of each shape of a sign in a row whose upper edge is 0."""
    parts, middle = parts_of(shown), left + width // 2
    box = f"M{left} 0h{width}v{HEIGHT}h-{width}"
    if isinstance(shown, MapCell) and "learned" in parts:
        yield "track", box
        yield from bars(shown.strip, left, width)
    if "unfinished" in parts:
        lines = "".join(f"M{x} {HEIGHT}l16-16" for x in range(left, left + width - 15, 6))
        yield "paper line", lines
    if "weak" in parts:
        yield "mark", f"M{middle - 7} 8q3.5-6 7-1.5t7-1.5v3q-3.5 6-7 1.5t-7 1.5z"
    if "solved" in parts:
        yield "paper line", f"M{middle - 3} {TICK}"
    if "partly" in parts:
        yield "mark", _circle(left + width + 2, 2, 1.5)
    if "unlearned" in parts or "failed" in parts:
        yield "grey", box
    if "not run" in parts:
        yield "quiet", f"M{middle - 1} 7h2v2h-2z"
    if "built" in parts:
        yield "built line", f"M{middle - 13} {TICK}"
    verdict, _, by_experiments = (shown if isinstance(shown, str) else "").partition(" ")
    if verdict == "can":
        yield "ink", _circle(middle, 8, 4.2)
    elif verdict == "cannot":
        yield "ink line", f"M{middle - 3} 5l6 6m0-6l-6 6"
    elif verdict == "some":
        yield "ink line", _circle(middle, 8, 3.6)
        yield "ink", f"M{middle} 4.4a3.6 3.6 0 0 0 0 7.2z"
    if by_experiments:
        yield "ink line", f"M{middle - 6} 2.5q-3.5 5.5 0 11m12-11q3.5 5.5 0 11"


def _circle(x: int, y: int, radius: float) -> str:
    half = f"a{radius} {radius} 0 1 0"
    return f"M{x - radius:g} {y}{half} {2 * radius:g} 0{half}-{2 * radius:g} 0z"


def lines_of(name: str, width: float) -> list[str]:
    """Return a name broken at spaces and hyphens; empty if it does not fit in two lines."""
    letters = max(1, int(width / LETTER))
    lines = textwrap.wrap(name, letters, break_long_words=False)
    return lines if len(lines) <= 2 and all(len(line) <= letters for line in lines) else []


class MapLayout:
    """A drawing of a map, made from top to bottom.

    Attributes:
        width: its width, at least as asked for.
        y: its height so far.
        paths: the path of each class in each row, by the row's upper edge and the class.
        tooltips: left and upper edge, width and text.
        texts: the position of a text, its content, its class in the template, and its address.
        rules: horizontal lines: left end, height and length.
    """

    def __init__(self, shown: LanguageMap, width: int, address: Callable[[str, str], str]) -> None:
        self.width, self.y = width, MARGIN
        self.paths = defaultdict[int, defaultdict[str, str]](lambda: defaultdict(str))
        self.tooltips = list[tuple[int, int, int, str]]()
        self.texts = list[tuple[int, int, str, str, str]]()
        self.rules = list[tuple[int, int, int]]()
        self._map, self._address = shown, address
        self._few = len(shown.cells) <= FEW
        self._legend()
        if not shown.columns:
            self._write(MARGIN, NOTHING, "family")
            self.y += ROW + MARGIN
            return
        names = [_label(row.model, one.name) for one in shown.families for row in one.rows]
        names += [f"{shortened(one.name, LONGEST_FAMILY)} built by hand" for one in shown.families]
        letters = max(len(shortened(name, LONGEST_NAME)) for name in names)
        self._left = round(MARGIN + LETTER * letters)
        cells = range(WIDEST, NARROWEST, -1)
        room = width - MARGIN
        self._cell = next((cell for cell in cells if self._columns(cell)[1] <= room), NARROWEST)
        groups, right = self._columns(self._cell)
        self.width = max(width, right + MARGIN)
        self._head(groups)
        for family in shown.families:
            self._family(family)
        self.y += MARGIN - FAMILY_GAP

    def _write(self, x: float, text: str, kind: str, href: str = "", up: int = 0) -> None:
        """Write a text on the current row, or above it."""
        self.texts.append((round(x), self.y + 12 - up, text, kind, href))

    def _sign(self, shown: CellContent, left: int, width: int) -> None:
        """Draw a sign on the current row, in the area of a cell."""
        for kind, path in paths_of(shown, left, width):
            self.paths[self.y][kind] += path
        parts, middle = parts_of(shown), left + width // 2
        if isinstance(shown, MapCell) and {"unlearned", "failed"} & {*parts}:
            text = "!" if shown.state == "failed" else percent(shown.validation, 0)
            self._write(middle, f"{text}{CAPPED if 'capped' in parts else ''}", "middle")
        if isinstance(shown, int):
            text = f"{shown / 1000:.3g}k" if shown >= 1000 else f"{shown}"
            self._write(middle - 4, text, "built")

    def _legend(self) -> None:
        """Place the entries side by side, in as many lines as needed."""
        rows = [row.cells for family in self._map.families for row in family.rows]
        heads = [head for one in self._map.families for head in (one.theory, one.built)]
        used = {part for row in [*rows, *heads] for shown in row for part in parts_of(shown)}
        entries = [entry for part, entry in LEGEND.items() if part in used]
        windows = {(one.first, one.last) for one in self._map.columns if one.first and one.last}
        if "learned" in used and len(windows) <= 3:
            lengths = " or ".join(f"{first}–{last}" for first, last in sorted(windows))
            entries.insert(1, (None, f"Strings of {lengths} symbols, left to right."))
        if self._map.protocol:
            entries.append((None, f"Protocol {shortened(self._map.protocol, LONGEST_NAME)}."))
        x = MARGIN
        for shown, text in entries:
            sign = 0 if shown is None else 24 if isinstance(shown, str) else 38
            length = round(sign + 0.9 * LETTER * len(text))
            if x > MARGIN and x + length > self.width - MARGIN:
                x, self.y = MARGIN, self.y + ROW
            self._write(x + sign, text, "legend quiet")
            self._sign(shown, x, sign - 8)
            x += length + GROUP_GAP
        self.y += ROW + MARGIN if entries else 0

    def _columns(self, cell: int) -> tuple[list[tuple[str, int, int, list[int]]], int]:
        """Return the classes, for a width of cells, and where the last one ends.

        A class has a name, a left edge, a width, and the left edges of its columns.
        """
        groups, left = list[tuple[str, int, int, list[int]]](), self._left + 10
        for group, columns in groupby(self._map.columns, key=lambda one: one.group):
            name = shortened(group, LONGEST_NAME)
            places = [left + (cell + GAP) * place for place, _ in enumerate(columns)]
            least = places[-1] + cell - left
            width = next(wide for wide in count(least) if lines_of(name, 0.85 * wide) or not name)
            groups.append((name, left, width, places))
            left += width + GROUP_GAP
        return groups, left - GROUP_GAP

    def _head(self, groups: Sequence[tuple[str, int, int, list[int]]]) -> None:
        """Write the names of the classes, a rule below each, and the names of the languages."""
        heads = [lines_of(name, 0.85 * width) for name, _, width, _ in groups]
        self.y += 13 * max(map(len, heads))
        for (_, x, width, _), lines in zip(groups, heads, strict=True):
            self.rules.append((x, self.y + 3, width))
            for place, line in enumerate(reversed(lines)):
                self._write(x, line, "group", up=14 + 13 * place)
        tasks = [column.task for column in self._map.columns]
        names = [shortened(task, 24) for task in tasks]
        wrapped = [lines_of(name, self._cell) for name in names]
        kind = "task" if all(wrapped) else "turned"
        if kind == "turned":
            wrapped = [[name] for name in names]
            self.y += round(LETTER * max(map(len, names))) - 12
        self.y += 12 * max(map(len, wrapped))
        self._places = [place for *_, places in groups for place in places]
        for x, task, lines in zip(self._places, tasks, wrapped, strict=True):
            for place, line in enumerate(reversed(lines)):
                middle = x + self._cell / 2
                self._write(middle, line, kind, self._address("task", task), up=5 + 12 * place)
        self.y += 14

    def _family(self, family: FamilyRows) -> None:
        """Draw what is said of a family, and its models."""
        heads = {"theory": family.theory, "built by hand": family.built}
        heads = {label: cells for label, cells in heads.items() if any(cells)}
        if heads or [row.model for row in family.rows] != [family.name]:
            self._write(MARGIN, shortened(family.name, LONGEST_FAMILY), "family")
            self.y += 0 if heads else ROW
        for label, cells in heads.items():
            self._row(label, "head quiet", cells)
        for row in family.rows:
            self._row(_label(row.model, family.name), "model", row.cells, row.model)
        self.y += FAMILY_GAP

    def _row(self, label: str, kind: str, row: Iterable[CellContent], model: str = "") -> None:
        href = self._address("model", model) if model else ""
        self._write(self._left, shortened(label, LONGEST_NAME), kind, href)
        for x, cell in zip(self._places, row, strict=True):
            self._sign(cell, x, self._cell)
            if isinstance(cell, MapCell) and self._few:
                names = f"{shortened(model, LONGEST_NAME)} on {shortened(cell.task, LONGEST_NAME)}"
                title = shortened(f"{names}: {cell_text(cell)}", LONGEST_TITLE)
                self.tooltips.append((x, self.y, self._cell, title))
        self.y += ROW


def _label(model: str, family: str) -> str:
    """Return a model's name in its row: only the options, if the family's name says the rest."""
    options = model.removeprefix(f"{family}[")
    return model if options == model else options.removesuffix("]")


def render(
    shown: LanguageMap,
    theme: Theme = "file",
    width: int = WIDE,
    address: Callable[[str, str], str] = lambda kind, name: "",
    name: str = "map",
    tallest: float = math.inf,
) -> str:
    """Return the map as SVG.

    Args:
        shown: the map.
        theme: its colours.
        width: its width, if its columns fit.
        address: returns the address of a page, by ``model`` or ``task`` and a name.
        name: prefix of the identifiers in the SVG, which must be unique on a page.
        tallest: its maximum height. Families without a measured model are left out if it is taller,
            then models until it fits: the last one of the family with the most models, but every
            family keeps one; then the rows of what is built by hand.
    """
    families = shown.families
    sheet = MapLayout(shown, width, address)
    if sheet.y > tallest:
        families = tuple(family for family in families if family.rows)
        sheet = MapLayout(replace(shown, families=families), width, address)
    while sheet.y > tallest:
        target = max(families, key=lambda family: len(family.rows), default=None)
        if target is None or len(target.rows) < 2:
            without = tuple(replace(family, built=()) for family in families)
            sheet = MapLayout(replace(shown, families=without), width, address)
            break
        shorter = replace(target, rows=target.rows[:-1])
        families = tuple(shorter if family is target else family for family in families)
        sheet = MapLayout(replace(shown, families=families), width, address)
    return from_template(
        "map.svg.j2",
        id=name,
        theme=theme,
        title=TITLE,
        said=" ".join(sentences(shown)),
        sheet=sheet,
        layers=LAYERS,
        cell=HEIGHT,
    )


FILES = {
    "map": (WIDE, math.inf),
    "map-narrow": (NARROW, math.inf),
    "readme-map": (WIDE, 500),
    "readme-map-narrow": (NARROW, 640),
}
"""The width and the maximum height of each file: in the README, 500 pixels when the map is 960 or,
on a phone, 360 wide."""


def map_files(shown: LanguageMap) -> dict[Path, str]:
    """Return every file of a map by its path below the root; none for a map without columns."""
    sizes = FILES if shown.columns else {}
    return {
        FIGURES / f"{name}.svg": render(shown, width=width, tallest=tallest)
        for name, (width, tallest) in sizes.items()
    }
