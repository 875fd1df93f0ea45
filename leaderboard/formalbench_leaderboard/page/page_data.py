"""The data behind the page's charts, search and comparisons.

Legend: W windows of lengths.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from formalbench.contracts.published import PublishedResult, PublishedTable
from formalbench.documents.charts import colour_of, on_dark
from formalbench.documents.text import harmless
from formalbench.statistics.board import Board, Page, Row
from formalbench.statistics.intervals import Draws, measured
from formalbench.statistics.length_profile import averaged, curve_of, text_line
from formalbench.statistics.result import Result, TaskFacts, telling_cells

from formalbench_leaderboard.board.summary import verdict_of
from formalbench_leaderboard.board.tables import STANDING, training_seconds
from formalbench_leaderboard.page.descriptions import Definitions

MOST_POINTS = 30_000
"""Points of the curves of a page, all together; with more, neighbouring lengths are averaged."""


MOST_SEED_POINTS = 20_000
"""With more, the curves of single seeds are left out."""


DIGITS = 1000
"""Shares are written as whole numbers out of this many: a third of the size."""


@dataclass(frozen=True, slots=True)
class Detail:
    """How much of the curves a page carries.

    Attributes:
        window: how many neighbouring test lengths make one point.
        seeds: whether every seed has a curve of its own.
    """

    window: int
    seeds: bool


def detail_of(page: Page) -> Detail:
    """Return what fits on a page."""
    points = seed_points = 0
    for board in page.boards:
        for result in _results(board):
            sizes = [len(run.cells.length) for run in result.runs if run.cells]
            points += max(sizes, default=0)
            seed_points += sum(sizes)
    window = max(1, -(-points // MOST_POINTS))
    return Detail(window, -(-seed_points // window) <= MOST_SEED_POINTS)


def _results(board: Board) -> Sequence[Result]:
    return [result for row in board.rows for result in row.results]


def chance_curve(facts: TaskFacts, detail: Detail) -> dict[str, list[int]]:
    """Return the chance level at each length that tells something: two points, if it is the same.

    Returns:
        Shares out of `DIGITS`.
    """
    told, window = facts.telling, detail.window
    if len({chance for _, chance in told}) == 1:
        told, window = [told[0], told[-1]], 1
    starts = np.arange(0, len(told), window)
    lengths, chances = zip(*told, strict=True) if told else ((), ())
    return {
        "length": _whole(averaged(lengths, starts)),
        "chance": _whole(averaged(chances, starts) * DIGITS),
    }


def curve(result: Result, facts: TaskFacts | None, detail: Detail) -> dict[str, Any] | None:
    """Return the accuracy at each length: the mean of the runs, and a band.

    Lengths at which chance is always right tell nothing, and are left out. The band reaches from
    the lowest to the highest end of the runs' Wilson intervals, so it holds both how seeds differ
    and what the number of strings leaves open.

    Returns:
        Shares out of `DIGITS`; None if no run finished, they differ in their lengths, or no length
        tells anything.
    """
    cells = telling_cells(result, facts)
    if not cells:
        return None
    found = curve_of(cells, np.arange(0, len(cells[0].length), detail.window))
    shown: dict[str, Any] = {
        "length": _whole(found.length),
        "mean": _whole(found.shares.mean(axis=0) * DIGITS),
        "low": _whole(found.low * DIGITS),
        "high": _whole(found.high * DIGITS),
    }
    if detail.seeds and len(cells) > 1:
        shown["seeds"] = [_whole(shares_W * DIGITS) for shares_W in found.shares]
    return shown


def places_curve(result: Result) -> dict[str, Any] | None:
    """Return what is shown by another measure than accuracy, in its own units; None of any else.

    The band reaches from the seed with the least to the one with the most.
    """
    line = text_line(result)
    if line is None:
        return None
    named = {"names": list(line.names)} if line.names else {}
    shown = {name: _short(getattr(line, name)) for name in ("mean", "low", "high")}
    at = list(line.length) or list(range(len(line.names)))
    return {"length": at, **named, **shown, "seeds": [_short(seed_P) for seed_P in line.seeds]}


def _short(values: Draws) -> list[float]:
    return [float(f"{value:.5g}") for value in values]


def _whole(numbers: Draws) -> list[int]:
    whole: list[int] = np.rint(numbers).astype(int).tolist()
    return whole


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
        "boards": [_board(board, detail, links, known.by_class) for board in page.boards],
        "classes": list(known.by_class),
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


def _board(
    board: Board, detail: Detail, links: Links, by_class: Mapping[str, Page]
) -> dict[str, Any]:
    within = {
        name: _standing(part)
        for name, page in by_class.items()
        for part in page.boards
        if part.name == board.name
    }
    return {
        "name": board.name,
        "ranked": board.ranked,
        "tasks": board.tasks,
        "other_tasks": board.other_tasks,
        "facts": {facts.title: _facts(facts, detail) for facts in board.facts},
        "rows": [_row(row, board, detail, links) for row in board.rows],
        "by_class": within,
    }


def _standing(board: Board) -> dict[str, Any]:
    """Return the tasks of a board, and of each row the text and the order below some headings."""
    columns = [column for column in STANDING if column.heading not in _SAME_IN_A_CLASS]
    rows = {
        row.model: [[column.text(row), column.order(row)] for column in columns]
        for row in board.rows
    }
    headings = [column.heading for column in columns]
    return {"tasks": board.tasks, "headings": headings, "rows": rows}


_SAME_IN_A_CLASS = ("model", "kind", "parameters")
"""Headings of the board below which a row has the same, whichever tasks count."""


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
