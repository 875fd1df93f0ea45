"""The board as CSV: one line per model and task, measured rows before published ones."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

from formalbench.analysis.board import Board, Page
from formalbench.analysis.columns import Column, Datum
from formalbench.analysis.tables import exact_table, of_row, published_data
from formalbench.analysis.tables.exact import EXACT
from formalbench.analysis.tables.outcomes import OUTCOME
from formalbench.analysis.tables.ranking import STANDING, standing
from formalbench.analysis.text import spreadsheet

_Line = dict[str, Datum]


def render(page: Page) -> str:
    """Return the page as CSV; shares are fractions of one."""
    lines = [line for board in page.boards for line in _measured(board)]
    lines += [{"origin": "verified", **line} for line in exact_table(page.exact).data()]
    for table in page.published:
        origin = f"published: {table.source}"
        lines += [{"origin": origin, **line} for line in published_data(table)]
    further = (name for line in lines for name in line)  # metrics that plugins add
    return as_csv(lines, list(dict.fromkeys([*_header(), *further])))


def as_csv(lines: Iterable[_Line], names: Sequence[str]) -> str:
    """Return lines as CSV under these names; no spreadsheet takes a cell for a formula."""
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    for line in lines:
        plain = {key: spreadsheet(v) if isinstance(v, str) else v for key, v in line.items()}
        writer.writerow(plain)
    return text.getvalue()


def _header() -> list[str]:
    columns: Sequence[Column[object]] = [*STANDING, *OUTCOME, *EXACT]  # type: ignore[list-item]
    names = (name for column in columns for name in column.data)
    return list(dict.fromkeys(["origin", "protocol", "version", *names]))


def _measured(board: Board) -> Iterator[_Line]:
    under: _Line = {"origin": "measured", "protocol": board.protocol, "version": board.version}
    for row, place in zip(board.rows, standing(board).data(), strict=True):
        for outcome in of_row(board, row).data():
            yield {**under, **place, **outcome}
