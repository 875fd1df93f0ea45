"""Columns: what a table says of an item, once for every renderer.

A renderer knows markup and escaping, and nothing of what it shows: it goes through a table's
columns, and writes the text that each has for an item.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

T = TypeVar("T")

Datum = str | int | float | None

FAILED = "⚠"
"""Behind a cell of which a run did not finish; a renderer may write it in its own way."""

SOME = "°"
"""Behind a cell of which some seeds did not learn the training lengths; likewise."""


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
        below: by the name of a line below the table, what it says in this column.
    """

    heading: str
    meaning: str
    text: Callable[[T], str]
    data: Mapping[str, Callable[[T], Datum]] = field(default_factory=dict)
    form: Literal["number", "words", "name", "command", "cell"] = "number"
    below: Mapping[str, str] = field(default_factory=dict)

    @property
    def left(self) -> bool:
        """Whether it is aligned to the left."""
        return self.form not in ("number", "cell")

    def order(self, item: T) -> float | None:
        """Return the number that an item is sorted by in this column; None if it has none."""
        value = next((read(item) for read in self.data.values()), None)
        return None if value is None or isinstance(value, str) else float(value)


@dataclass(frozen=True, slots=True)
class Table(Generic[T]):
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

    def without(self, *headings: str) -> Table[T]:
        """Return the table without some columns."""
        kept = [column for column in self.columns if column.heading not in headings]
        return Table(kept, self.items)

    def only(self, *headings: str) -> Table[T]:
        """Return the table with these columns, in this order."""
        named = {column.heading: column for column in self.columns}
        return Table([named[heading] for heading in headings], self.items)
