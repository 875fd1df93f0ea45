"""The board in a terminal: rich tables, as many as it takes to fit the width.

Columns that do not fit have their own table below; text that is wider than half of the screen is
folded. On a screen, the boards are shortened to its height. In a pipe all rows are printed, unless
the number of lines is limited.
"""

from __future__ import annotations

import io
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from formalbench.contracts.paper_tables import PublishedTable
from formalbench.documents.table import CAPPED, DOUBTFUL, FAILED, SOME, Column, Sheet
from formalbench.documents.text import harmless, plural
from formalbench.statistics.board import Board, ExactModels, Page, Row
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from formalbench_leaderboard.board.tables import (
    LEGEND,
    by_place,
    exact_table,
    of_task,
    plugin_metrics,
    ranking,
)

T = TypeVar("T")

WIDTH = 80

FEWEST_ROWS = 3

ONE_SCREEN = 60
"""Maximum number of lines, if only a board is printed."""

MOST_NOTES = 3
"""Maximum number of notes on a shortened board, apart from those on marked rows."""

_FREE_LINES = 3
"""Lines of a screen that remain free for what follows the board."""

_GAP = 2
_REPEATED = ("rank", "model", "task")
"""Columns that are repeated at the beginning of every table."""


@dataclass(frozen=True, slots=True)
class _Column:
    header: str
    cells: tuple[str, ...]
    width: int
    left: bool
    repeated: bool
    name: bool


def render(page: Page) -> str:
    """Return the page as plain text, 80 columns wide."""
    target = io.StringIO()
    print_page(page, Console(file=target, width=WIDTH, color_system=None, legacy_windows=False))
    return "".join(f"{line.rstrip()}\n" for line in target.getvalue().splitlines())


@dataclass(frozen=True, slots=True)
class TableDetail:
    """The part of a page to print.

    Attributes:
        everything: whether to print all columns, exact models and papers. Otherwise only the boards
            are printed, with the columns that decide the ranks.
        mark: the text after the name of a new row.
        other_tasks: whether to print tasks that do not count in the score, too.
        rows: maximum number of a board's rows, and of its notes, apart from marked rows; None for
            all of them.
        lines: maximum number of lines, reached by leaving out rows; None for no limit.
        others: the name of each board that is not printed, and the command that shows it.
    """

    everything: bool = True
    mark: str = "new"
    other_tasks: bool = False
    rows: int | None = None
    lines: int | None = None
    others: tuple[tuple[str, str], ...] = ()


def print_page(page: Page, console: Console, detail: TableDetail = TableDetail()) -> None:
    """Print exact models and the published tables, then the boards, in the console's width.

    The boards come last, and the page's first board is nearest to the prompt. On a screen they are
    shortened to its height, unless everything is printed.
    """
    limits = [] if detail.lines is None else [detail.lines]
    if console.is_terminal and not detail.everything:
        limits.append(console.height - _FREE_LINES)
    if limits:
        detail = _fit(min(limits), page, console, detail)
    _print_page(page, console, detail)


def _fit(room: int, page: Page, console: Console, detail: TableDetail) -> TableDetail:
    """Return the part of a page that fits in a number of lines, with a few rows of each board.

    If the number of lines is limited explicitly, tasks that do not count in the score are left out
    when they take too many lines.
    """

    def lines(part: TableDetail) -> int:
        target = io.StringIO()
        trial = Console(file=target, width=console.width, legacy_windows=False)
        _print_page(page, trial, part)
        return target.getvalue().count("\n")

    def with_rows(rows: int) -> TableDetail:
        return replace(detail, rows=rows)

    if lines(detail) <= room:
        return detail
    if detail.lines is not None and lines(with_rows(FEWEST_ROWS)) > room:
        detail = replace(detail, other_tasks=False)
    most = max((len(board.rows) for board in page.boards), default=0)
    numbers = range(FEWEST_ROWS, most + 1)
    fitting = bisect_right(numbers, room, key=lambda rows: lines(with_rows(rows)))
    return with_rows(max(FEWEST_ROWS, FEWEST_ROWS - 1 + fitting))


def _print_page(page: Page, console: Console, detail: TableDetail) -> None:
    if not page.boards and not page.exact.rows:
        console.print("No results yet. Run `formalbench run --model regulargpt` first.\n")
    if detail.everything:
        _print_other_tables(page, console)
    elif not page.boards and page.exact.rows:
        _print_exact(page.exact, console)
    for board in reversed(page.boards):
        _print_board(board, page.title, console, detail)
    if detail.others:
        console.print("Other boards:")
        names = [harmless(name) for name, _ in detail.others]
        widest = max(map(cell_len, names))
        for name, (_, command) in zip(names, detail.others, strict=True):
            line = Text(f"  {name:{widest}}  {harmless(command)}")
            console.print(line, soft_wrap=True)  # not wrapped, so that it can be copied
        console.print()


