"""Compare two models: their differences on each task, and on all tasks.

The interval of a difference uses the same bootstrap draws as the board's scores (`intervals`). In
each draw, the weights of a task's seeds are the same for both models, each model has its own unseen
seed, and the test strings (the same for both) add their sampling error. `speed/differences.py`
simulates the coverage of the interval. The significance test is the one behind a board's ranks
(`formalbench.statistics.ranks`), over all rows of both boards that have the tasks, so that a
comparison on a suite's tasks agrees with the suite's board.

Records contain the number of correct answers per length and not single answers, so two models
cannot be paired by string. Their errors are assumed to be independent, which overestimates the
variance of the difference.

Legend: D draws.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, Protocol

from formalbench.contracts.errors import RequestError, unknown
from formalbench.contracts.record import Record
from formalbench.statistics.aggregate import measured_run
from formalbench.statistics.board import Board, Page, Row
from formalbench.statistics.build import View, build_page
from formalbench.statistics.intervals import LEVEL, Draws, Sample, mean_draws, percentile_interval
from formalbench.statistics.ranks import p_values
from formalbench.statistics.records import ModelKey, model_key, row_names, title_of
from formalbench.statistics.result import CellResults, Result, TaskFacts
from formalbench.statistics.selection import CurrentContents

Better = Literal["a", "b"] | None
"""Which of two models is significantly better, if either is."""


@dataclass(frozen=True, slots=True)
class BoardRow:
    """A model under a protocol: a row and its board."""

    board: Board
    row: Row


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference between two models.

    Attributes:
        value: the first model's value minus the second's.
        low, high: its 95 % interval, over seeds and test strings.
        better: which of the two is significantly better on these tasks, among all rows
            (`formalbench.statistics.ranks`); for one of several tasks, the p-value is multiplied by
            their number.
    """

    value: float
    low: float
    high: float
    better: Better


@dataclass(frozen=True, slots=True)
class TaskDifference:
    """Two models on one task.

    Attributes:
        task: the task's title.
        facts: the facts of the task.
        a, b: the result of each model.
        accuracy: difference of their mean test accuracies, even if they did not learn the training
            lengths.
    """

    task: str
    facts: TaskFacts
    a: Result
    b: Result
    accuracy: Difference


