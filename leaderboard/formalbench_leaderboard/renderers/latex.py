"""The ranking as a LaTeX table (booktabs) to paste into a paper; the best cells in bold."""

from __future__ import annotations

from collections.abc import Sequence

from formalbench.analysis.text import MISSING, count, harmless, interval, percent
from formalbench.contracts.published import PublishedTable
from tabulate import tabulate

from formalbench_leaderboard.board import Board, Page
from formalbench_leaderboard.constructions import ExactModels
from formalbench_leaderboard.renderers.exact import HEADER, LEGEND, cells

# tabulate escapes LaTeX's own signs. Private characters stand for what it must not
# escape: `harmless` lets none through from a name.
_BOLD, _END, _FAILED, _APART = "\ue000", "\ue001", "\ue002", "\ue003"
_AFTERWARDS = str.maketrans(
    {
        _BOLD: r"\textbf{",
        _END: "}",
        _FAILED: r"$^{\dagger}$",
        _APART: "{}",
        "…": "--",
        "–": "--",
        "−": "$-$",
        "|": r"\textbar{}",
        "`": r"\textasciigrave{}",
    }
)


def render(page: Page) -> str:
    """Return one table per protocol, then one per published source."""
    parts = [_board(board) for board in page.boards if board.rows]
    if page.exact.rows:
        parts.append(_exact(page.exact))
    parts += [_published(table) for table in page.published]
    return "\n\n".join(parts) + "\n" if parts else "% no measured rows yet\n"


def _board(board: Board) -> str:
    header = ["rank", "model", "parameters", "score", "interval", *board.tasks]
    columns = [
        ["rank", *(str(row.rank or MISSING) for row in board.rows)],
        ["model", *(harmless(row.model) for row in board.rows)],
        ["parameters", *(count(*row.parameters) for row in board.rows)],
        ["score", *_bold_best([row.score for row in board.rows])],
        ["interval", *(interval(row.low, row.high) for row in board.rows)],
    ]
    for task in board.tasks:
        results = [row.on(task) for row in board.rows]
        means = _bold_best([part.mean if part else None for part in results])
        failed = [part is not None and part.finished < part.seeds for part in results]
        columns.append(
            [task, *(text + _FAILED * mark for text, mark in zip(means, failed, strict=True))]
        )
    comments = [
        f"Measured; protocol {board.name}. Means over the seeds, in percent.",
        "Interval: of the score, 95 %, over seeds and test strings.",
        "Dagger: a run did not finish, and counts as chance level.",
        *board.notes,
    ]
    rows = list(zip(*(column[1:] for column in columns), strict=True))
    return _comments(comments) + _tabular(header, rows, "rl")


def _bold_best(values: Sequence[float | None]) -> list[str]:
    """Return percentages with the best ones, as they are shown, in bold."""
    shown = [percent(value) for value in values]
    best = max((value for value in values if value is not None), default=None)
    return [
        f"{_BOLD}{text}{_END}" if best is not None and text == percent(best) else text
        for text in shown
    ]


def _exact(exact: ExactModels) -> str:
    rows = [list(map(harmless, cells(row))) for row in exact.rows]
    return _comments([LEGEND, *exact.notes]) + _tabular(HEADER, rows, "ll")


def _published(table: PublishedTable) -> str:
    rows = [
        [harmless(row.model)]
        + [
            MISSING
            if cell is None
            else " / ".join(
                MISSING if value is None else f"{value:.1f}" for value in (cell.max, cell.mean)
            )
            for cell in (row.results.get(task) for task in table.tasks)
        ]
        for row in table.rows
    ]
    title = f"Published, not measured here: {table.citation}, arXiv:{table.arxiv}. Maximum / mean."
    return _comments([title, *table.notes]) + _tabular(["model", *table.tasks], rows, "l")


def _comments(lines: Sequence[str]) -> str:
    return "".join(f"% {harmless(line)}\n" for line in lines)


def _tabular(header: Sequence[str], rows: Sequence[Sequence[str]], align: str) -> str:
    names = {"l": "left", "r": "right"}
    text = tabulate(
        [[_apart(row[0]), *row[1:]] for row in rows],
        [harmless(name) for name in header],
        tablefmt="latex_booktabs",
        disable_numparse=True,
        colalign=[names[sign] for sign in align.ljust(len(header), "r")],
    )
    return text.translate(_AFTERWARDS)


def _apart(cell: str) -> str:
    """Keep the first cell from being taken for an option of the line break before it."""
    return f"{_APART}{cell}" if cell.startswith(("[", "*")) else cell
