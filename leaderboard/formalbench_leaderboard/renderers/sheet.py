"""The board as CSV: one line per model and task, measured rows before published ones."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from formalbench.analysis.text import spreadsheet
from formalbench.contracts.published import PublishedTable

from formalbench_leaderboard.board import Board, Page
from formalbench_leaderboard.constructions import DTYPES, SHOWN_LENGTHS, ExactModel

_HEADER = (
    *("origin", "protocol", "version", "rank", "rank_low", "rank_high", "model", "kind"),
    *("parameters_min", "parameters_max", "score", "score_low", "score_high"),
    *("iqm", "iqm_low", "iqm_high"),
    *("task", "max", "max_low", "max_high", "mean", "median", "scaled", "chance", "low", "high"),
    *("longest_99", "longest_90", "seeds", "finished", "learning_rate", "command"),
    *("exhaustive", "tested_to", "strings", "errors", "margin", "depth", "width"),
    *(f"bits_{length}" for length in SHOWN_LENGTHS),
    *(f"break_{dtype}" for dtype in DTYPES),
)

_Cells = dict[str, str]


def render(page: Page) -> str:
    """Return the page as CSV; shares are fractions of one."""
    target = io.StringIO()
    writer = csv.DictWriter(target, _HEADER, restval="", lineterminator="\n")
    writer.writeheader()
    for board in page.boards:
        writer.writerows(_measured(board))
    writer.writerows(map(_verified, page.exact.rows))
    for table in page.published:
        writer.writerows(_published(table))
    return target.getvalue()


def _measured(board: Board) -> Iterator[_Cells]:
    for row in board.rows:
        for result in row.results:
            facts = board.facts_of(result.task)
            yield {
                "origin": "measured",
                "protocol": spreadsheet(board.protocol),
                "version": str(board.version),
                "rank": str(row.rank or ""),
                "rank_low": str(row.rank_low or ""),
                "rank_high": str(row.rank_high or ""),
                "model": spreadsheet(row.model),
                "kind": row.kind,
                "parameters_min": str(row.parameters[0]),
                "parameters_max": str(row.parameters[1]),
                "score": _number(row.score),
                "score_low": _number(row.low),
                "score_high": _number(row.high),
                "iqm": _number(row.iqm),
                "iqm_low": _number(row.iqm_low),
                "iqm_high": _number(row.iqm_high),
                "task": spreadsheet(result.task),
                "max": _number(result.max),
                "max_low": _number(result.max_low),
                "max_high": _number(result.max_high),
                "mean": _number(result.mean),
                "median": _number(result.median),
                "scaled": _number(result.scaled),
                "chance": _number(facts.chance_length if facts else None),
                "low": _number(result.low),
                "high": _number(result.high),
                "longest_99": str(result.longest_99 or ""),
                "longest_90": str(result.longest_90 or ""),
                "seeds": str(result.seeds),
                "finished": str(result.finished),
                "learning_rate": "" if result.learning_rate is None else repr(result.learning_rate),
                "command": spreadsheet(result.command),
            }


def _verified(row: ExactModel) -> _Cells:
    breaks = row.break_length or {}
    return {
        "origin": "verified",
        "model": spreadsheet(row.model),
        "kind": "exact",
        "parameters_min": str(row.parameters),
        "parameters_max": str(row.parameters),
        "task": spreadsheet(row.task),
        "command": spreadsheet("; ".join(row.commands)),
        "exhaustive": _plain(row.exhaustive),
        "tested_to": _plain(row.tested_to),
        "strings": str(row.strings),
        "errors": str(row.errors),
        "margin": _plain(row.margin),
        "depth": _plain(row.depth),
        "width": _plain(row.width),
        **{
            f"bits_{length}": _plain(bits)
            for length, bits in zip(SHOWN_LENGTHS, row.bits, strict=True)
        },
        **{f"break_{dtype}": _plain(breaks.get(dtype)) for dtype in DTYPES},
    }


def _plain(value: float | None) -> str:
    return "" if value is None else repr(value)


def _published(table: PublishedTable) -> Iterator[_Cells]:
    for row in table.rows:
        for task, cell in row.results.items():
            yield {
                "origin": f"published: {spreadsheet(table.source)}",
                "model": spreadsheet(row.model),
                "task": spreadsheet(task),
                "max": _number(None if cell.max is None else cell.max / 100.0),
                "mean": _number(None if cell.mean is None else cell.mean / 100.0),
            }


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6f}"