@dataclass(frozen=True, slots=True)
class MeanDifference:
    """Two models on several tasks with equal weights.

    Attributes:
        tasks: number of tasks.
        a, b: mean scaled accuracy of each model.
        scaled: the difference of these means.
    """

    tasks: int
    a: float
    b: float
    scaled: Difference


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of two models.

    Attributes:
        a, b: the models.
        tasks: the tasks on which both were tested with the same strings.
        mean: over the scored tasks among them; None if there are none.
        notes: the tasks that are not compared and the reasons, one line each.
    """

    a: BoardRow
    b: BoardRow
    tasks: tuple[TaskDifference, ...]
    mean: MeanDifference | None
    notes: tuple[str, ...]


class _Draw(Protocol):
    """Draws the mean over the samples of a row."""

    def __call__(self, place: BoardRow, samples: Sequence[Sample], *more: str) -> Draws: ...


def _draws(place: BoardRow, samples: Sequence[Sample], *more: str) -> Draws:
    return mean_draws(samples, (place.board.name, *place.row.key, *more))


def compare(
    a: BoardRow,
    b: BoardRow,
    asked: Sequence[str] | None = None,
    *,
    tested: bool = True,
    draw: _Draw = _draws,
) -> Comparison:
    """Compare two models on the tasks that both have.

    Args:
        a: the first model.
        b: the second model, on the same board or another one.
        asked: titles of tasks; None for all tasks.
        tested: whether differences are tested for significance; otherwise none is `better`.
        draw: draws the mean of a row.
    """
    titles = (*a.board.tasks, *a.board.other_tasks, *b.board.tasks, *b.board.other_tasks)
    shared: list[tuple[TaskFacts, Result, Result]] = []
    left_out: dict[str, list[str]] = {}
    for title in dict.fromkeys(titles):
        if asked is not None and title not in asked:
            continue
        facts, mine, other = a.board.facts_of(title), a.row.on(title), b.row.on(title)
        reason = _reason_not_compared(facts, mine, other)
        if reason:
            left_out.setdefault(reason, []).append(title)
        elif facts and mine and other:
            shared.append((facts, mine, other))
    comparisons = len(shared) if tested else 0
    tasks = tuple(_on_task(a, b, entry, comparisons, draw) for entry in shared)
    notes = tuple(f"{reason}: {', '.join(titles)}." for reason, titles in left_out.items())
    return Comparison(a, b, tasks, _over_tasks(a, b, tasks, tested, draw), notes)


def each_pair(board: Board) -> Iterator[Comparison]:
    """Yield the comparison of each two rows of a board, without tests of significance."""
    cache: dict[tuple[object, ...], Draws] = {}

    def draw(place: BoardRow, samples: Sequence[Sample], *more: str) -> Draws:
        key = (place.row.key, *(sample.task for sample in samples), None, *more)
        if key not in cache:
            cache[key] = _draws(place, samples, *more)
        return cache[key]

    for a, b in combinations(board.rows, 2):
        yield compare(BoardRow(board, a), BoardRow(board, b), tested=False, draw=draw)


def comparisons(
    records: Sequence[Record],
    names: tuple[str, str],
    tasks: Sequence[str] | None,
    protocols: Sequence[str] | None,
    current: CurrentContents,
    shortcut: Callable[[str], float | None] = lambda task: None,
) -> list[Comparison]:
    """Compare two models under each protocol that both have, or under the given protocols.

    Args:
        records: all records.
        names: the names of the two rows.
        tasks: titles of the tasks; None for all that both have.
        protocols: one for both, or one for each; None for all that both have.
        current: the current versions of tasks, protocols and models.
        shortcut: returns the accuracy of the best shortcut on a task by its title; None if unknown.

    Raises:
        RequestError: one line, if there is no such row or protocol, or both rows are the same.
    """
    titles = [title.removesuffix(":classify") for title in tasks] if tasks is not None else None
    rows = _rows_named(names, {model_key(record) for record in records})
    # As on a board, rows that cannot be checked here are left out, except for these two.
    unknown_here = {model_key(run) for run in records if current.standing(run) == "unknown"}
    left_out = unknown_here - set(rows)
    counted = [record for record in records if model_key(record) not in left_out]
    page = build_page(counted, View("", (), current=current, shortcut=shortcut))
    return [compare(a, b, titles) for a, b in _places(page, names, rows, protocols)]


def check_tasks(records: Sequence[Record], asked: Sequence[str]) -> None:
    """Refuse the name of a task without records.

    Raises:
        RequestError: one line, with the nearest names.
    """
    titles = {title_of(record) for record in records}
    for name in asked:
        if name.removesuffix(":classify") not in titles:
            raise unknown("task among the records", name, titles)


def _rows_named(names: Sequence[str], keys: Collection[ModelKey]) -> list[ModelKey]:
    """Return the rows with these names; a name that several sources share is refused."""
    names_by_key = row_names(keys)
    rows = []
    for name in names:
        matches = [key for key in keys if name in (names_by_key[key], f"{key[0]} ({key[1]})")]
        if not matches:
            shared = sorted(names_by_key[key] for key in keys if key[0] == name)
            models = {model for model, _ in keys}
            raise unknown("model among the records", name, models, called=shared)
        rows += matches
    return rows


def _places(
    page: Page,
    names: tuple[str, str],
    rows: Sequence[ModelKey],
    protocols: Sequence[str] | None,
) -> list[tuple[BoardRow, BoardRow]]:
    """Return both models' rows under each protocol that both have, or the given ones."""
    titles = list(protocols or [])
    if len(titles) > 2:
        raise RequestError(f"--protocol {','.join(titles)}: at most two, one for each model")
    per_model: list[str | None] = [*titles] * 2 if len(titles) == 1 else [*titles] or [None, None]
    a, b = (_rows_under(page, *arguments) for arguments in zip(names, rows, per_model, strict=True))
    if len(titles) == 2:
        pairs = [(a[-1], b[-1])]
    else:
        pairs = [(one, other) for one in a for other in b if one.board is other.board]
    if not pairs:
        first, second = a[-1].board.protocol, b[-1].board.protocol
        raise RequestError(
            f"{names[0]} and {names[1]} have no protocol in common: "
            f"--protocol '{first},{second}' compares them across protocols"
        )
    if any(one.row is other.row for one, other in pairs):
        raise RequestError(f"A and B are both {names[0]}: name two models, or two protocols")
    return pairs


