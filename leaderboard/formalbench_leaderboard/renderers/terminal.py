"""The board in a terminal: rich tables that fit the width by choosing columns.

Tasks that do not all fit beside the score have tables below it; nothing is cut off.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from formalbench.analysis.results import Result
from formalbench.analysis.text import (
    MISSING,
    PERPLEXITY_LEGEND,
    harmless,
    interval,
    percent,
    perplexity,
    ranks,
)
from formalbench.contracts.published import PublishedResult, PublishedTable
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from formalbench_leaderboard.board import Board, Page, Row
from formalbench_leaderboard.constructions import ExactModels
from formalbench_leaderboard.renderers.exact import HEADER, LEFT, LEGEND, cells

WIDTH = 80

_MODEL_WIDTH = 22
_GAP = 2


@dataclass(frozen=True, slots=True)
class _Column:
    header: str
    cells: tuple[str, ...]
    left: bool = False
    limit: int = WIDTH

    @property
    def width(self) -> int:
        lines = [*self.header.split("\n"), *self.cells]
        return min(self.limit, max(cell_len(line) for line in lines))


def render(page: Page) -> str:
    """Return the page as plain text, 80 columns wide."""
    target = io.StringIO()
    print_page(page, Console(file=target, width=WIDTH, color_system=None, legacy_windows=False))
    return "".join(f"{line.rstrip()}\n" for line in target.getvalue().splitlines())


def print_page(page: Page, console: Console) -> None:
    """Print the boards, then the published tables, as wide as the console."""
    if not page.boards and not page.exact.rows:
        console.print("No measured rows yet. `formalbench run --model regulargpt` makes some.\n")
    for board in page.boards:
        _print_board(board, page.title, console)
    if page.exact.rows:
        _print_exact(page.exact, console)
    for table in page.published:
        ranked = dict.fromkeys(task for board in page.boards for task in board.tasks)
        tasks = [task for task in ranked or table.tasks if task in table.tasks]
        if tasks:
            _print_published(table, tasks, console)


def _print_board(board: Board, title: str, console: Console) -> None:
    console.print(Text(harmless(f"{title}, protocol {board.name}"), style="bold"))
    rows = board.rows
    fixed = [
        _Column("rank", tuple(str(row.rank or MISSING) for row in rows)),
        _Column("model", tuple(map(_name, rows)), left=True, limit=_name_width(console)),
        _Column("score", tuple(percent(row.score) for row in rows)),
        _Column("95 % interval", tuple(interval(row.low, row.high) for row in rows)),
        _Column("within\nranks", tuple(ranks(row.rank_low, row.rank_high) for row in rows)),
        _Column("IQM", tuple(percent(row.iqm) for row in rows)),
    ]
    tasks = [
        _Column(_broken(title), tuple(_cell(row.on(title)) for row in rows))
        for title in board.tasks
        if title not in board.language_models
    ]
    new = [row.is_new for row in rows]
    if tasks or not board.language_models:
        for columns in _tables(fixed, tasks, console.width):
            console.print(_table(columns, new))
            console.print()
        _print_how_to_read(console)
    for title in board.language_models:
        _print_perplexities(board, title, console)
    if board.language_models:
        console.print(PERPLEXITY_LEGEND, style="dim")
    for note in board.notes:
        console.print(Text(harmless(f"! {note}")), style="yellow")
    console.print()


def _print_perplexities(board: Board, title: str, console: Console) -> None:
    """Print how language models do at each test length."""
    lengths, found = board.by_perplexity(title)
    fixed = [
        _Column(
            "model",
            tuple(_name(row) for row, _ in found),
            left=True,
            limit=_name_width(console),
        )
    ]
    columns = [
        _Column(str(n), tuple(perplexity(dict(one.perplexities).get(n)) for _, one in found))
        for n in lengths
    ]
    columns.append(_Column("seeds", tuple(one.outcome for _, one in found)))
    console.print(Text(harmless(f"{title}: perplexity by test length")))
    for part in _tables(fixed, columns, console.width):
        console.print(_table(part, [row.is_new for row, _ in found]))
        console.print()


def _print_how_to_read(console: Console) -> None:
    console.print(
        "Score: mean over the tasks of (accuracy − chance) / (1 − chance); its interval: 95 %, "
        "over seeds and test strings. Tasks: mean accuracy over the seeds. All in percent. "
        "Neighbours that share a rank cannot be told apart; in 95 % of the draws a row is within "
        "its ranks. IQM: the mean of the middle half of all runs' scaled accuracies.",
        style="dim",
    )


def _print_exact(exact: ExactModels, console: Console) -> None:
    console.print(Text("exact models", style="bold"))
    texts = [list(map(harmless, cells(row))) for row in exact.rows]
    columns = [
        _Column(
            _narrow(name),
            tuple(text[index] for text in texts),
            left=name in LEFT,
            limit=_MODEL_WIDTH if name in LEFT else WIDTH,
        )
        for index, name in enumerate(HEADER)
    ]
    for part in _tables(columns[:2], columns[2:], console.width):
        console.print(_table(part, [False] * len(texts)))
        console.print()
    console.print(LEGEND.replace("`", ""), style="dim")
    for note in exact.notes:
        console.print(Text(harmless(f"! {note}")), style="yellow")
    console.print()


def _name_width(console: Console) -> int:
    """Return how wide a column of names may be; longer names are folded."""
    return max(_MODEL_WIDTH, console.width * 2 // 5)


def _narrow(name: str) -> str:
    return name.replace(" to", "\nto").replace("bits at ", "bits at\n")


def _name(row: Row) -> str:
    return harmless(f"{row.model} (new)" if row.is_new else row.model)


def _cell(result: Result | None) -> str:
    if result is None:
        return MISSING
    return percent(result.mean) + ("!" if result.finished < result.seeds else "")


def _broken(title: str) -> str:
    """Break a title at its hyphens, for a narrow column; a number stays with its name."""
    return re.sub(r"-(?=[^-\W\d]{2})", "-\n", harmless(title))


def _print_published(table: PublishedTable, tasks: Sequence[str], console: Console) -> None:
    console.print(Text(f"published: {table.source} (arXiv:{table.arxiv})", style="bold"))
    fixed = [_Column("model", tuple(row.model for row in table.rows), left=True, limit=24)]
    columns = [
        _Column(_broken(task), tuple(_published_cell(row.results.get(task)) for row in table.rows))
        for task in tasks
    ]
    for part in _tables(fixed, columns, console.width):
        console.print(_table(part, [False] * len(table.rows)))
        console.print()
    console.print(
        "Mean accuracy over seeds in percent, as the paper states it; not comparable with the "
        "rows above where training and test lengths differ.",
        style="dim",
    )
    for note in table.notes:
        console.print(Text(harmless(note)), style="dim")
    console.print()


def _published_cell(result: PublishedResult | None) -> str:
    if result is None:
        return MISSING
    return f"max {result.max:.1f}" if result.mean is None else f"{result.mean:.1f}"


def _tables(
    fixed: Sequence[_Column], others: Sequence[_Column], width: int
) -> Iterator[list[_Column]]:
    """Distribute columns over tables that fit; rank and model begin each of them.

    Columns that do not all fit beside the fixed ones go below them, so that they stay together.
    """
    again = [column for column in fixed if column.header in ("rank", "model", "task")]
    rest = [column for column in fixed if column not in again]
    together = not rest or _width([*fixed, *others]) <= width
    for columns in [[*rest, *others]] if together else [rest, others]:
        table = list(again)
        for column in columns:
            if _width([*table, column]) > width and len(table) > len(again):
                yield table
                table = list(again)
            table.append(column)
        if len(table) > len(again) or together:
            yield table


def _width(columns: Sequence[_Column]) -> int:
    return sum(column.width + _GAP for column in columns) - 1  # nothing stands after the last


def _table(columns: Sequence[_Column], new: Sequence[bool]) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for column in columns:
        table.add_column(
            Text(column.header),
            justify="left" if column.left else "right",
            overflow="fold",
            max_width=column.limit,
        )
    for index, is_new in enumerate(new):
        cells = [Text(column.cells[index]) for column in columns]
        table.add_row(*cells, style="bold green" if is_new else None)
    return table