def _print_other_tables(page: Page, console: Console) -> None:
    """Print the other tables: papers' numbers, exact models, and a table for each task."""
    for paper in page.published:
        ranked = dict.fromkeys(task for board in page.boards for task in board.tasks)
        tasks = [task for task in ranked or paper.tasks if task in paper.tasks]
        if tasks:
            _print_published(paper, tasks, console)
    if page.exact.rows:
        _print_exact(page.exact, console)
    for board in page.boards:
        for title in (*board.tasks, *board.other_tasks):
            if title not in board.otherwise and (sheet := of_task(board, title)).items:
                console.print(Text(harmless(f"{title}, protocol {board.name}"), style="bold"))
                metrics = plugin_metrics(sheet.items)
                columns = ("model", "validation", "mean", "interval", *metrics, "seeds")
                _print_table(sheet.only(*columns), console)


def _print_board(board: Board, title: str, console: Console, detail: TableDetail) -> None:
    console.print(Text(harmless(f"{title}, protocol {board.name}"), style="bold"))
    if not board.rows:
        _print_notes(board.notes, console)
        return
    ranked = set(board.tasks) - set(board.otherwise)
    measured = any(result.task in ranked for row in board.rows for result in row.results)
    if not measured and not board.otherwise:  # a table of dashes would say no more
        console.print("None of the suite's tasks has a result under this protocol.")
        console.print(_legend(board, detail), style="dim", markup=False)
        detail = replace(detail, other_tasks=True)
    rows, notes = board.rows, board.notes
    if detail.rows is not None:
        new_rows = tuple(f"{row.model} " for row in rows if row.is_new)
        rows = tuple(row for n, row in enumerate(rows) if n < detail.rows or row.is_new)
        notes = tuple(note for note in notes if note.startswith(new_rows))[:MOST_NOTES]
    if measured:
        sheet = ranking(board).without(*_HIDDEN, *board.otherwise)
        _print_rows(sheet, rows, console, detail)
        console.print(_legend(board, detail), style="dim", markup=False)
    _print_by_place(board, console)
    if detail.other_tasks:
        _print_other_tasks(board, console, detail)
    if not detail.everything:
        hidden = (len(board.rows) - len(rows), len(board.notes) - len(notes))
        counts = zip(hidden, ("row", "note"), strict=True)
        more = [plural(count, f"more {noun}") for count, noun in counts if count]
        if board.other_tasks and not detail.other_tasks:
            more.append(f"{plural(len(board.other_tasks), 'task')} not in the score")
        text = ", ".join([*more, "intervals", "exact models", "numbers from papers"])
        console.print(Text(f"--all also prints: {text}."), style="dim")
    _print_notes(notes, console)


_HIDDEN = ("kind", "parameters", "IQM interval")
_DETAIL_COLUMNS = ("interval", "IQM")


def _print_rows(
    sheet: Sheet[Row], rows: Sequence[Row], console: Console, detail: TableDetail
) -> None:
    """Print some rows of a board; new rows are marked."""
    name_column = replace(
        next(column for column in sheet.columns if column.form == "name"),
        text=lambda row: f"{row.model} ({detail.mark})" if row.is_new else row.model,
    )
    columns = [name_column if column.form == "name" else column for column in sheet.columns]
    if not detail.everything:
        columns = [
            replace(column, below={n: t for n, t in column.below.items() if n != "language class"})
            for column in columns
            if column.heading not in _DETAIL_COLUMNS
        ]
    new = [row.is_new for row in rows]
    _print_table(
        Sheet(columns, rows),
        console,
        style=lambda place: "bold green" if new[place] else None,
    )


def _print_other_tasks(board: Board, console: Console, detail: TableDetail) -> None:
    """Print the results that do not count in the score, for the rows that have any."""
    titles = set(board.other_tasks) - set(board.otherwise)
    rows = [row for row in board.rows if any(result.task in titles for result in row.results)]
    if not rows:
        return
    sheet = ranking(board, other_tasks=True)
    tasks = [column.heading for column in sheet.columns if column.heading in titles]
    console.print("Not in the score:")
    _print_rows(sheet.only("model", *tasks), rows, console, detail)


def _print_by_place(board: Board, console: Console) -> None:
    """Print the tasks that are not shown by accuracy."""
    for title in board.otherwise:
        facts = board.facts_of(title)
        assert facts is not None  # the board knows the task's measure from its facts
        console.print(Text(harmless(f"{title}: {facts.measure.title}; not in the score")))
        _print_table(by_place(board, title).without("rate", "command"), console)


_SHORT_LEGEND = (
    "Score: mean over the tasks of (accuracy − chance) / (1 − chance). Rank: from 1 + the "
    "number of rows that are significantly better, to the number of rows minus those that are "
    "worse. Profile: languages solved/only learned/not learned (share of seeds that solved)."
)
_LONG_LEGEND = (
    "Score: mean over the tasks of (accuracy − chance) / (1 − chance), with its 95 % interval "
    "over seeds and test strings. Tasks: mean accuracy over the seeds. All in percent. "
    "Rank: from 1 + the number of rows that are significantly better, to the number of rows minus "
    "those that are significantly worse, corrected for the number of comparisons. Profile: "
    "languages that two thirds of the seeds solved (99 % at every tested length)/only learned/did "
    "not learn, and the share of all seeds that solved. Horizon: the longest length up to which "
    "half of the seeds that learned have 99 %. IQM: the mean of the middle half of the scaled "
    "accuracies of all runs."
)


