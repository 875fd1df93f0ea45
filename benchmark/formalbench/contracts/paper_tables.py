"""Numbers from papers, with citation, kept apart from measured ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import Field, model_validator

from formalbench.contracts.config import Value
from formalbench.contracts.protocol import Part, Positive, Rate, Window

Percent = Annotated[float, Field(ge=0, le=100)]
Text = Annotated[str, Field(min_length=1)]


class PublishedResult(Part):
    """Accuracy in percent; at least one of the two is given."""

    max: Percent | None = None
    mean: Percent | None = None

    @model_validator(mode="after")
    def _something_is_known(self) -> PublishedResult:
        if self.max is None and self.mean is None:
            raise ValueError("max or mean is missing")
        return self


class Settings(Part):
    """Training and testing in a paper; None for what is unknown.

    Attributes:
        trained, tested: smallest and largest length.
        seeds: number of seeds.
        selected: criterion for choosing among rates and seeds.
        steps, batch, learning_rates, optimiser, schedule: training settings, by our names.
        counted: unit of accuracy: whole strings or answers. Accuracies over answers are compared
            over all lengths of a test.
    """

    counted: Literal["strings", "answers"] = "strings"
    trained: Window | None = None
    tested: Window | None = None
    seeds: Positive | None = None
    selected: Literal["test", "validation"] | None = None
    steps: Positive | None = None
    batch: Positive | None = None
    learning_rates: tuple[Rate, ...] | None = None
    optimiser: Text | None = None
    schedule: Text | None = None


class PublishedColumn(Part):
    """A column of a table.

    Attributes:
        task: our task's name with options.
        trained, tested: lengths that replace the table's.
    """

    task: Text
    trained: Window | None = None
    tested: Window | None = None


class PublishedRow(Part):
    """One model of a paper.

    Attributes:
        model: name in the paper.
        results: results by column.
        ours: our corresponding model with options; empty if there is none.
        network: the paper's values of our options for size and details.
        differs: other differences, a sentence each.
    """

    model: Text
    results: dict[Text, PublishedResult]
    ours: tuple[Text, ...] = ()
    network: dict[Text, Value] = Field(default_factory=dict)
    differs: tuple[Text, ...] = ()


class PublishedTable(Part):
    """One table of a paper.

    Attributes:
        key: name in data, lower case with hyphens.
        source: short display name.
        citation: full citation.
        arxiv: arXiv number.
        notes: how the numbers were made and how to read them.
        rows: the numbers.
        settings: training and testing of the models.
        columns: columns whose names are not our tasks', or that have other lengths.
    """

    key: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]
    source: Text
    citation: Text
    arxiv: Annotated[str, Field(pattern=r"^\d{4}\.\d{5}$")]
    notes: tuple[Text, ...]
    rows: tuple[PublishedRow, ...]
    settings: Settings = Settings()
    columns: dict[Text, PublishedColumn] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _has_its_columns(self) -> PublishedTable:
        if missing := self.columns.keys() - set(self.tasks):
            raise ValueError(f"no row has a number of column {min(missing)}")
        return self

    def column(self, name: str) -> PublishedColumn:
        """Return a column's task and lengths; by default our task of the same name."""
        own = self.columns.get(name) or PublishedColumn(task=name)
        trained, tested = self.settings.trained, self.settings.tested
        return PublishedColumn(
            task=own.task, trained=own.trained or trained, tested=own.tested or tested
        )

    def result(self, model: str, task: str) -> PublishedResult:
        """Return a number that is known to be in the table."""
        row = next(row for row in self.rows if row.model == model)
        return row.results[task]

    @property
    def tasks(self) -> tuple[str, ...]:
        """Tasks with a number in the table, in its order."""
        return tuple(dict.fromkeys(task for row in self.rows for task in row.results))

    def limited_to(self, wanted: Callable[[str], bool]) -> PublishedTable:
        """Return the table with only the columns of these tasks (titles)."""
        names = {name for name in self.tasks if wanted(self.column(name).task)}

        def limited(row: PublishedRow) -> PublishedRow:
            results = {name: cell for name, cell in row.results.items() if name in names}
            return row.model_copy(update={"results": results})

        rows = tuple(map(limited, self.rows))
        columns = {name: column for name, column in self.columns.items() if name in names}
        return self.model_copy(update={"rows": rows, "columns": columns})


class PublishedFile(Part):
    """The whole file."""

    schema_version: Literal[1]
    tables: tuple[PublishedTable, ...]
