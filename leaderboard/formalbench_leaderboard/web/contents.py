"""What the page's script draws from: the board, curves and definitions as JSON."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from formalbench.analysis.board import Board, Page, Row
from formalbench.analysis.colours import colour_of, on_dark
from formalbench.analysis.cost import training_seconds
from formalbench.analysis.results import Result, TaskFacts
from formalbench.analysis.statistics import measured
from formalbench.analysis.text import harmless
from formalbench.analysis.verdict import verdict_of
from formalbench.contracts.published import PublishedResult, PublishedTable

from formalbench_leaderboard.web.curves import (
    DIGITS,
    Detail,
    chance_curve,
    curve,
    detail_of,
    places_curve,
)
from formalbench_leaderboard.web.definitions import Definitions

_BY_CELL = ("lengths", "chances")
"""Facts of which a page carries a curve."""


Links = Mapping[str, str]
"""Where records are, by their ids."""


def contents(page: Page, known: Definitions) -> dict[str, Any]:
    """Return it as JSON has it; shares are fractions of one, but curves, out of `digits`."""
    detail = detail_of(page)
    details = {"spread": [], **known.details}
    links: Links = details.pop("records", {})
    data = {
        "title": page.title,
        "digits": DIGITS,
        "window": detail.window,
        "seed_curves": detail.seeds,
        "boards": [_board(board, detail, links) for board in page.boards],
        "published": [_published(table) for table in page.published],
        "tasks": {title: asdict(task) for title, task in known.tasks.items()},
        "models": {name: asdict(model) for name, model in known.models.items()},
        "catalogue": [asdict(found) for found in known.catalogue],
        "details": details,
    }
    clean: dict[str, Any] = _clean(data)
    return clean


def packed(data: dict[str, Any]) -> str:
    """Return the data as a page carries it: a tenth of the size, and no sign that HTML knows.

    Results and runs, of which there are many, lie in columns; `script/base.js` makes them whole.
    """
    boards = [{**board, "rows": list(map(_flat_row, board["rows"]))} for board in data["boards"]]
    return packed_text(
        json.dumps({**data, "boards": boards}, separators=(",", ":"), allow_nan=False)
    )


def packed_text(text: str) -> str:
    """Return text as letters and digits, a fifth of them or fewer; the script unpacks it."""
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def _flat_row(row: dict[str, Any]) -> dict[str, Any]:
    flat = [{**result, "runs": _columns(result["runs"])} for result in row["results"].values()]
    return {**row, "results": [list(row["results"]), _columns(flat)]}


def _columns(items: Sequence[dict[str, Any]]) -> list[list[Any]]:
    """Return dictionaries of the same keys as these keys, and below each its values."""
    keys = list(items[0]) if items else []
    return [keys, *([item[key] for item in items] for key in keys)]


def _board(board: Board, detail: Detail, links: Links) -> dict[str, Any]:
    return {
        "name": board.name,
        "ranked": board.ranked,
        "tasks": board.tasks,
        "other_tasks": board.other_tasks,
        "facts": {facts.title: _facts(facts, detail) for facts in board.facts},
        "rows": [_row(row, board, detail, links) for row in board.rows],
    }


def _facts(facts: TaskFacts, detail: Detail) -> dict[str, Any]:
    """Return the facts of a task, with the chance level at each length in little room."""
    plain = {key: value for key, value in asdict(facts).items() if key not in _BY_CELL}
    told = {"last_telling": facts.last_telling, "chance_curve": chance_curve(facts, detail)}
    return {**plain, **told}


def _row(row: Row, board: Board, detail: Detail, links: Links) -> dict[str, Any]:
    numbers = ("rank", "score", "low", "high", "rank_low", "rank_high", "iqm", "better_than")
    return {
        "model": row.model,
        "kind": row.kind,
        "colour": colour_of(row.model),
        "dark": on_dark(colour_of(row.model)),
        "parameters": row.parameters,
        **{name: getattr(row, name) for name in numbers},
        "seconds": training_seconds(row, board),
        "verdict": verdict_of(board, row),
        "results": {
            result.task: _result(result, board.facts_of(result.task), detail, links)
            for result in row.results
        },
    }


def _result(
    result: Result, facts: TaskFacts | None, detail: Detail, links: Links
) -> dict[str, Any]:
    plain = (
        "max",
        "mean",
        "median",
        "scaled",
        "low",
        "high",
        "seeds",
        "finished",
        "marked",
        "outcome",
    )
    more = (
        "learning_rate",
        "command",
        "longest_99",
        "longest_90",
        "validation",
        "learned",
        "tried",
        "capped",
        "weak",
        "budget",
        "information",
    )
    return {
        **{name: getattr(result, name) for name in (*plain, *more)},
        "runs": [
            {
                "seed": run.seed,
                "status": run.status,
                "accuracy": run.accuracy,
                "seconds": None if run.seconds is None else round(run.seconds, 1),
                "validation": run.validation,
                "learned": run.learned,
                "steps": run.steps,
                "record": links.get(run.test_id),
            }
            for run in result.runs
        ],
        **({"metrics": result.metrics} if result.metrics else {}),
        "strings": _strings(result),
        "shown": facts.measure.text(result.shown) if facts and not facts.measure.accuracy else None,
        "value": result.shown,
        "places": places_curve(result),
        "curve": curve(result, facts, detail) if facts is None or facts.measure.accuracy else None,
    }


def _strings(result: Result) -> float:
    """Return how many strings of one cell give an accuracy as certain as a run's."""
    cells = next((run.cells for run in result.runs if run.cells is not None), None)
    return 0.0 if cells is None else measured(cells.strings, 0.0).strings


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
