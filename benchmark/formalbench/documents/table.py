"""Columns: what a table says of an item, once for every renderer.

A renderer knows markup and escaping, and nothing of what it shows: it goes through a table's
columns, and writes the text that each has for an item.
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
"""Behind a cell of which a run did not finish; a renderer may write it in its own way."""

SOME = "°"
"""Behind a cell of which some seeds did not learn the training lengths; a renderer may write it in
its own way."""

CAPPED = "‡"
"""Behind a cell with a seed that did not learn and whose training was capped."""

DOUBTFUL = "~"
"""Behind a cell that is weak evidence of the language (`formalbench.statistics.result`)."""


def share(value: float | None) -> float | None:
    """Return a share as data has it: to six digits."""
    return None if value is None else round(value, 6) + 0.0


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """One column of a table.

    Attributes:
        heading: for people.
        meaning: what it says, in one line.
        text: of an item, before any escaping.
        data: of an item, by their names in data; the first is what rows are sorted by.
        form: ``number``; ``words``; ``name`` of the row; ``command`` to copy; ``cell``, the
            accuracy on a task.
        less: whether less of it is better.
        below: by the name of a line below the table, what it says in this column.
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
        """Whether it is aligned to the left."""
        return self.form not in ("number", "cell")

    def order(self, item: T) -> float | None:
        """Return the number that an item is sorted by in this column; None if it has none."""
        value = next((read(item) for read in self.data.values()), None)
        return None if value is None or isinstance(value, str) else float(value)

    def of(self, read: Callable[[U], T | None]) -> Column[U]:
        """Return the column for other items, of each of which one of these is read, or none."""
        text = _after(read, self.text, MISSING)
        data = {name: _after(read, told, None) for name, told in self.data.items()}
        return Column(
            *(self.heading, self.meaning, text, data, self.form, self.below), less=self.less
        )


def _after(read: Callable[[U], T | None], then: Callable[[T], V], none: V) -> Callable[[U], V]:
    """Return a reader that reads on, unless there is nothing to read on."""

    def both(item: U) -> V:
        found = read(item)
        return none if found is None else then(found)

    return both


NO_MORE: Mapping[str, Any] = MappingProxyType({})


# The kinds of columns there are most of. Each is read once, as text and as data; `name` is what it
# is called in data, which is its heading unless that is given.


def words(
    heading: str,
    meaning: str,
    read: Callable[[T], str | None],
    name: str = "",
    form: Form = "words",
    more: Mapping[str, Callable[[T], Datum]] = NO_MORE,
) -> Column[T]:
    """Return a column of words; of `more` there is data alone."""
    data = {name or heading: read, **more}
    return Column(heading, meaning, _after(read, lambda text: text, MISSING), data, form)


def number(
    heading: str,
    meaning: str,
    read: Callable[[T], V | None],
    name: str = "",
    told: Callable[[V], str] = str,
    more: Mapping[str, Callable[[T], Datum]] = NO_MORE,
) -> Column[T]:
    """Return a column of numbers, each told by a function, and a dash for none."""
    data: dict[str, Callable[[T], Any]] = {name or heading: read, **more}
    return Column(heading, meaning, _after(read, told, MISSING), data)


def percentage(
    heading: str,
    meaning: str,
    read: Callable[[T], float | None],
    name: str = "",
    more: Mapping[str, Callable[[T], Datum]] = NO_MORE,
) -> Column[T]:
    """Return a column of shares in percent."""
    data = {name or heading: _after(read, share, None), **more}
    return Column(heading, meaning, _after(read, percent, MISSING), data)


def interval_column(
    heading: str,
    meaning: str,
    ends: Callable[[T], tuple[float | None, float | None]],
    low: str = "low",
    high: str = "high",
) -> Column[T]:
    """Return a column of intervals of shares; the names of both ends are given."""
    data: dict[str, Callable[[T], Datum]] = {
        low: lambda item: share(ends(item)[0]),
        high: lambda item: share(ends(item)[1]),
    }
    return Column(heading, meaning, lambda item: interval(*ends(item)), data)


@dataclass(frozen=True, slots=True)
class Sheet(Generic[T]):
    """Items under columns.

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
        """The lines below the table, by their names; None where one has nothing to say."""
        names = dict.fromkeys(name for column in self.columns for name in column.below)
        return {name: [column.below.get(name) for column in self.columns] for name in names}

    def data(self) -> list[dict[str, Datum]]:
        """Return of each item what the columns have of it as data."""
        return [
            {name: read(item) for column in self.columns for name, read in column.data.items()}
            for item in self.items
        ]

    def without(self, *headings: str) -> Sheet[T]:
        """Return the table without some columns."""
        kept = [column for column in self.columns if column.heading not in headings]
        return Sheet(kept, self.items)

    def also(self, *columns: Column[T]) -> Sheet[T]:
        """Return the table with more columns, at the right."""
        return Sheet([*self.columns, *columns], self.items)

    def only(self, *headings: str) -> Sheet[T]:
        """Return the table with these columns, in this order."""
        named = {column.heading: column for column in self.columns}
        return Sheet([named[heading] for heading in headings], self.items)
