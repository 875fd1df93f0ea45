"""The tables of papers: numbers that were not measured here."""

from __future__ import annotations

from formalbench.analysis.columns import Column, Table, share
from formalbench.analysis.text import MISSING
from formalbench.contracts.published import PublishedResult, PublishedRow, PublishedTable


def published_table(paper: PublishedTable) -> Table[PublishedRow]:
    """Return a paper's table: below each task the maximum and the mean over the seeds."""
    model: Column[PublishedRow] = Column(
        "model", "as the paper names it", lambda row: row.model, form="name"
    )
    origin: Column[PublishedRow] = Column(
        "origin", "not measured here", lambda row: "published", form="words"
    )
    return Table([model, origin, *map(_published_column, paper.tasks)], paper.rows)


def _published_column(task: str) -> Column[PublishedRow]:
    def best_known(row: PublishedRow) -> float | None:
        found = row.results.get(task)
        return None if found is None else found.max if found.mean is None else found.mean

    return Column(
        task,
        "maximum / mean over the seeds",
        lambda row: published_cell(row.results.get(task)),
        {task: best_known},
    )


def published_cell(result: PublishedResult | None) -> str:
    """Return a paper's numbers: ``100.0 / 98.9``, the maximum and the mean."""
    if result is None:
        return MISSING
    return " / ".join(
        MISSING if value is None else f"{value:.1f}" for value in (result.max, result.mean)
    )


def published_outcomes(paper: PublishedTable) -> Table[tuple[str, str, PublishedResult]]:
    """Return a paper's numbers as data: an item per model and task."""
    items = [(row.model, task, cell) for row in paper.rows for task, cell in row.results.items()]
    columns = [
        Column("model", "", lambda item: item[0], {"model": lambda item: item[0]}, "name"),
        Column("task", "", lambda item: item[1], {"task": lambda item: item[1]}, "words"),
        Column("max", "", lambda item: "", {"max": lambda item: _hundredth(item[2].max)}),
        Column("mean", "", lambda item: "", {"mean": lambda item: _hundredth(item[2].mean)}),
    ]
    return Table(columns, items)


def _hundredth(value: float | None) -> float | None:
    return None if value is None else share(value / 100.0)
