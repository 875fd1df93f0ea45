"""Columns: the contents of tables, independent of the renderer.

A renderer knows only markup and escaping: it writes the text that each column of a table returns
for an item.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Generic, Literal, TypeVar

from formalbench.documents.text import MISSING, interval, percent

T = TypeVar("T")

U = TypeVar("U")

V = TypeVar("V")

Datum = str | int | float | None

Form = Literal["number", "words", "name", "command", "cell"]

FAILED = "⚠"
"""Mark of a cell with a run that did not finish; a renderer may replace it."""

SOME = "°"
"""Mark of a cell in which some seeds did not learn the training lengths; a renderer may replace
it."""

CAPPED = "‡"
"""Mark of a cell with a seed that did not learn and whose training was capped."""

DOUBTFUL = "~"
"""Mark of a cell that is weak evidence for the language (`formalbench.statistics.result`)."""


def share(value: float | None) -> float | None:
    """Return a share rounded to six digits, for data files."""
    return None if value is None else round(value, 6) + 0.0


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """One column of a table.

    Attributes:
        heading: the heading.
        meaning: the meaning of the column, in one line.
        text: returns the text of an item, before escaping.
        data: functions that return an item's data, by name in data files; rows are sorted by the
            first.
        form: ``number``; ``words``; ``name`` of the row; ``command`` to copy; ``cell``, the
            accuracy on a task.
        less: whether smaller values are better.
        below: texts in this column by the name of a line below the table.
    """

    heading: str
    meaning: str
    text: Callable[[T], str]
    data: Mapping[str, Callable[[T], Datum]] = field(default_factory=dict)
    form: Form = "number"
    below: Mapping[str, str] = field(default_factory=dict)
    less: bool = False

    @property
    def left(self) -> bool:
        """Whether the column is aligned to the left."""
        return self.form not in ("number", "cell")

    def order(self, item: T) -> float | None:
        """Return the sort key of an item in this column; None if it has none."""
        value = next((read(item) for read in self.data.values()), None)
        return None if value is None or isinstance(value, str) else float(value)

    def of(self, read: Callable[[U], T | None]) -> Column[U]:
        """Return the column for other items; `read` returns the item of this column, or None."""
        text = _compose(read, self.text, MISSING)
        data = {name: _compose(read, function, None) for name, function in self.data.items()}
        return Column(
            *(self.heading, self.meaning, text, data, self.form, self.below), less=self.less
        )


def _compose(read: Callable[[U], T | None], then: Callable[[T], V], none: V) -> Callable[[U], V]:
    """Return the composition of two functions; the result is `none` if the first returns None."""

    def composed(item: U) -> V:
        value = read(item)
        return none if value is None else then(value)

    return composed


NO_MORE: Mapping[str, Any] = MappingProxyType({})


# The common kinds of columns. Each has one reader for text and data; `name` is the name in data
# files, by default the heading.


def words(
    heading: str,
    meaning: str,
    read: Callable[[T], str | None],
    name: str = "",
    form: Form = "words",
    more: Mapping[str, Callable[[T], Datum]] = NO_MORE,
) -> Column[T]:
    """Return a column of words; `more` is added to the data only."""
    data = {name or heading: read, **more}
    return Column(heading, meaning, _compose(read, lambda text: text, MISSING), data, form)


def number(
    heading: str,
    meaning: str,
    read: Callable[[T], V | None],
    name: str = "",
    text: Callable[[V], str] = str,
    more: Mapping[str, Callable[[T], Datum]] = NO_MORE,
) -> Column[T]:
    """Return a column of numbers, formatted by a function; None becomes a dash."""
    data: dict[str, Callable[[T], Any]] = {name or heading: read, **more}
    return Column(heading, meaning, _compose(read, text, MISSING), data)


def percentage(
    heading: str,
    meaning: str,
    read: Callable[[T], float | None],
    name: str = "",
    more: Mapping[str, Callable[[T], Datum]] = NO_MORE,
) -> Column[T]:
    """Return a column of shares in percent."""
    data = {name or heading: _compose(read, share, None), **more}
    return Column(heading, meaning, _compose(read, percent, MISSING), data)


def interval_column(
    heading: str,
    meaning: str,
    ends: Callable[[T], tuple[float | None, float | None]],
    low: str = "low",
    high: str = "high",
) -> Column[T]:
    """Return a column of intervals of shares; `low` and `high` name the ends in data files."""
    data: dict[str, Callable[[T], Datum]] = {
        low: lambda item: share(ends(item)[0]),
        high: lambda item: share(ends(item)[1]),
    }
    return Column(heading, meaning, lambda item: interval(*ends(item)), data)


@dataclass(frozen=True, slots=True)
class Sheet(Generic[T]):
    """A table: columns and items.

    Attributes:
        columns: from left to right.
        items: from top to bottom.
    """

    columns: Sequence[Column[T]]
    items: Sequence[T]

    @property
    def headings(self) -> list[str]:
        """The headings."""
        return [column.heading for column in self.columns]

    @property
    def texts(self) -> list[list[str]]:
        """The text of every item in every column."""
        return [[column.text(item) for column in self.columns] for item in self.items]

    @property
    def below(self) -> dict[str, list[str | None]]:
        """The lines below the table, by name; None where a line has no text for a column."""
        names = dict.fromkeys(name for column in self.columns for name in column.below)
        return {name: [column.below.get(name) for column in self.columns] for name in names}

    def data(self) -> list[dict[str, Datum]]:
        """Return the data of each item from all columns."""
        return [
            {name: read(item) for column in self.columns for name, read in column.data.items()}
            for item in self.items
        ]

    def without(self, *headings: str) -> Sheet[T]:
        """Return the table without some columns."""
        columns = [column for column in self.columns if column.heading not in headings]
        return Sheet(columns, self.items)

    def also(self, *columns: Column[T]) -> Sheet[T]:
        """Return the table with more columns on the right."""
        return Sheet([*self.columns, *columns], self.items)

    def only(self, *headings: str) -> Sheet[T]:
        """Return the table with these columns, in this order."""
        by_heading = {column.heading: column for column in self.columns}
        return Sheet([by_heading[heading] for heading in headings], self.items)
