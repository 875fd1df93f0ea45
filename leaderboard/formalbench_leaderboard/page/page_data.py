"""The data for the page's charts, search and comparisons.

Legend: W windows of lengths.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

import numpy as np
from formalbench.documents.charts import colour_of, on_dark
from formalbench.documents.text import MISSING, harmless
from formalbench.statistics.board import Board, Page, Row
from formalbench.statistics.comparison import Comparison, Difference, each_pair
from formalbench.statistics.intervals import Draws
from formalbench.statistics.length_profile import averaged, curve_of, text_line
from formalbench.statistics.result import Result, TaskFacts, informative_cells

from formalbench_leaderboard.board.tables import STANDING
from formalbench_leaderboard.page.descriptions import Definitions, SearchEntry

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
    for result in (one for board in page.boards for row in board.rows for one in row.results):
        sizes = [len(run.cells.length) for run in result.runs if run.cells]
        points += max(sizes, default=0)
        seed_points += sum(sizes)
    window = max(1, -(-points // MOST_POINTS))
    return Detail(window, -(-seed_points // window) <= MOST_SEED_POINTS)


def chance_curve(facts: TaskFacts, detail: Detail) -> dict[str, list[int]]:
    """Return the chance level at each length where it is below 1; two points, if it is constant.

    Returns:
        Shares out of `DIGITS`.
    """
    levels, window = facts.informative_lengths, detail.window
    if len({chance for _, chance in levels}) == 1:
        levels, window = [levels[0], levels[-1]], 1
    starts = np.arange(0, len(levels), window)
    lengths, chances = zip(*levels, strict=True) if levels else ((), ())
    return {
        "length": _round(averaged(lengths, starts)),
        "chance": _round(averaged(chances, starts) * DIGITS),
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
    cells = informative_cells(result, facts)
    if not cells:
        return None
    profile = curve_of(cells, np.arange(0, len(cells[0].length), detail.window))
    data: dict[str, Any] = {
        "dashed": not result.reaches,
        "length": _round(profile.length),
        "mean": _round(profile.shares.mean(axis=0) * DIGITS),
        "low": _round(profile.low * DIGITS),
        "high": _round(profile.high * DIGITS),
    }
    if detail.seeds and len(cells) > 1:
        data["seeds"] = [_round(shares_W * DIGITS) for shares_W in profile.shares]
    return data


def places_curve(result: Result) -> dict[str, Any] | None:
    """Return the curve of a measure other than accuracy, in its own units; None for accuracy.

    The band extends from the seed with the lowest value to the one with the highest.
    """
    line = text_line(result)
    if line is None:
        return None
    names = {"names": list(line.names)} if line.names else {}
    values = {name: _short(getattr(line, name)) for name in ("mean", "low", "high")}
    x = list(line.length) or list(range(len(line.names)))
    return {"length": x, **names, **values, "seeds": [_short(seed_P) for seed_P in line.seeds]}


def _short(values: Draws) -> list[float]:
    return [float(f"{value:.5g}") for value in values]


def _round(numbers: Draws) -> list[int]:
    rounded: list[int] = np.rint(numbers).astype(int).tolist()
    return rounded


@dataclass(frozen=True, slots=True)
class PageResult:
    """A result on the page.

    Attributes:
        number: its place among all results of the page.
        place: the place of its board.
        row, result, facts: the model, its result, and the facts of the task.
        curve: the points of its curve, if it has one.
    """

    number: int
    place: int
    row: Row
    result: Result
    facts: TaskFacts | None
    curve: dict[str, Any] | None

    @property
    def text(self) -> bool:
        """Whether the task is measured by something else than accuracy."""
        return self.facts is not None and not self.facts.measure.accuracy


def curve_points(page: Page, detail: Detail) -> list[PageResult]:
    """Return all results of a page with the points of their curves."""
    results: list[PageResult] = []
    for place, board in enumerate(page.boards):
        by_title = {facts.title: facts for facts in board.facts}
        for row in board.rows:
            for result in row.results:
                facts = by_title.get(result.task)
                accuracy = facts is None or facts.measure.accuracy
                points = curve(result, facts, detail) if accuracy else places_curve(result)
                results.append(PageResult(len(results), place, row, result, facts, points))
    return results


def contents(page: Page, known: Definitions, shown: Sequence[PageResult]) -> dict[str, Any]:
    """Return the data of a page's script as JSON values; points of curves are out of `digits`."""
    detail = detail_of(page)
    data = {
        "digits": DIGITS,
        "boards": [
            _board(board, known, numbers_of(place, shown))
            for place, board in enumerate(page.boards)
        ],
        "curves": [one.curve for one in shown],
        "chances": [chance_curve(one, detail) for board in page.boards for one in board.facts],
        "entries": _entries(page, known),
    }
    clean: dict[str, Any] = _clean(data)
    return clean


def numbers_of(place: int, shown: Sequence[PageResult]) -> dict[tuple[str, str], int]:
    """Return the number of each result of a board, by the row's model and the task."""
    return {(one.row.model, one.result.task): one.number for one in shown if one.place == place}


