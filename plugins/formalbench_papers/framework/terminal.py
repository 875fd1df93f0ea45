"""A reproduction in a terminal: the table, the claims, what was reduced; as wide as it is."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from formalbench.documents.reproduction import (
    CellTold,
    ClaimTold,
    Document,
    Verdict,
    count_verdicts,
)
from formalbench.documents.text import MISSING, harmless
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from formalbench_papers.framework.report import NOT_RUN, hours_note, scale_note

_STYLES: dict[Verdict, str] = {
    "holds": "green",
    "differs": "bold red",
    "approx": "cyan",
    "cannot tell": "yellow",
    "not run at this scale": "dim",
}

_VERDICT_WIDTH = 11
"""Beside a claim ``not run at this scale`` takes two lines."""

_NAMES_WIDTH = 18


def print_document(told: Document, console: Console) -> None:
    """Print the cells grouped by row, then every claim with its verdict, then the remarks."""
    console.print(Text(harmless(told.title), style="bold"))
    console.print(Text(harmless(told.source), style="dim"))
    console.print(Text(harmless(scale_note(told.scale, told.reduced)), style="yellow"))
    console.print(Text(hours_note(told.core_hours), style="dim"))
    for note in told.notes:
        console.print(Text(harmless(f"stale: {note}"), style="yellow"))
    console.print()
    if told.cells:
        console.print(Text(harmless(told.about), style="dim"))
        console.print()
        console.print(_cells(told.cells))
        _count(console, "Cells", [cell.verdict for cell in told.cells])
    if told.claims:
        console.print(_claims(told.claims))
        _count(console, "Claims", [claim.verdict for claim in told.claims])
    for remark in told.remarks:
        console.print(Text(harmless(f"- {remark}"), style="dim"))
    console.print(Text(harmless(told.took), style="dim"))


def _count(console: Console, what: str, verdicts: Sequence[Verdict]) -> None:
    console.print(Text(f"{what}: {count_verdicts(verdicts)}.", style="bold"))
    console.print()


def _cells(cells: Sequence[CellTold]) -> Table:
    table = _table()
    # The name of a row may take two lines: it must not make the column of names wide.
    names = max(_NAMES_WIDTH, *(len(cell.column) + 2 for cell in cells))
    table.add_column("", max_width=names, overflow="fold")
    for name in ("paper", "ours", "verdict"):
        table.add_column(name, overflow="fold")
    for row, group in groupby(cells, key=lambda cell: cell.row):
        table.add_row(Text(harmless(row), style="bold"))
        for cell in group:
            # What was not run has no numbers, so there is room for its verdict.
            ours = (
                (_verdict(cell.verdict), Text(MISSING))
                if cell.verdict == NOT_RUN
                else (Text(harmless(cell.ours)), _verdict(cell.verdict))
            )
            table.add_row(Text(f"  {harmless(cell.column)}"), Text(harmless(cell.paper)), *ours)
    return table


def _claims(claims: Sequence[ClaimTold]) -> Table:
    table = _table()
    table.add_column("verdict", max_width=_VERDICT_WIDTH)
    table.add_column("claim, with what the paper says and what came out", overflow="fold")
    for claim in claims:
        said = f"paper: {harmless(claim.paper)}; ours: {harmless(claim.ours) or MISSING}"
        text = Text.assemble(harmless(claim.claim), "\n", (said, "dim"))
        table.add_row(_verdict(claim.verdict), text)
    return table


def _table() -> Table:
    return Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))


def _verdict(verdict: Verdict) -> Text:
    return Text(verdict, style=_STYLES[verdict])
