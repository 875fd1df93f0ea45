"""The board in a terminal: rich tables that fit the width by choosing columns.

Tasks that do not all fit beside the score have tables below it; nothing is cut off.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from formalbench.analysis.board import Board, Page
from formalbench.analysis.columns import FAILED, SOME, Column, Table
from formalbench.analysis.constructions import ExactModels
from formalbench.analysis.tables import LEGEND, exact_table, published_table, ranking
from formalbench.analysis.text import harmless, plural
from formalbench.contracts.published import PublishedTable
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

T = TypeVar("T")

WIDTH = 80

MOST_ROWS = 10
MOST_NOTES = 3
"""Of a board on one screen."""

_MODEL_WIDTH = 22
_GAP = 2
_AGAIN = ("rank", "model", "task")
"""Columns that begin every table."""


@dataclass(frozen=True, slots=True)
class _Column:
    header: str
    cells: tuple[str, ...]
    left: bool = False
    limit: int = WIDTH
    again: bool = False
    cell: bool = False

    @property
    def width(self) -> int:
        lines = [*self.header.split("\n"), *self.cells]
        return min(self.limit, max(cell_len(line) for line in lines))


def render(page: Page) -> str:
    """Return the page as plain text, 80 columns wide."""
    target = io.StringIO()
    print_page(page, Console(file=target, width=WIDTH, color_system=None, legacy_windows=False))
    return "".join(f"{line.rstrip()}\n" for line in target.getvalue().splitlines())


@dataclass(frozen=True, slots=True)
class Manner:
    """How much of a page is printed.

    Attributes:
        everything: whether all rows, columns, notes, exact models and papers are; else what fits
            about one screen: the boards, with their first rows and those marked.
        mark: behind the name of a row that is new.
        other_tasks: whether tasks that do not count in the score are shown besides.
    """

    everything: bool = True
    mark: str = "new"
    other_tasks: bool = False


def print_page(page: Page, console: Console, manner: Manner = Manner()) -> None:
    """Print the boards, then exact models and the published tables, as wide as the console."""
    if not page.boards and not page.exact.rows:
        console.print("No measured rows yet. `formalbench run --model regulargpt` makes some.\n")
    for board in page.boards:
        _print_board(board, page.title, console, manner)
    if not manner.everything:
        return
    if page.exact.rows:
        _print_exact(page.exact, console)
    for paper in page.published:
        ranked = dict.fromkeys(task for board in page.boards for task in board.tasks)
        tasks = [task for task in ranked or paper.tasks if task in paper.tasks]
        if tasks:
            _print_published(paper, tasks, console)


def _print_board(board: Board, title: str, console: Console, manner: Manner) -> None:
    console.print(Text(harmless(f"{title}, protocol {board.name}"), style="bold"))
    hidden = ["kind", "parameters", "IQM interval"]
    rows, notes = board.rows, board.notes
    if not manner.everything:
        hidden += ["within", "interval", "IQM"]
        rows = tuple(row for n, row in enumerate(rows) if n < MOST_ROWS or row.is_new)
        notes = notes[:MOST_NOTES]
    shown = ranking(board, other_tasks=manner.other_tasks).without(*hidden)
    new = [row.is_new for row in rows]
    marked = replace(
        next(column for column in shown.columns if column.form == "name"),
        text=lambda row: f"{row.model} ({manner.mark})" if row.is_new else row.model,
    )
    columns = [marked if column.form == "name" else column for column in shown.columns]
    if not manner.everything:
        columns = [replace(column, below=_first_lines(column.below)) for column in columns]
    _print_table(
        Table(columns, rows),
        console,
        style=lambda place: "bold green" if new[place] else None,
        apart=manner.everything,
    )
    console.print(_LONG_LEGEND if manner.everything else _SHORT_LEGEND, style="dim", markup=False)
    if manner.other_tasks and board.other_tasks:
        line = f"Not in the score: {', '.join(board.other_tasks)}."
        console.print(Text(harmless(line)), style="dim")
    left = (len(board.rows) - len(rows), len(board.notes) - len(notes))
    named = zip(left, ("row", "note"), strict=True)
    more = [plural(count, f"more {noun}") for count, noun in named if count]
    if not manner.everything:
        told = " and ".join([*more, "intervals"])
        console.print(Text(f"--all: {told}, exact models, papers' numbers."), style="dim")
    _print_notes(notes, console)


def _first_lines(below: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in below.items() if name != "language class"}


_LEARNED = (
    "[n]: not learned within the budget; n is the validation accuracy on the training lengths, "
    f"the score counts the test's. {SOME}: some seeds did not learn. !: a run did not finish."
)
_SHORT_LEGEND = (
    "Score: mean over the tasks of (accuracy − chance) / (1 − chance). Rank: one more than the "
    f"number of rows separably better. {_LEARNED}"
)
_LONG_LEGEND = (
    "Score: mean over the tasks of (accuracy − chance) / (1 − chance); its interval: 95 %, "
    "over seeds and test strings. Tasks: mean accuracy over the seeds. All in percent. "
    "Rank: one more than the number of rows separably better, all pairs compared at once; in "
    "95 % of the draws a row is within its ranks. IQM: the mean of the middle half of all "
    f"runs' scaled accuracies. {_LEARNED}"
)


def _print_exact(exact: ExactModels, console: Console) -> None:
    console.print(Text("exact models", style="bold"))
    _print_table(exact_table(exact), console, narrow=_MODEL_WIDTH)
    console.print(LEGEND.replace("`", ""), style="dim")
    _print_notes(exact.notes, console)


def _print_notes(notes: Sequence[str], console: Console) -> None:
    for note in notes:
        console.print(Text(harmless(f"! {note}")), style="yellow")
    console.print()


def _print_published(paper: PublishedTable, tasks: Sequence[str], console: Console) -> None:
    console.print(Text(f"published: {paper.source} (arXiv:{paper.arxiv})", style="bold"))
    _print_table(published_table(paper).only("model", *tasks), console, narrow=24)
    console.print(
        "Maximum / mean accuracy over seeds in percent, as the paper states it; not comparable "
        "with the rows above where training and test lengths differ.",
        style="dim",
    )
    for note in paper.notes:
        console.print(Text(harmless(note)), style="dim")
    console.print()


def _print_table(
    shown: Table[T],
    console: Console,
    *,
    narrow: int | None = None,
    style: Callable[[int], str | None] = lambda place: None,
    apart: bool = True,
) -> None:
    """Print a table as several that fit, each with the columns that begin every one.

    Args:
        shown: the table; its lines below come last.
        console: where to.
        narrow: how wide a column of words may be; longer ones are folded.
        style: of an item's line, by its place.
        apart: whether cells that do not all fit stay together, in tables of their own.
    """
    limit = narrow or max(_MODEL_WIDTH, console.width * 2 // 5)
    columns = [_column(column, shown, limit) for column in shown.columns]
    for part in _tables(columns, console.width, apart=apart):
        lines = [n for n in range(len(columns[0].cells)) if n < len(shown.items) or _says(part, n)]
        console.print(_grid(part, lines, lambda n: style(n) if n < len(shown.items) else "dim"))
        console.print()


def _says(part: Sequence[_Column], line: int) -> bool:
    return any(column.cells[line] for column in part if not column.again)


def _column(column: Column[T], shown: Table[T], limit: int) -> _Column:
    texts = [column.text(item) for item in shown.items]
    if column.form == "cell":
        texts = [text.replace(f" {FAILED}", "!") for text in texts]
    if column.form == "name":
        texts += shown.below
    else:
        texts += [column.below.get(name, "") for name in shown.below]
    return _Column(
        _broken(column.heading) if column.form == "cell" else _narrow(column.heading),
        tuple(map(harmless, texts)),
        left=column.left,
        limit=limit if column.left else WIDTH,
        again=column.heading in _AGAIN,
        cell=column.form == "cell",
    )


def _narrow(name: str) -> str:
    named = {"within": "within\nranks", "interval": "95 % interval"}
    return named.get(name) or name.replace(" to", "\nto").replace("bits at ", "bits at\n")


def _broken(title: str) -> str:
    """Break a title at its hyphens, for a narrow column; a number stays with its name."""
    return re.sub(r"-(?=[^-\W\d]{2})", "-\n", harmless(title))


def _tables(columns: Sequence[_Column], width: int, *, apart: bool) -> Iterator[list[_Column]]:
    """Distribute columns over tables that fit; rank and model begin each of them.

    If `apart`, cells that do not all fit beside the other columns go below them, so that they stay
    together.
    """
    again = [column for column in columns if column.again]
    rest = [column for column in columns if not column.again and not column.cell]
    cells = [column for column in columns if column.cell]
    together = not apart or not rest or not cells or _width(columns) <= width
    for group in [[*rest, *cells]] if together else [rest, cells]:
        table = list(again)
        for column in group:
            if _width([*table, column]) > width and len(table) > len(again):
                yield table
                table = list(again)
            table.append(column)
        if len(table) > len(again) or together:
            yield table


def _width(columns: Sequence[_Column]) -> int:
    return sum(column.width + _GAP for column in columns) - 1  # nothing stands after the last


def _grid(
    columns: Sequence[_Column], lines: Sequence[int], style: Callable[[int], str | None]
) -> Grid:
    grid = Grid(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for column in columns:
        grid.add_column(
            Text(column.header),
            justify="left" if column.left else "right",
            overflow="fold",
            max_width=column.limit,
        )
    for line in lines:
        texts = [column.cells[line] for column in columns]
        cells = [Text(text, style="dim" if text.startswith("[") else "") for text in texts]
        grid.add_row(*cells, style=style(line))
    return grid
