"""How narrow GitHub can show a column of a table: as wide as its longest word, in pixels."""

from __future__ import annotations

import re
from collections.abc import Iterable

from formalbench.analysis.columns import Column, T

PAGE = 950
"""What a page has room for; a wider table has a scroll bar."""

_PADDING = 27
_BOLD = 1.08
_WIDTHS = {"name": 187.0, "command": 300.0}
_NARROW, _WIDE = frozenset("fijlrt.,:;'!|()[]/- "), frozenset("mwMW%…—@")

_BREAKS = re.compile(r"\s+|(?<=[A-Za-z]-)(?=[A-Za-z])|(?=\[)")
"""Where a browser may break; before the options of a model because `markdown.name` says so."""

_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def least_width(column: Column[T], items: Iterable[T]) -> float:
    """Return the width of a column's longest word, and of the space around it.

    Names and commands always have as much as most of them need: no name changes a table's shape.
    """
    if column.form in _WIDTHS:
        return _WIDTHS[column.form]
    texts = [_LINK.sub(r"\1", column.text(item)) for item in items]
    words = (word for text in (*texts, *column.below.values()) for word in _BREAKS.split(text))
    heading = (_BOLD * _width(word) for word in _BREAKS.split(column.heading))
    return _PADDING + max(*heading, *map(_width, words), 0.0)


def _width(word: str) -> float:
    """Return about how wide a word is in a sans-serif face of 16 pixels."""
    return sum(5.0 if sign in _NARROW else 14.0 if sign in _WIDE else 8.9 for sign in word)
