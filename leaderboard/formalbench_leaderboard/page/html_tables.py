"""Tables and sentences as HTML that can be read without a script.

A cell carries the value by which its column is sorted (``data-sort``); empty values come last.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import quote

from formalbench.contracts.paper_tables import PublishedTable
from formalbench.documents.table import FAILED, Column, Sheet
from formalbench.documents.text import MISSING, harmless
from formalbench.statistics.board import Board, ExactModels, Row
from formalbench.statistics.result import Result
from markupsafe import Markup, escape

from formalbench_leaderboard.board.paper_comparison import published_table as paper_numbers
from formalbench_leaderboard.board.tables import exact_table as exact_models
from formalbench_leaderboard.board.tables import ranking, validation
from formalbench_leaderboard.renderers.formats import HOW_TO_READ

_MARKED = re.compile(r"\*\*(.+?)\*\*|`(.+?)`")


def how_to_read() -> list[Markup]:
    """Return the bullets of "How to read it"."""
    bullets = re.split(r"^- ", HOW_TO_READ, flags=re.MULTILINE)[1:]
    return [marked(bullet) for bullet in bullets]


def marked(text: str) -> Markup:
    """Return text with ``**strong**`` and `` `code` `` as elements."""

    def element(match: re.Match[str]) -> str:
        return f"<strong>{match[1]}</strong>" if match[1] else f"<code>{match[2]}</code>"

    return Markup(_MARKED.sub(element, str(escape(harmless(text)))))  # noqa: S704 - escaped


def breakable(name: str) -> Markup:
    """Return a name that may be wrapped before an option, and on a phone within one."""
    model, bracket, options = harmless(name).partition("[")
    if not (model and bracket):
        # Do not wrap at a hyphen before a number: tomita-3.
        html = re.sub(r"(-\d+)", r'<span class="keep">\1</span>', str(escape(harmless(name))))
        return Markup(html)  # noqa: S704 - escaped
    parts = re.split(r"(?<==)|(?<=, )", bracket + options)
    html = Markup("<wbr>").join(map(escape, parts))
    return Markup('{}<wbr><span class="options">{}</span>').format(model, html)


T = TypeVar("T")


_LINK = Markup('<a href="{}">{}</a>')


_MARK = Markup('<abbr title="{}">{}</abbr>')


_ASCENDING = frozenset({"rank", "parameters"})


_LEFT = frozenset({"interval"})


_LAST = ("IQM", "parameters")
"""Columns of the ranking that are shown after the tasks."""


Attributes = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class PageCell:
    """A cell: text or HTML, and its attributes; those that are None are left out."""

    text: str | Markup | None
    attributes: Attributes = field(default_factory=dict)
    head: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A row of a table."""

    cells: Sequence[PageCell]
    attributes: Attributes = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TableHead:
    """The head of a column: its text, its attributes, and the address of its link (or None)."""

    text: Markup
    name: str
    attributes: Attributes
    address: str | None


@dataclass(frozen=True, slots=True)
class SortableTable:
    """A table that the script can sort."""

    caption: str
    heads: Sequence[TableHead]
    body: Sequence[Line]
    foot: Sequence[Line] = ()
    kind: str = ""


def link(kind: str, name: str) -> Markup:
    """Return a link to the view of a model or a task."""
    return _LINK.format(address(kind, name), breakable(name))


def address(kind: str, name: str) -> str:
    """Return the address of the view of a model or a task."""
    return f"#{kind}={quote(harmless(name), safe='')}"


def board_table(board: Board, numbers: Mapping[tuple[str, str], int]) -> SortableTable:
    """Return the ranking: a row per model, a column per task of the suite.

    Args:
        board: the board.
        numbers: the number of each result on the page, by the row's model and the task.
    """
    kinds = len({row.kind for row in board.rows}) > 1
    sheet = ranking(board).without("IQM interval", *([] if kinds else ["kind"]))
    sheet = Sheet([*sheet.without(*_LAST).columns, *sheet.only(*_LAST).columns], sheet.items)

    def special(column: Column[Row], row: Row) -> PageCell | None:
        if column.form == "name":
            return PageCell(link("model", row.model), {"scope": "row"}, head=True)
        if column.form == "cell":
            facts = board.facts_of(column.heading)
            accuracy = facts is None or facts.measure.accuracy
            number = numbers.get((row.model, column.heading)) if accuracy else None
            return _cell(column, row, row.on(column.heading), accuracy, number)
        if column.heading == "interval":
            text = Markup("{}<small>{}</small>").format(_glyph(row), column.text(row))
            return PageCell(text, {"class": "left glyph", "data-sort": _order(column, row)})
        return None

    lines = [
        Line(
            _cells(sheet, row, special),
            {"data-row": str(place), "data-model": harmless(row.model), "data-kind": row.kind},
        )
        for place, row in enumerate(board.rows)
    ]
    caption = f"Protocol {board.name}, in percent"
    return SortableTable(caption, _heads(sheet, sorted_by="rank"), lines, _foot(sheet), "board")


