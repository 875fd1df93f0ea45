"""The data for the page's charts, search and comparisons.

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
from formalbench.statistics.comparison import Comparison, Difference, each_pair
from formalbench.statistics.intervals import Draws
from formalbench.statistics.length_profile import averaged, curve_of, text_line
from formalbench.statistics.result import Result, TaskFacts, telling_cells

from formalbench_leaderboard.board.summary import verdict_of
from formalbench_leaderboard.board.tables import STANDING, training_seconds
from formalbench_leaderboard.page.descriptions import Definitions

MOST_POINTS = 30_000
"""Maximum number of points of all curves of a page; beyond, neighbouring lengths are averaged."""


MOST_SEED_POINTS = 20_000
"""With more points, the curves of single seeds are left out."""


MOST_PAIRED = 20_000
"""Maximum number of differences between two models that a board's data contain."""


DIGITS = 1000
"""Shares are stored as integers out of this number, which needs a third of the space."""


@dataclass(frozen=True, slots=True)
class Detail:
    """The resolution of a page's curves.

    Attributes:
        window: number of neighbouring test lengths per point.
        seeds: whether every seed has its own curve.
    """

    window: int
    seeds: bool


def detail_of(page: Page) -> Detail:
    """Return the resolution that keeps a page's curves below the maximum size."""
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
    """Return the chance level at each length where it is below 1; two points, if it is constant.

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

    Lengths at which chance is always right are left out. The band extends from the lowest to the
    highest end of the runs' Wilson intervals, so it includes the variation between seeds and the
    uncertainty from the number of strings.

    Returns:
        Shares out of `DIGITS`; None if no run finished, if their lengths differ, or if chance is
        right at all lengths.
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
    """Return the curve of a measure other than accuracy, in its own units; None for accuracy.

    The band extends from the seed with the lowest value to the one with the highest.
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
"""Fields of a task that a page stores as a curve."""


Links = Mapping[str, str]
"""Addresses of records, by their ids."""


def contents(page: Page, known: Definitions) -> dict[str, Any]:
    """Return a page's data as JSON values; shares are fractions of 1, in curves out of `digits`."""
    detail = detail_of(page)
    details = {**known.details}
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
    """Return the data as a page stores it: a tenth of the size, without characters special in HTML.

    Results and runs, which are numerous, are stored in columns; `script/base.js` restores them.
    """
    boards = [{**board, "rows": list(map(_flat_row, board["rows"]))} for board in data["boards"]]
    return packed_text(
        json.dumps({**data, "boards": boards}, separators=(",", ":"), allow_nan=False)
    )


def packed_text(text: str) -> str:
    """Return text compressed and in base64, a fifth of the size or less; the script unpacks it."""
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def _flat_row(row: dict[str, Any]) -> dict[str, Any]:
    flat = [{**result, "runs": _columns(result["runs"])} for result in row["results"].values()]
    return {**row, "results": [list(row["results"]), _columns(flat)]}


def _columns(items: Sequence[dict[str, Any]]) -> list[list[Any]]:
    """Return dictionaries with the same keys as columns: the keys, then the values of each key."""
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
        "pairs": _pairs(board),
    }


def _pairs(board: Board) -> list[Any] | None:
    """Return the differences of each two rows, the first row's pairs first; None if too many."""
    tasks = [*board.tasks, *board.other_tasks]
    count = len(board.rows) * (len(board.rows) - 1) // 2
    if count * (len(tasks) + 1) > MOST_PAIRED:
        return None
    return [_pair(found, tasks) for found in each_pair(board)]


def _pair(found: Comparison, tasks: Sequence[str]) -> list[Any]:
    """Return the mean and the difference on each task; None where the rows are not compared."""
    apart = {one.task: _apart(one.accuracy) for one in found.tasks}
    mean = found.mean
    whole = mean and [mean.tasks, *_whole(np.array([mean.a, mean.b]) * DIGITS), _apart(mean.scaled)]
    return [whole, *map(apart.get, tasks)]


def _apart(one: Difference) -> list[int]:
    return _whole(np.array([one.value, one.low, one.high]) * DIGITS)


def _standing(board: Board) -> dict[str, Any]:
    """Return a board's tasks and, for each row, the text and the sort key of some columns."""
    columns = [column for column in STANDING if column.heading not in _SAME_IN_A_CLASS]
    rows = {
        row.model: [[column.text(row), column.order(row)] for column in columns]
        for row in board.rows
    }
    headings = [column.heading for column in columns]
    return {"tasks": board.tasks, "headings": headings, "rows": rows}


_SAME_IN_A_CLASS = ("model", "kind", "parameters")
"""Columns of the board that have the same values for any selection of tasks."""


def _facts(facts: TaskFacts, detail: Detail) -> dict[str, Any]:
    """Return the fields of a task, with the chance level at each length in compact form."""
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
        "shown": facts.measure.text(result.shown) if facts and not facts.measure.accuracy else None,
        "value": result.shown,
        "places": places_curve(result),
        "curve": curve(result, facts, detail) if facts is None or facts.measure.accuracy else None,
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
    """Round numbers, and make every text harmless, including keys."""
    if isinstance(value, str):
        return harmless(value)
    if isinstance(value, float) and key != "learning_rate":
        return round(value, 6) + 0.0
    if isinstance(value, dict):
        return {harmless(name): _clean(item, name) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(item) for item in value]
    return value
