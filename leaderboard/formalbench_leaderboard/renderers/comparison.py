"""Two models beside each other, in a terminal and as data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeVar

from formalbench.analysis.columns import Sheet
from formalbench.analysis.compare import Comparison, Standing
from formalbench.analysis.configured import Unlike
from formalbench.analysis.tables.compared import (
    COMPARED,
    compared_table,
    mean_data,
    settings_table,
)
from formalbench.analysis.text import harmless, percent, plural
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

T = TypeVar("T")

_NARROW = 28
"""Columns of words; longer ones are folded."""


def print_comparison(comparison: Comparison, settings: Sequence[Unlike], console: Console) -> None:
    """Print what two models reached, how far they are apart, and what they were not run alike in.

    Args:
        comparison: of the two.
        settings: how their runs differ.
        console: where to.
    """
    for name, place in (("A", comparison.a), ("B", comparison.b)):
        line = f"{name}: {place.row.model}, protocol {place.board.name}"
        console.print(Text(harmless(line), style="bold"))
    if comparison.tasks:
        console.print(_grid(compared_table(comparison)))
        console.print(Text(verdict(comparison)))
        console.print(Text(COMPARED, style="dim"))
    for note in comparison.notes:
        console.print(Text(harmless(f"! {note}"), style="yellow"))
    if settings:
        console.print(_grid(settings_table(settings)))


def verdict(comparison: Comparison) -> str:
    """Say in a sentence which of the two is better over their tasks, if it can be said."""
    mean = comparison.mean
    if mean is None:
        return "None of these tasks counts in a score."
    found = mean.scaled
    places = {"a": comparison.a, "b": comparison.b}
    over = "this task" if mean.tasks == 1 else f"these {plural(mean.tasks, 'task')}"
    width = (
        f"The lead of A: {percent(found.low)} … {percent(found.high)} points (95 % interval, which "
        "allows for a seed that was not run)."
    )
    if found.better is None:
        return f"Neither is significantly better over {over}. {width}"
    name = harmless(places[found.better].row.model)
    return f"{found.better.upper()}, {name}, is significantly better over {over}. {width}"


def data_of(comparison: Comparison, settings: Sequence[Unlike]) -> dict[str, Any]:
    """Return a comparison as data; shares are fractions of one."""
    return {
        "a": _place(comparison.a),
        "b": _place(comparison.b),
        "tasks": compared_table(comparison).data(),
        "mean": mean_data(comparison),
        "differs": settings_table(settings).data(),
        "notes": list(comparison.notes),
    }


def _place(place: Standing) -> dict[str, Any]:
    board, row = place.board, place.row
    return {"model": row.model, "protocol": board.protocol, "version": board.version}


def _grid(shown: Sheet[T]) -> Table:
    """Return a table; what stands below comes last, dim."""
    grid = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in shown.columns:
        wide = _NARROW if column.left else None
        side: Literal["left", "right"] = "left" if column.left else "right"
        heading = Text(column.heading)
        grid.add_column(heading, justify=side, overflow="fold", max_width=wide)
    for texts in shown.texts:
        grid.add_row(*(Text(harmless(text)) for text in texts))
    for name, below in shown.below.items():
        cells = [
            name if column.form == "name" else text or ""
            for column, text in zip(shown.columns, below, strict=True)
        ]
        grid.add_section()
        grid.add_row(*map(Text, cells), style="bold")
    return grid
