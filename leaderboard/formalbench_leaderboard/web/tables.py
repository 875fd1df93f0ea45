"""The tables of the page as HTML, to be read without a script; the script sorts and filters them.

A column's cells carry what they are sorted by (``data-sort``); an empty one comes last.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar
from urllib.parse import quote

from formalbench.analysis.board import Board, Row
from formalbench.analysis.columns import FAILED, Column
from formalbench.analysis.columns import Table as Shown
from formalbench.analysis.constructions import ExactModel, ExactModels
from formalbench.analysis.results import Result
from formalbench.analysis.tables import exact_table as exact_models
from formalbench.analysis.tables import published_table as paper_numbers
from formalbench.analysis.tables import ranking
from formalbench.analysis.tables.outcomes import validation
from formalbench.analysis.text import MISSING, harmless
from formalbench.contracts.published import PublishedTable

from formalbench_leaderboard.web.glyph import interval_glyph
from formalbench_leaderboard.web.html import Html, element, joined

T = TypeVar("T")


def link(kind: str, name: str) -> Html:
    """Return a link to the view of a model or a task."""
    return element("a", _breakable(name), href=_address(kind, name))


def _address(kind: str, name: str) -> str:
    return f"#{kind}={quote(harmless(name), safe='')}"


def board_table(board: Board) -> Html:
    """Return the ranking: a row per model, a column per task of the suite."""
    kinds = len({row.kind for row in board.rows}) > 1
    shown = ranking(board).without("IQM interval", *([] if kinds else ["kind"]))
    names = {column.heading: column for column in shown.columns}

    def special(column: Column[Row], row: Row) -> Html | None:
        if column.form == "name":
            return element("th", link("model", row.model), scope="row")
        if column.form == "cell":
            return _cell(column, row, row.on(column.heading))
        if column is names["interval"]:
            return element(
                "td",
                _glyph(row),
                element("small", column.text(row)),
                class_="left glyph",
                data_sort=_order(column, row),
            )
        return None

    rows = [
        element(
            "tr",
            *_cells(shown, row, special),
            data_row=str(place),
            data_model=harmless(row.model),
            data_kind=row.kind,
        )
        for place, row in enumerate(board.rows)
    ]
    return element(
        "table",
        element("caption", f"Protocol {board.name}, in percent"),
        _heads(shown, sorted_by="rank"),
        element("tbody", *rows),
        _foot(shown),
        class_="sortable n-last board",
    )


Special = Callable[[Column[T], T], Html | None]
"""The cell of an item below a column, where it is more than its text."""

_ASCENDING = frozenset({"rank", "within", "parameters"})
_LEFT = frozenset({"interval", "within"})


def _heads(shown: Shown[T], sorted_by: str = "") -> Html:
    """Return the heads of the columns, each with a button that sorts by it."""
    heads = [
        element(
            "th",
            element("button", _breakable(column.heading), type="button"),
            scope="col",
            class_=_class(column, head=True),
            title=column.meaning,
            aria_sort="ascending" if column.heading == sorted_by else None,
            data_first="ascending" if column.left or column.heading in _ASCENDING else None,
        )
        for column in shown.columns
    ]
    return element("thead", element("tr", *heads))


def _class(column: Column[T], *, head: bool = False) -> str | None:
    names = ["left"] * (column.left or column.heading in _LEFT)
    names += [column.heading] * (column.heading in ("within", "score") and not (head and not names))
    names += ["name"] * (head and column.form == "name")
    return " ".join(names) or None


def _cells(shown: Shown[T], item: T, special: Special[T]) -> Iterator[Html]:
    for column in shown.columns:
        yield special(column, item) or element(
            "td",
            column.text(item),
            class_=_class(column),
            data_sort=None if column.left else _order(column, item),
        )


def _order(column: Column[T], item: T) -> str:
    value = column.order(item)
    return "" if value is None else f"{value:.9g}"


def _glyph(row: Row) -> Html | None:
    if row.score is None or row.low is None or row.high is None:
        return None
    return interval_glyph(row.score, row.low, row.high)


def _cell(column: Column[Row], row: Row, result: Result | None) -> Html:
    """Return what a row reached on a task; its colour is the scaled accuracy, if it learned it."""
    if result is None:
        return element("td", MISSING, data_sort="", class_="cell")
    text = column.text(row).removesuffix(f" {FAILED}")
    told = f"validation {validation(result)}" if result.unlearned else None
    share = 0.0 if result.unlearned else max(0.0, result.scaled or 0.0)
    return element(
        "td",
        element("abbr", text, title=told) if told else text,
        element("abbr", f" {FAILED}", title=result.outcome)
        if result.finished < result.seeds
        else None,
        class_="cell unlearned" if told else "cell",
        data_sort=_order(column, row),
        style=f"--share:{share:.3f}",
    )


def _foot(shown: Shown[Row]) -> Html:
    """Return what is the same for every model: chance, classes, and where a task is told."""
    about = {
        column.heading: _about(column.heading) for column in shown.columns if column.form == "cell"
    }
    lines: dict[str, list[str | None]] = dict(shown.below)
    lines["task"] = [about.get(column.heading) for column in shown.columns]
    return element(
        "tfoot",
        *(
            element(
                "tr",
                *(
                    element("th", name, scope="row")
                    if column.form == "name"
                    else element("td", text or (MISSING if column.form == "cell" else None))
                    for column, text in zip(shown.columns, texts, strict=True)
                ),
            )
            for name, texts in lines.items()
        ),
    )


def _about(title: str) -> Html:
    return element("a", "about", href=_address("task", title), aria_label=f"about {title}")


def exact_table(exact: ExactModels) -> Html:
    """Return the table of exact models."""
    return _plain_table(exact_models(exact), "Exact models, verified in fp64", "asc")


def published_table(paper: PublishedTable) -> Html:
    """Return a paper's table: below each task the maximum and the mean."""
    return _plain_table(paper_numbers(paper), "Published: maximum / mean, in percent")


def _plain_table(shown: Shown[T], caption: str, more: str = "") -> Html:
    def special(column: Column[T], item: T) -> Html | None:
        if column.form == "name":
            return element("th", _breakable(column.text(item)), scope="row")
        return None

    return element(
        "table",
        element("caption", caption),
        _heads(shown),
        element("tbody", *(element("tr", *_cells(shown, item, special)) for item in shown.items)),
        class_=f"sortable n-last {more}".rstrip(),
    )


def commands(rows: Iterable[ExactModel]) -> Html:
    """Return the commands that verify exact models again."""
    items = [element("li", element("code", command)) for row in rows for command in row.commands]
    return element("ul", *items, class_="commands")


def _breakable(name: str) -> Html:
    """Return a name that may break into lines before its options, and on a phone within them."""
    model, bracket, options = harmless(name).partition("[")
    if not (model and bracket):
        # A hyphen before a number is no place to break: tomita-3.
        parts = re.split(r"(-\d+)", name)
        kept = [
            element("span", part, class_="keep") if n % 2 else part for n, part in enumerate(parts)
        ]
        return joined(*kept)
    texts = re.split(r"(?<==)|(?<=,) ", bracket + options)
    inside = [part for text in texts for part in (Html("<wbr>"), text)]
    return joined(model, Html("<wbr>"), element("span", *inside[1:], class_="options"))
