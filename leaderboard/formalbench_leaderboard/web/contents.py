"""What the page's script draws from: the board, curves and definitions as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from formalbench.analysis.board import Board, Page, Row
from formalbench.analysis.results import Result
from formalbench.analysis.text import harmless
from formalbench.contracts.published import PublishedResult, PublishedTable

from formalbench_leaderboard.web.curves import DIGITS, Detail, curve, detail_of
from formalbench_leaderboard.web.definitions import Definitions

# Inside JSON these occur in strings only. As escapes they can neither end the element that
# holds the data nor be taken for a line's end.
_ESCAPES = str.maketrans(
    {sign: f"\\u{ord(sign):04x}" for sign in ("<", ">", "&", "\u2028", "\u2029")}
)


def contents(page: Page, known: Definitions) -> str:
    """Return the JSON; shares are fractions of one, but curves, which are out of `digits`."""
    detail = detail_of(page)
    data = {
        "title": page.title,
        "digits": DIGITS,
        "window": detail.window,
        "seed_curves": detail.seeds,
        "boards": [_board(board, detail) for board in page.boards],
        "published": [_published(table) for table in page.published],
        "tasks": {title: asdict(task) for title, task in known.tasks.items()},
        "models": {name: asdict(model) for name, model in known.models.items()},
    }
    text = json.dumps(_clean(data), ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.translate(_ESCAPES)


def cost(row: Row, board: Board) -> float | None:
    """Return the seconds that training one seed on each of the board's tasks took, on average.

    None if it is not known of every task.
    """
    total = 0.0
    for title in board.tasks:
        result = row.on(title)
        seconds = [run.seconds for run in result.runs if run.seconds] if result else []
        if not seconds:
            return None
        total += sum(seconds) / len(seconds)
    return total


def _board(board: Board, detail: Detail) -> dict[str, Any]:
    return {
        "name": board.name,
        "tasks": board.tasks,
        "other_tasks": board.other_tasks,
        "facts": {facts.title: asdict(facts) for facts in board.facts},
        "rows": [_row(row, board, detail) for row in board.rows],
    }


def _row(row: Row, board: Board, detail: Detail) -> dict[str, Any]:
    numbers = ("rank", "score", "low", "high", "rank_low", "rank_high", "iqm")
    return {
        "model": row.model,
        "kind": row.kind,
        "parameters": row.parameters,
        **{name: getattr(row, name) for name in numbers},
        "seconds": cost(row, board),
        "results": {result.task: _result(result, detail) for result in row.results},
    }


def _result(result: Result, detail: Detail) -> dict[str, Any]:
    plain = ("max", "mean", "median", "scaled", "low", "high", "seeds", "finished", "outcome")
    more = (
        "learning_rate",
        "command",
        "longest_99",
        "longest_90",
        "validation",
        "learned",
        "budget",
    )
    return {
        **{name: getattr(result, name) for name in (*plain, *more)},
        "runs": [
            {
                "seed": run.seed,
                "status": run.status,
                "accuracy": run.accuracy,
                "seconds": run.seconds,
            }
            for run in result.runs
        ],
        "curve": curve(result, detail),
    }


def _published(table: PublishedTable) -> dict[str, Any]:
    return {
        "source": table.source,
        "rows": [
            {
                "model": row.model,
                "results": {task: _shares(cell) for task, cell in row.results.items()},
            }
            for row in table.rows
        ],
    }


def _shares(cell: PublishedResult) -> dict[str, float | None]:
    return {"max": cell.max, "mean": cell.mean}


def _clean(value: Any, key: str = "") -> Any:
    """Round numbers, and make every text harmless, names that are keys included."""
    if isinstance(value, str):
        return harmless(value)
    if isinstance(value, float) and key != "learning_rate":
        return round(value, 6) + 0.0
    if isinstance(value, dict):
        return {harmless(name): _clean(item, name) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(item) for item in value]
    return value
