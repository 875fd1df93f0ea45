"""Published numbers compared with ours, and how the two settings differ.

The paper's file says which of our models and tasks correspond to a row and a column of the paper
(`formalbench.contracts.paper_tables`). Nothing is matched by the similarity of names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from formalbench.contracts.config import Value
from formalbench.contracts.errors import RequestError
from formalbench.contracts.paper_tables import (
    PublishedColumn,
    PublishedResult,
    PublishedRow,
    PublishedTable,
    Settings,
)
from formalbench.contracts.protocol import Protocol, Window
from formalbench.contracts.specs import show_value
from formalbench.documents.table import Column, Datum, Sheet, number, share, words
from formalbench.documents.text import MISSING, grouped, percent, plural
from formalbench.host.options import parse_instance
from formalbench.statistics.board import Board, Page, Row
from formalbench.statistics.records import LEARNED, ProtocolKey, grouped_by, task_title
from formalbench.statistics.result import Result, SeedResult


@dataclass(frozen=True, slots=True)
class Premises:
    """What a comparison needs besides a page.

    Attributes:
        protocols: protocols by the title and version of a board.
        options: returns the default value of each option of a model, by the model's name.
        trained: returns the shortest and the longest training length of a task, by its title.
    """

    protocols: Mapping[ProtocolKey, Protocol]
    options: Callable[[str], Mapping[str, Value]]
    trained: Callable[[str], Window | None]


@dataclass(frozen=True, slots=True)
class PaperComparison:
    """A number from a paper, and our result.

    Attributes:
        paper: the paper's table.
        theirs: the row of that table.
        column: the name of the column of that table.
        published: the paper's numbers, in percent.
        board, row, result: our result, and where it is.
        max, mean: maximum and mean over our seeds, at the test lengths that are within the paper's,
            or over all answers.
        differs: the settings that differ, the most important first.
    """

    paper: PublishedTable
    theirs: PublishedRow
    column: str
    published: PublishedResult
    board: Board
    row: Row
    result: Result
    max: float
    mean: float
    differs: tuple[str, ...]

    @property
    def by(self) -> Literal["mean", "max"]:
        """The statistic that is compared: the mean, if the paper has one, else the maximum."""
        return "max" if self.published.mean is None else "mean"

    @property
    def difference(self) -> float:
        """Our number minus the paper's, as a share of 1."""
        ours, theirs = self.mean, self.published.mean
        if theirs is None:
            ours, theirs = self.max, self.published.max
        return ours - (theirs or 0.0) / 100.0


def paper_comparisons(page: Page, known: Premises) -> list[PaperComparison]:
    """Return the papers' numbers for which a page has results, paper by paper."""
    return [
        comparison
        for paper in page.published
        for name in paper.tasks
        for theirs in paper.rows
        if name in theirs.results
        for board in page.boards
        for row in board.rows
        if is_ours(theirs, row.key[0])
        for comparison in _comparison(paper, theirs, name, board, row, known)
    ]


def is_ours(theirs: PublishedRow, model: str) -> bool:
    """Whether a row of a paper is about a model of ours, given by its name with options.

    Options for which the row states the paper's value may differ: they are listed as differences.
    """
    try:
        name, options = parse_instance(model)
    except RequestError:  # another model's name, with characters that ours never have
        return False
    remaining = {key: value for key, value in options.items() if key not in theirs.network}
    return (name, remaining) in [parse_instance(one) for one in theirs.ours]


def _comparison(
    paper: PublishedTable, theirs: PublishedRow, name: str, board: Board, row: Row, known: Premises
) -> Iterator[PaperComparison]:
    column = paper.column(name)
    result = row.on(task_title(column.task, {}))
    protocol = known.protocols.get((board.protocol, board.version))
    if result is None or protocol is None:
        return
    facts = board.facts_of(result.task)
    chance = facts.chance_length if facts else None
    values = [
        run.answers if paper.settings.counted == "answers" else _within(run, column.tested, chance)
        for run in result.runs
    ]
    accuracies = [one for one in values if one is not None]
    if not accuracies:
        return
    published = theirs.results[name]
    train = (protocol.splits and protocol.splits.train) or known.trained(result.task)
    yield PaperComparison(
        *(paper, theirs, name, published, board, row, result),
        max=max(accuracies),
        mean=math.fsum(accuracies) / len(accuracies),
        differs=(
            *_learning(result),
            *_settings(paper.settings, column, protocol, result, train),
            *_network(theirs, row, known),
            *theirs.differs,
        ),
    )


