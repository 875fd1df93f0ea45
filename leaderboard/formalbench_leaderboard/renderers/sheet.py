"""The board as CSV: one line per model and task, measured rows before published ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from formalbench.analysis.board import Board, Page
from formalbench.analysis.columns import Column, Datum
from formalbench.analysis.tables import exact_table, of_row, published_outcomes
from formalbench.analysis.tables.exact import EXACT
from formalbench.analysis.tables.outcomes import OUTCOME
from formalbench.analysis.tables.ranking import STANDING, standing
from formalbench.analysis.text import spreadsheet

_Line = dict[str, Datum]


def render(page: Page) -> str:
    """Return the page as CSV; shares are fractions of one."""
    import pandas as pd

    lines = [line for board in page.boards for line in _measured(board)]
    lines += [{"origin": "verified", **line} for line in exact_table(page.exact).data()]
    for table in page.published:
        origin = f"published: {table.source}"
        lines += [{"origin": origin, **line} for line in published_outcomes(table).data()]
    frame = pd.DataFrame(map(_harmless, lines), columns=_header(), dtype=object)
    return frame.to_csv(index=False, lineterminator="\n")


def _header() -> list[str]:
    columns: Sequence[Column[object]] = [*STANDING, *OUTCOME, *EXACT]  # type: ignore[list-item]
    names = (name for column in columns for name in column.data)
    return list(dict.fromkeys(["origin", "protocol", "version", *names]))


def _measured(board: Board) -> Iterator[_Line]:
    under: _Line = {"origin": "measured", "protocol": board.protocol, "version": board.version}
    for row, place in zip(board.rows, standing(board).data(), strict=True):
        for outcome in of_row(board, row).data():
            yield {**under, **place, **outcome}


def _harmless(line: _Line) -> _Line:
    return {
        name: spreadsheet(value) if isinstance(value, str) else value
        for name, value in line.items()
    }