def _rows_under(page: Page, name: str, key: ModelKey, protocol: str | None) -> list[BoardRow]:
    """Return a model's rows, under one protocol if it is given; the newest version is last."""
    places = [BoardRow(board, row) for board in page.boards for row in board.rows if row.key == key]
    if not places:
        raise RequestError(f"no run of {name} counts: all were made with other versions")
    protocols = {place.board.protocol for place in places}
    if protocol is not None and protocol not in protocols:
        raise unknown(f"protocol among the records of {name}", protocol, protocols)
    if protocol is None:
        return places
    matches = [place for place in places if place.board.protocol == protocol]
    return sorted(matches, key=lambda place: place.board.version)


def _reason_not_compared(facts: TaskFacts | None, mine: Result | None, other: Result | None) -> str:
    """Return why two models are not compared on a task; empty if they are."""
    if mine is None and other is None:
        return ""
    if mine is None or other is None:
        return f"only {'A' if other is None else 'B'} has"
    if facts is None:
        return "no run finished on"
    if not facts.measure.accuracy:
        return f"measured by {facts.measure.heading}, not by accuracy"
    if len({(cells.length, cells.strings) for cells in (*_cells(mine), *_cells(other))}) > 1:
        return "not tested on the same strings"
    return ""


def _cells(result: Result) -> list[CellResults]:
    return [run.cells for run in result.runs if run.cells is not None]


def _on_task(
    a: BoardRow,
    b: BoardRow,
    entry: tuple[TaskFacts, Result, Result],
    comparisons: int,
    draw: _Draw,
) -> TaskDifference:
    facts, mine, other = entry
    draws_D = draw(a, [_sample(a, facts, mine)], facts.title)
    draws_D = draws_D - draw(b, [_sample(b, facts, other)], facts.title)
    value = (mine.mean or 0.0) - (other.mean or 0.0)
    tested = facts.scored and comparisons
    better = _better(a, b, [facts], value, comparisons) if tested else None
    accuracy = _difference(value, draws_D, better)
    return TaskDifference(facts.title, facts, mine, other, accuracy)


def _over_tasks(
    a: BoardRow, b: BoardRow, tasks: Sequence[TaskDifference], tested: bool, draw: _Draw
) -> MeanDifference | None:
    counting = [task for task in tasks if task.facts.scored]
    if not counting:
        return None

    def samples(place: BoardRow, read: Callable[[TaskDifference], Result]) -> list[Sample]:
        return [
            _sample(place, task.facts, read(task)).in_units_of(task.facts.chance_length)
            for task in counting
        ]

    pair = samples(a, lambda task: task.a), samples(b, lambda task: task.b)
    means = [math.fsum(float(one.values.mean()) for one in part) / len(part) for part in pair]
    draws_D = draw(a, pair[0]) - draw(b, pair[1])
    value = means[0] - means[1]
    better = _better(a, b, [on.facts for on in counting], value) if tested else None
    difference = _difference(value, draws_D, better)
    return MeanDifference(len(counting), means[0], means[1], difference)


def _sample(place: BoardRow, facts: TaskFacts, result: Result) -> Sample:
    runs = [measured_run(run, facts.chance_length) for run in result.runs]
    values = [run for run in runs if run is not None]
    return Sample.of(facts.title, values, facts.chance_length, place.row.kind == "learned")


def _difference(value: float, draws_D: Draws, better: Better) -> Difference:
    low, high = percentile_interval(draws_D, around=value)
    return Difference(value, low, high, better)


def _better(
    a: BoardRow, b: BoardRow, tasks: Sequence[TaskFacts], value: float, comparisons: int = 1
) -> Better:
    """Return which of two models is better, among the rows of their boards with these tasks."""
    boards = [a.board] if a.board is b.board else [a.board, b.board]
    places = [a, b] + [
        BoardRow(board, row)
        for board in boards
        for row in board.rows
        if row is not a.row and row is not b.row
    ]
    rows = [
        [
            _sample(place, facts, result).in_units_of(facts.chance_length)
            for facts in tasks
            if (result := place.row.on(facts.title)) is not None
        ]
        for place in places
    ]
    p_MM = p_values([samples for samples in rows if len(samples) == len(tasks)])
    if p_MM[0, 1] * comparisons > 1.0 - LEVEL:
        return None
    return "a" if value > 0.0 else "b"
