"""The ranking as a LaTeX table (booktabs) to paste into a paper; the best cells in bold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from formalbench.analysis.board import Board, Page
from formalbench.analysis.columns import FAILED, SOME, Column, Table
from formalbench.analysis.tables import LEGEND, exact_table, published_table, ranking
from formalbench.analysis.text import harmless
from tabulate import tabulate

T = TypeVar("T")

# tabulate escapes LaTeX's own signs. Private characters stand for what it must not
# escape: `harmless` lets none through from a name.
_BOLD, _END, _FAILED, _APART, _SOME = "\ue000", "\ue001", "\ue002", "\ue003", "\ue004"
_AFTERWARDS = str.maketrans(
    {
        _BOLD: r"\textbf{",
        _END: "}",
        _FAILED: r"$^{\dagger}$",
        _SOME: r"$^{\circ}$",
        _APART: "{}",
        "…": "--",
        "–": "--",
        "−": "$-$",
        "|": r"\textbar{}",
        "`": r"\textasciigrave{}",
    }
)
_COMPARED = ("score",)


def render(page: Page) -> str:
    """Return one table per protocol, then one per published source."""
    parts = [_board(board) for board in page.boards if board.rows]
    if page.exact.rows:
        parts.append(_comments([LEGEND, *page.exact.notes]) + _tabular(exact_table(page.exact)))
    for paper in page.published:
        title = f"Published, not measured here: {paper.citation}, arXiv:{paper.arxiv}."
        lines = [f"{title} Maximum / mean.", *paper.notes]
        parts.append(_comments(lines) + _tabular(published_table(paper)))
    return "\n\n".join(parts) + "\n" if parts else "% no measured rows yet\n"


def _board(board: Board) -> str:
    shown = ranking(board).without("within", "kind", "IQM", "IQM interval")
    comments = [
        f"Measured; protocol {board.name}. Means over the seeds, in percent.",
        "Interval: of the score, 95 %, over seeds and test strings.",
        "Dagger: a run did not finish, and counts as chance level.",
        "In brackets: not learned within the budget; the validation accuracy on the training "
        "lengths. Circle: some seeds did not learn them. The score counts all test accuracies.",
        *(_below(name, shown) for name in shown.below),
        *board.notes,
    ]
    return _comments(comments) + _tabular(shown)


def _below(name: str, table: Table[T]) -> str:
    texts = zip(table.headings, table.below[name], strict=True)
    return f"{name}: {', '.join(f'{heading} {text}' for heading, text in texts if text)}."


def _comments(lines: Sequence[str]) -> str:
    return "".join(f"% {harmless(line)}\n" for line in lines)


def _tabular(table: Table[T]) -> str:
    columns = [_column(column, table.items) for column in table.columns]
    rows = [list(cells) for cells in zip(*columns, strict=True)]
    text = tabulate(
        [[_apart(row[0]), *row[1:]] for row in rows],
        list(map(harmless, table.headings)),
        tablefmt="latex_booktabs",
        disable_numparse=True,
        colalign=["left" if column.left else "right" for column in table.columns],
    )
    return text.translate(_AFTERWARDS)


def _column(column: Column[T], items: Sequence[T]) -> list[str]:
    """Return the cells of a column; of what is compared, the best in bold as they are shown."""
    texts = [harmless(column.text(item)) for item in items]
    if column.form != "cell" and column.heading not in _COMPARED:
        return texts
    orders = [column.order(item) for item in items]
    known = [(order, text) for order, text in zip(orders, texts, strict=True) if order is not None]
    best = max(known)[1].partition(" ")[0].rstrip(SOME) if known else None
    return [_marked(text, best) for text in texts]


def _marked(text: str, best: str | None) -> str:
    number, _, mark = text.partition(" ")
    plain = number.rstrip(SOME)
    shown = f"{_BOLD}{plain}{_END}" if plain == best and plain[:1].isdigit() else plain
    return shown + _SOME * (plain != number) + _FAILED * (mark == FAILED)


def _apart(cell: str) -> str:
    """Keep the first cell from being taken for an option of the line break before it."""
    return f"{_APART}{cell}" if cell.startswith(("[", "*")) else cell
