"""The tables of papers: numbers that were not measured here."""

from __future__ import annotations

from formalbench.analysis.columns import Column, Datum, Sheet, share
from formalbench.analysis.text import MISSING
from formalbench.contracts.published import PublishedResult, PublishedRow, PublishedTable


def published_table(paper: PublishedTable) -> Sheet[PublishedRow]:
    """Return a paper's table: below each task the maximum and the mean over the seeds."""
    model: Column[PublishedRow] = Column(
        "model", "as the paper names it", lambda row: row.model, form="name"
    )
    origin: Column[PublishedRow] = Column(
        "origin", "not measured here", lambda row: "published", form="words"
    )
    return Sheet([model, origin, *map(_published_column, paper.tasks)], paper.rows)


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


def published_data(paper: PublishedTable) -> list[dict[str, Datum]]:
    """Return a paper's numbers as data: an entry per model and task."""
    return [
        {"model": row.model, "task": task}
        | {"max": out_of_hundred(cell.max), "mean": out_of_hundred(cell.mean)}
        for row in paper.rows
        for task, cell in row.results.items()
    ]


def out_of_hundred(value: float | None) -> float | None:
    """Return a number in percent as a share, as data has it."""
    return None if value is None else share(value / 100.0)