def exact_table(exact: ExactModels) -> SortableTable:
    """Return the table of exact models."""
    return _plain_table(exact_models(exact), "Exact models, verified in fp64")


def published_table(paper: PublishedTable) -> SortableTable:
    """Return a paper's table: for each task, the maximum and the mean."""
    caption = f"{harmless(paper.source)}: maximum / mean, in percent"
    return _plain_table(paper_numbers(paper), caption)


def _plain_table(sheet: Sheet[T], caption: str) -> SortableTable:
    def special(column: Column[T], item: T) -> PageCell | None:
        if column.form == "name":
            return PageCell(breakable(column.text(item)), {"scope": "row"}, head=True)
        return None

    lines = [Line(_cells(sheet, item, special)) for item in sheet.items]
    return SortableTable(caption, _heads(sheet), lines)


def _heads(sheet: Sheet[T], sorted_by: str = "") -> list[TableHead]:
    return [
        TableHead(
            breakable(column.heading),
            harmless(column.heading),
            {
                "class": _class(column, head=True),
                "title": column.meaning,
                "aria-sort": "ascending" if column.heading == sorted_by else None,
                "data-first": "ascending" if column.left or column.heading in _ASCENDING else None,
            },
            address("task", column.heading) if column.form == "cell" else None,
        )
        for column in sheet.columns
    ]


def _class(column: Column[T], *, head: bool = False) -> str | None:
    names = ["left"] * (column.left or column.heading in _LEFT)
    names += [column.heading] * (column.heading == "score" and not (head and not names))
    names += ["name"] * (head and column.form == "name")
    return " ".join(names) or None


Special = Callable[[Column[T], T], PageCell | None]
"""Returns the cell of an item in a column, if it is more than the column's text."""


def _cells(sheet: Sheet[T], item: T, special: Special[T]) -> list[PageCell]:
    return [special(column, item) or _plain_cell(column, item) for column in sheet.columns]


def _plain_cell(column: Column[T], item: T) -> PageCell:
    order = None if column.left else _order(column, item)
    return PageCell(column.text(item), {"class": _class(column), "data-sort": order})


def _order(column: Column[T], item: T) -> str:
    value = column.order(item)
    return "" if value is None else f"{value:.6g}"


_DRAWING = Markup(
    '<svg class="interval" viewBox="0 0 84 14" width="84" height="14" '
    'aria-hidden="true" focusable="false">'
    '<path class="scale" d="M5.0 7H79.0M5.0 4v6M42.0 4v6M79.0 4v6"/>'
    '<path class="bar" d="M{:.1f} 7H{:.1f}"/><circle cx="{:.1f}" cy="7" r="2.5"/></svg>'
)


def _glyph(row: Row) -> Markup:
    """Return the interval of a score as a drawing, hidden from screen readers.

    An end below zero (worse than chance) stays at the left end of the scale.
    """
    if row.score is None or row.low is None or row.high is None:
        return Markup()
    shares = (min(1.0, max(0.0, share)) for share in (row.low, row.high, row.score))
    return _DRAWING.format(*(5 + 74 * share for share in shares))


def _cell(
    column: Column[Row], row: Row, result: Result | None, accuracy: bool, number: int | None
) -> PageCell:
    """Return the result of a row on a task; the colour is the scaled accuracy, if it learned it.

    Tasks that are not shown by accuracy have no colour, since the best possible value is unknown.
    """
    if result is None:
        return PageCell(MISSING, {"class": "cell", "data-sort": ""})
    text: str | Markup = column.text(row).removesuffix(f" {FAILED}")
    unlearned = result.unlearned and accuracy
    if unlearned:
        text = _MARK.format(f"validation {validation(result)}", text)
    if result.marked:
        text = escape(text) + _MARK.format(result.outcome, f" {FAILED}")
    share = 0.0 if unlearned or not accuracy else max(0.0, result.scaled or 0.0)
    attributes = {
        "class": "cell unlearned" if unlearned else "cell",
        "data-sort": _order(column, row),
        "style": f"--share:{share:.3g}",
        "data-result": None if number is None else str(number),
    }
    return PageCell(text, attributes)


def _foot(sheet: Sheet[Row]) -> list[Line]:
    """Return the values that are the same for every model: chance, classes."""
    return [Line(list(_below(sheet, name, texts))) for name, texts in sheet.below.items()]


def _below(sheet: Sheet[Row], name: str, texts: Sequence[str | None]) -> Iterator[PageCell]:
    for column, text in zip(sheet.columns, texts, strict=True):
        if column.form == "name":
            yield PageCell(name, {"scope": "row"}, head=True)
        else:
            value = text or (MISSING if column.form == "cell" else None)
            yield PageCell(value, {"class": _class(column)})