def _legend(board: Board, detail: TableDetail) -> str:
    """Return the legend of a board, with only the marks that occur."""
    results = [result for row in board.rows for result in row.results]
    unlearned = any(result.unlearned for result in results)
    some = any(result.partly for result in results)
    failed = any(result.marked for result in results)
    capped = any(result.capped for result in results)
    parts = [
        _LONG_LEGEND if detail.everything else _SHORT_LEGEND,
        "[n]: the training lengths were not learned (n = validation accuracy, %). The score "
        "still uses test accuracy."
        if unlearned
        else "",
        f"{SOME}: some seeds did not learn." if some else "",
        f"{CAPPED}: training stopped before the whole budget." if capped else "",
        f"{DOUBTFUL}: weak evidence (a predictor that is wrong on some test strings has over 95 %)."
        if any(result.weak for result in results)
        else "",
        "!: a run did not finish, or diverged at some lengths, which counts as chance."
        if failed
        else "",
    ]
    return " ".join(part for part in parts if part)


def _print_exact(exact: ExactModels, console: Console) -> None:
    console.print(Text("exact models", style="bold"))
    _print_table(exact_table(exact), console)
    console.print(LEGEND.replace("`", ""), style="dim")
    _print_notes(exact.notes, console)


def _print_notes(notes: Sequence[str], console: Console) -> None:
    for note in notes:
        console.print(Text(harmless(f"! {note}")), style="yellow")
    console.print()


def _print_published(paper: PublishedTable, tasks: Sequence[str], console: Console) -> None:
    from formalbench_leaderboard.board.paper_comparison import published_table

    console.print(Text(f"published: {paper.source} (arXiv:{paper.arxiv})", style="bold"))
    _print_table(published_table(paper).only("model", *tasks), console)
    console.print(
        "Maximum / mean accuracy over seeds in percent, from the paper. Not comparable with the "
        "rows above if training or test lengths differ.",
        style="dim",
    )
    for note in paper.notes:
        console.print(Text(harmless(note)), style="dim")
    console.print()


def _print_table(
    sheet: Sheet[T],
    console: Console,
    style: Callable[[int], str | None] = lambda place: None,
) -> None:
    """Print a table as several tables that fit, each with the repeated columns.

    Args:
        sheet: the table; its summary lines come last.
        console: where to print.
        style: returns the style of an item's line, by its index.
    """
    columns = [_column(column, sheet, console.width) for column in sheet.columns]
    for part in _tables(columns, console.width):
        lines = [n for n in range(len(part[0].cells)) if n < len(sheet.items) or _has_text(part, n)]
        console.print(_grid(part, lines, lambda n: style(n) if n < len(sheet.items) else "dim"))
        console.print()


def _has_text(part: Sequence[_Column], line: int) -> bool:
    return any(column.cells[line] for column in part if not column.repeated)


def _column(column: Column[T], sheet: Sheet[T], screen: int) -> _Column:
    """Return the texts of a column and its width: at most half of the screen, or 3/4 for names."""
    texts = [column.text(item) for item in sheet.items]
    if column.form == "cell":
        texts = [text.replace(f" {FAILED}", "!") for text in texts]
    if column.form == "name":
        texts += sheet.below
    else:
        texts += [column.below.get(name, "") for name in sheet.below]
    header = harmless(column.heading) if column.form == "cell" else _narrow(column.heading)
    cells = tuple(map(harmless, texts))
    longest = max(cell_len(line) for line in (*header.split("\n"), *cells))
    return _Column(
        *(header, cells, min(longest, screen * 3 // 4 if column.form == "name" else screen // 2)),
        left=column.left,
        repeated=column.heading in _REPEATED,
        name=column.form == "name",
    )


def _narrow(name: str) -> str:
    if name == "interval":
        return "95 % interval"
    return name.replace(" to", "\nto").replace("bits at ", "bits at\n")


def _tables(columns: Sequence[_Column], width: int) -> Iterator[list[_Column]]:
    """Distribute columns over tables that fit; the repeated columns begin each of them."""
    repeated = [column for column in columns if column.repeated]
    table = list(repeated)
    for column in columns:
        if column.repeated:
            continue
        wide = sum(one.width + _GAP for one in (*table, column)) - 1 > width  # no gap at the end
        if wide and len(table) > len(repeated):
            yield table
            table = list(repeated)
        table.append(column)
    yield table


def _grid(
    columns: Sequence[_Column], lines: Sequence[int], style: Callable[[int], str | None]
) -> Grid:
    grid = Grid(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, _GAP - 1, 0, 0))
    for column in columns:
        grid.add_column(
            Text(column.header),
            justify="left" if column.left else "right",
            overflow="fold",
            width=column.width if column.name else None,
            max_width=column.width,
        )
    for line in lines:
        texts = [column.cells[line] for column in columns]
        cells = [Text(text, style="dim" if text.startswith("[") else "") for text in texts]
        grid.add_row(*cells, style=style(line))
    return grid
