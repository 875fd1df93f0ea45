"""Published numbers beside ours: which result is about what a paper measured, and what differs.

Which of our models and tasks a paper's row and column are about is data of the paper's file
(`formalbench.contracts.published`); nothing is matched by the look of a name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from formalbench.analysis.board import Board, Page, Row
from formalbench.analysis.keys import ProtocolKey, task_title
from formalbench.analysis.learned import LEARNED
from formalbench.analysis.results import Result, SeedResult
from formalbench.analysis.text import grouped, percent, plural
from formalbench.contracts.config import Value
from formalbench.contracts.errors import RequestError
from formalbench.contracts.protocol import Protocol, Window
from formalbench.contracts.published import (
    PublishedColumn,
    PublishedResult,
    PublishedRow,
    PublishedTable,
    Settings,
)
from formalbench.contracts.specs import show_value
from formalbench.host.options import parse_instance


@dataclass(frozen=True, slots=True)
class Premises:
    """What a comparison needs to know beside a page.

    Attributes:
        protocols: by the title and version of a board.
        options: of a model by its name, the value that each option has unless it is set.
        trained: the shortest and the longest length that a task, by its title, is trained on.
    """

    protocols: Mapping[ProtocolKey, Protocol]
    options: Callable[[str], Mapping[str, Value]]
    trained: Callable[[str], Window | None]


@dataclass(frozen=True, slots=True)
class Beside:
    """A paper's number, and ours.

    Attributes:
        paper: the table.
        theirs: the paper's row.
        column: the table's, by its name.
        published: the paper's numbers, in percent.
        board, row, result: where ours is.
        max, mean: ours, of the seeds, over the test lengths that are within the paper's, or of
            all answers.
        differs: what is not alike, the most telling first.
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
        """Which number the difference is of: the mean, where the paper has one."""
        return "max" if self.published.mean is None else "mean"

    @property
    def difference(self) -> float:
        """Ours less the paper's, as a share of one."""
        ours, theirs = self.mean, self.published.mean
        if theirs is None:
            ours, theirs = self.max, self.published.max
        return ours - (theirs or 0.0) / 100.0


def beside(page: Page, known: Premises) -> list[Beside]:
    """Return the papers' numbers that a page has results beside, paper by paper."""
    return [
        found
        for paper in page.published
        for name in paper.tasks
        for theirs in paper.rows
        if name in theirs.results
        for board in page.boards
        for row in board.rows
        if is_ours(theirs, row.key[0])
        for found in _compared(paper, theirs, name, board, row, known)
    ]


def is_ours(theirs: PublishedRow, model: str) -> bool:
    """Say whether a model of ours, options behind its name, is what a paper's row is about.

    Options that the row has the paper's values of may be any: they are told as differences.
    """
    try:
        name, options = parse_instance(model)
    except RequestError:  # a stranger's, with signs in it that no option of ours has
        return False
    kept = {key: value for key, value in options.items() if key not in theirs.network}
    return (name, kept) in [parse_instance(one) for one in theirs.ours]


def _compared(
    paper: PublishedTable, theirs: PublishedRow, name: str, board: Board, row: Row, known: Premises
) -> Iterator[Beside]:
    column = paper.column(name)
    result = row.on(task_title(column.task, {}))
    protocol = known.protocols.get((board.protocol, board.version))
    if result is None or protocol is None:
        return
    facts = board.facts_of(result.task)
    chance = facts.chance_length if facts else None
    every = [
        run.answers if paper.settings.counted == "answers" else _within(run, column.tested, chance)
        for run in result.runs
    ]
    reached = [one for one in every if one is not None]
    if not reached:
        return
    published = theirs.results[name]
    trained = (protocol.splits and protocol.splits.train) or known.trained(result.task)
    yield Beside(
        *(paper, theirs, name, published, board, row, result),
        max=max(reached),
        mean=math.fsum(reached) / len(reached),
        differs=(
            *_learning(result),
            *_settings(paper.settings, column, protocol, result, trained),
            *_network(theirs, row, known),
            *theirs.differs,
        ),
    )


def _within(run: SeedResult, tested: Window | None, chance: float | None) -> float | None:
    """Return a run's accuracy at the paper's test lengths; None if it was tested at none.

    One that did not finish is at chance, if that is known.
    """
    if run.cells is None:
        return chance
    first, last = tested or (0, max(run.cells.length, default=0))
    every = zip(run.cells.length, run.cells.correct, run.cells.strings, strict=True)
    shares = [right / strings for length, right, strings in every if first <= length <= last]
    return math.fsum(shares) / len(shares) if shares else None


def _learning(result: Result) -> Iterator[str]:
    if result.marked:
        yield f"here {result.outcome}"
    if result.learned < result.seeds:
        yield (
            f"here {result.learned} of {plural(result.seeds, 'seed')} learned the training "
            f"lengths ({percent(result.validation)} right there; learned is {percent(LEARNED)})"
        )


def _settings(
    theirs: Settings,
    column: PublishedColumn,
    ours: Protocol,
    result: Result,
    trained: Window | None,
) -> Iterator[str]:
    steps = max((run.steps for run in result.runs), default=ours.steps)
    pairs: list[tuple[str, object, object]] = [
        ("steps", theirs.steps, steps),
        ("strings a step", theirs.batch, ours.batch),
        ("seeds", theirs.seeds, result.seeds),
        ("optimiser", theirs.optimiser, ours.optimiser.name),
        ("schedule", theirs.schedule, ours.schedule.name),
        ("rates", theirs.learning_rates, ours.learning_rates),
        ("trained on lengths", column.trained, trained),
    ]
    for name, paper, here in pairs:
        if paper is not None and here is not None and paper != here:
            yield f"{name}: {_told(name, paper)}, here {_told(name, here)}"
    if theirs.counted == "answers":
        yield "each answer counts, at whatever lengths were tested"
    if theirs.selected == "test":
        yield "rates and seeds chosen by the test, here by validation"
    if ours.curriculum.kind != "uniform":
        yield f"lengths here in an {ours.curriculum.kind} curriculum"


def _told(name: str, value: object) -> str:
    if name == "rates" and isinstance(value, Sequence):
        return ", ".join(f"{one:g}" for one in value)
    if isinstance(value, tuple):
        return f"{value[0]}–{value[1]}"
    return grouped(value) if isinstance(value, int) else str(value)


def _network(theirs: PublishedRow, row: Row, known: Premises) -> Iterator[str]:
    name, options = parse_instance(row.key[0])
    unset = {key: show_value(value) for key, value in known.options(name).items()}
    for key, value in theirs.network.items():
        here = options.get(key, unset.get(key))
        if here is not None and here != show_value(value):
            yield f"{key}: {show_value(value)}, here {here}"