def _within(run: SeedResult, tested: Window | None, chance: float | None) -> float | None:
    """Return a run's mean accuracy at the paper's test lengths; None if it was tested at none.

    A run that did not finish counts as chance level, if that is known.
    """
    if run.cells is None:
        return chance
    first, last = tested or (0, max(run.cells.length, default=0))
    cells = zip(run.cells.length, run.cells.correct, run.cells.strings, strict=True)
    shares = [right / strings for length, right, strings in cells if first <= length <= last]
    return math.fsum(shares) / len(shares) if shares else None


def _learning(result: Result) -> Iterator[str]:
    if result.marked:
        yield f"here {result.outcome}"
    if result.learned < result.seeds:
        yield (
            f"here {result.learned} of {plural(result.seeds, 'seed')} learned the training "
            f"lengths (validation {percent(result.validation)}; learned means {percent(LEARNED)})"
        )


def _settings(
    theirs: Settings,
    column: PublishedColumn,
    ours: Protocol,
    result: Result,
    train: Window | None,
) -> Iterator[str]:
    steps = max((run.steps for run in result.runs), default=ours.steps)
    pairs: list[tuple[str, object, object]] = [
        ("steps", theirs.steps, steps),
        ("strings per step", theirs.batch, ours.batch),
        ("seeds", theirs.seeds, result.seeds),
        ("optimiser", theirs.optimiser, ours.optimiser.name),
        ("schedule", theirs.schedule, ours.schedule.name),
        ("rates", theirs.learning_rates, ours.learning_rates),
        ("training lengths", column.trained, train),
    ]
    for name, paper, own in pairs:
        if paper is not None and own is not None and paper != own:
            yield f"{name}: {_value_text(name, paper)}, here {_value_text(name, own)}"
    if theirs.counted == "answers":
        yield "accuracy is over all answers, here averaged over lengths"
    if theirs.selected == "test":
        yield "rates and seeds selected on the test, here on validation"
    if ours.curriculum.kind != "uniform":
        yield f"here with the curriculum {ours.curriculum.kind}"


def _value_text(name: str, value: object) -> str:
    if name == "rates" and isinstance(value, Sequence):
        return ", ".join(f"{one:g}" for one in value)
    if isinstance(value, tuple):
        return f"{value[0]}–{value[1]}"
    return grouped(value) if isinstance(value, int) else str(value)


def _network(theirs: PublishedRow, row: Row, known: Premises) -> Iterator[str]:
    name, options = parse_instance(row.key[0])
    defaults = {key: show_value(value) for key, value in known.options(name).items()}
    for key, value in theirs.network.items():
        own = options.get(key, defaults.get(key))
        if own is not None and own != show_value(value):
            yield f"{key}: {show_value(value)}, here {own}"


def published_table(paper: PublishedTable) -> Sheet[PublishedRow]:
    """Return a paper's table: for each task, the maximum and the mean over the seeds."""
    model: Column[PublishedRow] = Column(
        "model", "the paper's name", lambda row: row.model, form="name"
    )
    origin: Column[PublishedRow] = Column(
        "origin", "not measured here", lambda row: "published", form="words"
    )
    return Sheet([model, origin, *map(_published_column, paper.tasks)], paper.rows)


def _published_column(task: str) -> Column[PublishedRow]:
    def best_known(row: PublishedRow) -> float | None:
        result = row.results.get(task)
        return None if result is None else result.max if result.mean is None else result.mean

    return Column(
        task,
        "maximum / mean over the seeds",
        lambda row: published_cell(row.results.get(task)),
        {task: best_known},
    )


def published_cell(result: PublishedResult | None) -> str:
    """Return a paper's numbers as text: ``100.0 / 98.9``, the maximum and the mean."""
    if result is None:
        return MISSING
    return " / ".join(
        MISSING if value is None else f"{value:.1f}" for value in (result.max, result.mean)
    )


