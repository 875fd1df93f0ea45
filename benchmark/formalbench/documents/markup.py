"""Tables and text as Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from tabulate import tabulate

from formalbench.documents import text
from formalbench.documents.table import Column, Sheet, T

PAGE = 950
"""Maximum width of a table on a page; a wider table gets a scroll bar."""

_PADDING = 27

_BOLD = 1.08

_WIDTHS = {"name": 187.0, "command": 300.0}

_NARROW, _WIDE = frozenset("fijlrt.,:;'!|()[]/- "), frozenset("mwMW%…—@")

_BREAKS = re.compile(r"\s+|(?<=[A-Za-z]-)(?=[A-Za-z])|(?=\[)")
"""Places where a browser may break a line; `name` allows one before a model's options."""

_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def least_width(column: Column[T], items: Iterable[T]) -> float:
    """Return the width of a column's longest word, including the space around it.

    Names and commands have a fixed width, so that no name changes the layout of a table.
    """
    if column.form in _WIDTHS:
        return _WIDTHS[column.form]
    texts = [_LINK.sub(r"\1", column.text(item)) for item in items]
    words = (word for text in (*texts, *column.below.values()) for word in _BREAKS.split(text))
    heading = (_BOLD * _width(word) for word in _BREAKS.split(column.heading))
    return _PADDING + max(*heading, *map(_width, words), 0.0)


def _width(word: str) -> float:
    """Return the approximate width of a word in a sans-serif font of 16 pixels."""
    return sum(5.0 if sign in _NARROW else 14.0 if sign in _WIDE else 8.9 for sign in word)


U = TypeVar("U")

MOST_COLUMNS = 12
"""Maximum columns of a table; with more, GitHub shows a scroll bar."""


class Markdown(str):
    """Text that is already Markdown."""

    __slots__ = ()


def written(value: object) -> Markdown:
    """Return a value as Markdown; text that is not Markdown yet is escaped."""
    return value if isinstance(value, Markdown) else Markdown(text.markdown(str(value)))


def code(command: str) -> Markdown:
    """Return a command as code, to be copied."""
    return Markdown(f"<code>{written(command)}</code>")


def name(shown: str) -> Markdown:
    """Return a name that may break into two lines before its options."""
    model, bracket, options = shown.partition("[")
    if not (model and options.endswith("]")):
        return written(shown)
    return Markdown(f"{written(model)}<wbr>{written(bracket + options)}")


def link(shown: str, target: str) -> Markdown:
    """Return a link with the text `shown` to the address `target`."""
    return Markdown(f"[{written(shown)}]({target})")


def bullets(lines: Iterable[str]) -> Markdown:
    """Return lines as a bullet list."""
    return Markdown("\n".join(f"- {written(line)}" for line in lines))


def table(shown: Sheet[U], head: Callable[[str], str] = written, **instead: Any) -> Markdown:
    """Return a table; a table that is too wide is split into several below each other.

    The lines below the rows come last, in italics.

    Args:
        shown: the columns and the items.
        head: formats a heading.
        instead: functions that format an item, by the heading of their column.
    """
    return Markdown("\n\n".join(_table(part, head, instead) for part in _narrow(shown)))


def _narrow(sheet: Sheet[U]) -> Iterator[Sheet[U]]:
    """Distribute columns over tables that fit; each begins with the columns that name the rows."""
    widths = {id(column): least_width(column, sheet.items) for column in sheet.columns}
    names = [
        column
        for place, column in enumerate(sheet.columns[:MOST_COLUMNS])
        if not place or column.form in ("name", "words")
    ]
    part: list[Column[U]] = []
    new = False
    for column in sheet.columns:
        wide = sum(widths[id(c)] for c in (*part, column)) > PAGE
        if new and (wide or len(part) == MOST_COLUMNS):
            yield Sheet(part, sheet.items)
            part, new = [*names], False
        part.append(column)
        new = new or column not in names
    yield Sheet(part, sheet.items)


def _table(sheet: Sheet[U], head: Callable[[str], str], instead: dict[str, Any]) -> str:
    writers = [_writer(column, instead.get(column.heading)) for column in sheet.columns]
    rows = [[write(item) for write in writers] for item in sheet.items]
    for name, texts in sheet.below.items():
        row = zip(sheet.columns, texts, strict=True)
        rows.append(
            [f"*{name}*" if column.form == "name" else written(cell or "") for column, cell in row]
        )
    return tabulate(
        rows,
        [head(heading) for heading in sheet.headings],
        tablefmt="pipe",
        disable_numparse=True,
        colalign=["left" if column.left else "right" for column in sheet.columns],
    )


def _writer(column: Column[U], instead: Callable[[U], str] | None) -> Callable[[U], str]:
    if instead is not None:
        return lambda item: written(instead(item))
    if column.form == "cell":
        return column.text  # a number and our own marks; brackets alone make no link
    write = {"command": code, "name": name}.get(column.form, written)
    return lambda item: write(column.text(item))