def colours(model: str) -> str:
    """Return the colour of a model in CSS, lighter on a dark background."""
    return f"light-dark({colour_of(model)}, {on_dark(colour_of(model))})"


def duration(seconds: float | None) -> str:
    """Return a time with its unit, such as ``2.5 s`` and ``14 min``."""
    if seconds is None:
        return MISSING
    if seconds < 100:
        return f"{seconds:.{1 if seconds < 10 else 0}f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def classes_of(page: Page, known: Definitions) -> list[str]:
    """Return the classes of the tasks of a page's boards."""
    names = {board.name for board in page.boards}
    return [name for name, part in known.by_class.items() if names & {b.name for b in part.boards}]


def _entries(page: Page, known: Definitions) -> list[dict[str, str]]:
    """Return what the search finds: what the page shows, and what could be measured.

    The latter have the command that measures or shows them.
    """
    catalogue: dict[tuple[str, str], SearchEntry] = {
        (one.kind, one.name): one for one in known.catalogue
    }
    boards = page.boards
    pairs = [("model", row.model) for board in boards for row in board.rows]
    pairs += [("task", task) for board in boards for task in (*board.tasks, *board.other_tasks)]
    empty = {"summary": "", "words": "", "command": ""}
    entries: dict[tuple[str, str], dict[str, str]] = {}
    for kind, name in pairs:
        family = re.split(r"[:[]", name, maxsplit=1)[0]
        match = catalogue.get((kind, name)) or catalogue.get((kind, family))
        texts = {"summary": match.summary, "words": match.words} if match else {}
        entries[kind, name] = {"kind": kind, "name": name, **empty, **texts}
    for one in known.catalogue:
        entries.setdefault((one.kind, one.name), asdict(one))
    return [
        *entries.values(),
        *({"kind": "class", "name": name, **empty} for name in classes_of(page, known)),
    ]


def packed(data: dict[str, Any]) -> str:
    """Return the data as a page stores it: a tenth of the size, without signs of HTML."""
    return packed_text(json.dumps(data, separators=(",", ":"), allow_nan=False))


def packed_text(text: str) -> str:
    """Return text compressed and in base64, a fifth of the size or less; the script unpacks it."""
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def _board(
    board: Board, known: Definitions, numbers: Mapping[tuple[str, str], int]
) -> dict[str, Any]:
    settings = known.details.get("settings", {}).get(board.name, {})
    return {
        "name": board.name,
        "tasks": board.tasks,
        "all_tasks": [*board.tasks, *board.other_tasks],
        "texts": [facts.title for facts in board.facts if not facts.measure.accuracy],
        "rows": [
            {
                "model": row.model,
                "kind": row.kind,
                "colour": colours(row.model),
                "ranked": row.rank is not None,
                "better_than": row.better_than,
                "results": {one.task: numbers[row.model, one.task] for one in row.results},
                "settings": settings.get(row.model, {}),
            }
            for row in board.rows
        ],
        "standing": [column.heading for column in _STANDING],
        "by_class": {
            name: _standing(part)
            for name, page in known.by_class.items()
            for part in page.boards
            if part.name == board.name
        },
        "pairs": _pairs(board),
    }


def _pairs(board: Board) -> list[Any] | None:
    """Return, for each row, its differences from each later row; None if there are too many."""
    tasks = [*board.tasks, *board.other_tasks]
    count = len(board.rows) * (len(board.rows) - 1) // 2
    if count * (len(tasks) + 1) > MOST_PAIRED:
        return None
    pairs = iter(each_pair(board))
    later = range(len(board.rows) - 1, 0, -1)
    return [[_pair(pair, tasks) for pair in islice(pairs, number)] for number in later]


def _pair(comparison: Comparison, tasks: Sequence[str]) -> list[Any]:
    """Return the mean and the difference on each task; None where the rows are not compared."""
    differences = {one.task: _delta(one.accuracy) for one in comparison.tasks}
    mean = comparison.mean
    means = mean and [mean.tasks, *_round(np.array([mean.a, mean.b]) * DIGITS), _delta(mean.scaled)]
    return [means, *map(differences.get, tasks)]


def _delta(one: Difference) -> list[int]:
    return _round(np.array([one.value, one.low, one.high]) * DIGITS)


def _standing(board: Board) -> dict[str, Any]:
    """Return a board's tasks and, for each row, the text and the sort key of `_STANDING`."""
    rows = {
        row.model: [[column.text(row), column.order(row)] for column in _STANDING]
        for row in board.rows
    }
    return {"tasks": board.tasks, "rows": rows}


_STANDING = [one for one in STANDING if one.heading not in ("model", "kind", "parameters")]
"""Columns of the board whose values depend on the selection of tasks."""


def _clean(value: Any) -> Any:
    """Round numbers, and make every text harmless, including keys."""
    if isinstance(value, str):
        return harmless(value)
    if isinstance(value, float):
        return round(value, 6) + 0.0
    if isinstance(value, dict):
        return {harmless(name): _clean(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(item) for item in value]
    return value
