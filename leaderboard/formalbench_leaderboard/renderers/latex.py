"""The ranking as a LaTeX table (booktabs) to paste into a paper; the best cells in bold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from formalbench.analysis.board import Board, Page, Row
from formalbench.analysis.columns import CAPPED, DOUBTFUL, FAILED, SOME, Column, Sheet
from formalbench.analysis.tables import (
    LEGEND,
    Outcome,
    by_place,
    exact_table,
    of_task,
    published_table,
    ranking,
)
from formalbench.analysis.templating import Latex
from formalbench.analysis.text import harmless, latex
from tabulate import tabulate

from formalbench_leaderboard import templating

T = TypeVar("T")

_MARKS = {
    SOME: r"$^{\circ}$",
    CAPPED: r"$^{\ddagger}$",
    DOUBTFUL: r"$^{\sim}$",
    FAILED: r"$^{\dagger}$",
}
_COMPARED = ("score",)


def render(page: Page) -> str:
    """Return one table per protocol, then exact models, then one per published source."""
    return templating.render(
        "page.tex.j2",
        page=page,
        LEGEND=LEGEND,
        ranking=_ranking,
        of_task=_of_task,
        exact_table=exact_table,
        published_table=published_table,
        below=_below,
        tabular=_tabular,
        comment=lambda line: Latex(harmless(line)),
    )


def _ranking(board: Board) -> Sheet[Row]:
    return ranking(board).without("kind", "profile", "horizon", "IQM", "IQM interval")


def _of_task(board: Board, title: str) -> Sheet[Outcome]:
    if title in board.otherwise:
        return by_place(board, title).without("rate", "command")
    shown = ("model", "validation", "mean", "interval", "scaled", "≥ 99 % to", "seeds")
    return of_task(board, title).only(*shown)


def _below(table: Sheet[T]) -> Iterator[str]:
    for name, texts in table.below.items():
        told = zip(table.headings, texts, strict=True)
        yield f"{name}: {', '.join(f'{heading} {text}' for heading, text in told if text)}."


def _tabular(table: Sheet[T]) -> Latex:
    columns = [_column(column, table.items) for column in table.columns]
    rows = [[_apart(first), *rest] for first, *rest in zip(*columns, strict=True)]
    text = tabulate(
        rows,
        list(map(latex, table.headings)),
        tablefmt="latex_raw",
        disable_numparse=True,
        colalign=["left" if column.left else "right" for column in table.columns],
    )
    for rule in ("toprule", "midrule", "bottomrule"):
        text = text.replace(r"\hline", rf"\{rule}", 1)
    return Latex(text)


def _column(column: Column[T], items: Sequence[T]) -> list[str]:
    """Return the cells of a column; of what is compared, the best in bold as they are shown."""
    texts = [column.text(item) for item in items]
    if column.form != "cell" and column.heading not in _COMPARED:
        return list(map(latex, texts))
    orders = [column.order(item) for item in items]
    known = [(order, text) for order, text in zip(orders, texts, strict=True) if order is not None]
    pick = min if column.less else max
    best = _parted(pick(known)[1])[0] if known else ""
    return [_marked(text, best) for text in texts]


def _marked(text: str, best: str) -> str:
    number, marks = _parted(text)
    bold = number == best and number[:1].isdigit()
    return (rf"\textbf{{{latex(number)}}}" if bold else latex(number)) + marks


def _parted(text: str) -> tuple[str, str]:
    """Return the number of a cell, and LaTeX for the marks behind it."""
    number = text.rstrip(f"{SOME}{CAPPED}{DOUBTFUL}{FAILED} ")
    return number, "".join(_MARKS.get(sign, "") for sign in text[len(number) :])


def _apart(cell: str) -> str:
    """Keep the first cell from being taken for an option of the line break before it."""
    return f"{{}}{cell}" if cell.startswith(("[", "*")) else cell
