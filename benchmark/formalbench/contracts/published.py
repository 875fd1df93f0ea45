"""Numbers from papers: rows of their own, with their citation, never mixed with measured ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Percent = Annotated[float, Field(ge=0, le=100)]
Text = Annotated[str, Field(min_length=1)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class PublishedResult(_Part):
    """Accuracy in percent; at least one of the two is known."""

    max: Percent | None = None
    mean: Percent | None = None

    @model_validator(mode="after")
    def _something_is_known(self) -> PublishedResult:
        if self.max is None and self.mean is None:
            raise ValueError("neither max nor mean is given")
        return self


class PublishedRow(_Part):
    """One model of a paper."""

    model: Text
    results: dict[Text, PublishedResult]


class PublishedTable(_Part):
    """One table of a paper.

    Attributes:
        key: its name in data, lower case with hyphens.
        source: its name for people, short.
        citation: in full.
        arxiv: the paper's number there.
        notes: how the numbers were made and how to read them.
        rows: the numbers.
    """

    key: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]
    source: Text
    citation: Text
    arxiv: Annotated[str, Field(pattern=r"^\d{4}\.\d{5}$")]
    notes: tuple[Text, ...]
    rows: tuple[PublishedRow, ...]

    def result(self, model: str, task: str) -> PublishedResult:
        """Return a number of the table that is known to be there."""
        row = next(row for row in self.rows if row.model == model)
        return row.results[task]

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks that the table has a number for, in its order."""
        return tuple(dict.fromkeys(task for row in self.rows for task in row.results))

    def limited_to(self, wanted: Callable[[str], bool]) -> PublishedTable:
        """Return the table without the tasks that are not wanted."""
        rows = tuple(
            PublishedRow(
                model=row.model,
                results={task: cell for task, cell in row.results.items() if wanted(task)},
            )
            for row in self.rows
        )
        return self.model_copy(update={"rows": rows})


class PublishedFile(_Part):
    """The whole file."""

    schema_version: Literal[1]
    tables: tuple[PublishedTable, ...]