def published_data(paper: PublishedTable) -> list[dict[str, Datum]]:
    """Return a paper's numbers as data: an entry for each model and task."""
    return [
        {"model": row.model, "task": task}
        | {"max": out_of_hundred(cell.max), "mean": out_of_hundred(cell.mean)}
        for row in paper.rows
        for task, cell in row.results.items()
    ]


def out_of_hundred(value: float | None) -> float | None:
    """Return a percentage as a share of 1, as in the data formats."""
    return None if value is None else share(value / 100.0)


PAPER_COLUMNS: tuple[Column[PaperComparison], ...] = (
    Column(
        "paper",
        "whose table",
        lambda one: one.paper.source,
        {"paper": lambda one: one.paper.key},
        "words",
    ),
    words(
        "task",
        "the paper's column, under our name",
        lambda one: one.column,
        "column",
        more={"task": lambda one: one.result.task},
    ),
    words("their model", "the paper's name", lambda one: one.theirs.model, "their_model"),
    words("our model", "with the options set", lambda one: one.row.model, "model", "name"),
    Column(
        "protocol",
        "how ours was trained and tested",
        lambda one: one.board.name,
        {"protocol": lambda one: one.board.protocol, "version": lambda one: one.board.version},
        "words",
    ),
    Column(
        "published",
        "maximum / mean over the seeds",
        lambda one: published_cell(one.published),
        {
            "published_max": lambda one: out_of_hundred(one.published.max),
            "published_mean": lambda one: out_of_hundred(one.published.mean),
        },
    ),
    Column(
        "ours",
        "the same for our model, over our test lengths that are within the paper's",
        lambda one: f"{percent(one.max)} / {percent(one.mean)}",
        {"max": lambda one: share(one.max), "mean": lambda one: share(one.mean)},
    ),
    Column(
        "difference",
        "ours minus the published number, in points: of the means, or of the maxima if the paper "
        "gives no mean",
        lambda one: _points(one.difference),
        {"difference": lambda one: share(one.difference), "difference_of": lambda one: one.by},
    ),
    words(
        "what differs",
        "in training, testing and network, as far as the paper states it",
        lambda one: "; ".join(one.differs),
        "differs",
    ),
)
"""Columns of a published number compared with ours."""


def paper_table(found: Sequence[PaperComparison]) -> Sheet[PaperComparison]:
    """Return the published numbers compared with ours."""
    return Sheet(PAPER_COLUMNS, found)


Group = Sequence[PaperComparison]
"""All numbers of one row of a paper's table, compared with one row of ours."""


_NEAR = 0.05
"""Numbers count as about the same up to this difference."""


SUMMARY: tuple[Column[Group], ...] = (
    words("their model", "the paper's name", lambda group: group[0].theirs.model),
    words("our model", "with the options set", lambda group: group[0].row.model, form="name"),
    words("protocol", "how ours was trained and tested", lambda group: group[0].board.name),
    number("numbers", "how many numbers of the paper are compared", len),
    number(
        "near",
        "how many of them are at most 5 points from ours",
        lambda group: sum(abs(one.difference) <= _NEAR for one in group),
    ),
    Column(
        "difference",
        "ours minus the published number in points, averaged over the numbers (means over the "
        "seeds, or maxima if the paper gives no mean)",
        lambda group: _points(math.fsum(one.difference for one in group) / len(group)),
    ),
    words(
        "largest difference",
        "the largest difference and its task",
        lambda group: (
            f"{_points((most := max(group, key=lambda one: abs(one.difference))).difference)} on "
            f"{most.column}"
        ),
    ),
)
"""Columns of a row of a paper's table compared with a row of ours."""


def paper_summary(found: Sequence[PaperComparison]) -> Sheet[Group]:
    """Return published numbers compared with ours, a line for each pair of models and protocol."""
    groups = grouped_by(lambda one: (one.theirs.model, one.row.key, one.board.name), found)
    return Sheet(SUMMARY, list(groups.values()))


def _points(difference: float) -> str:
    return f"{round(100 * difference, 1) + 0.0:+.1f}"
