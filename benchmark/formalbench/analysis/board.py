"""A board: records aggregated into ranked rows, before any formatting.

Every renderer (terminal, Markdown, LaTeX, CSV, JSON) is given a `Page` and nothing
else. Shares are fractions of one, unrounded.
"""

from __future__ import annotations

from dataclasses import dataclass

from formalbench.analysis.constructions import ExactModels
from formalbench.analysis.keys import ModelKey
from formalbench.analysis.profile import Profile
from formalbench.analysis.results import Result, TaskFacts
from formalbench.contracts.published import PublishedTable


@dataclass(frozen=True, slots=True)
class Row:
    """One model (with its options) under one protocol.

    Attributes:
        model: its name with the options set; with its source if two models share the name.
        key: its name with the options set, and its source.
        kind: ``learned`` or ``exact``.
        parameters: the least and greatest number of parameters over the tasks.
        results: by the order of the board's tasks, then of its other tasks; those it has.
        rank: 1 + the number of rows that are significantly better (`formalbench.analysis.ranks`);
            None without a score, or if no other row has one.
        score: mean over the board's tasks of the scaled accuracy; None if it lacks a task.
        low, high: interval of the score, over seeds and test strings.
        rank_low, rank_high: `rank`, and the number of ranked rows less those that are significantly
            worse; None without a rank.
        better_than: the rows that it is significantly better than, by their names.
        iqm, iqm_low, iqm_high: interquartile mean of the scaled accuracy of all its runs on the
            board's tasks, and its interval.
        profile: what became of the languages that count; None if it has none of them.
        is_new: whether the session that just ended measured it.
    """

    model: str
    key: ModelKey
    kind: str
    parameters: tuple[int, int]
    results: tuple[Result, ...]
    rank: int | None = None
    score: float | None = None
    low: float | None = None
    high: float | None = None
    rank_low: int | None = None
    rank_high: int | None = None
    better_than: tuple[str, ...] = ()
    iqm: float | None = None
    iqm_low: float | None = None
    iqm_high: float | None = None
    profile: Profile | None = None
    is_new: bool = False

    def on(self, task: str) -> Result | None:
        """Return the result on a task, if there is one."""
        return next((result for result in self.results if result.task == task), None)


@dataclass(frozen=True, slots=True)
class Board:
    """The measured rows of one protocol.

    Attributes:
        protocol, version: which protocol: its title, and the version.
        tasks: titles of the ranked tasks, in the suite's order.
        other_tasks: titles of the tasks that are measured but not ranked.
        facts: of the tasks that some run finished.
        rows: ranked ones first.
        notes: what a reader must know to read the rows right, one line each.
    """

    protocol: str
    version: int
    tasks: tuple[str, ...]
    other_tasks: tuple[str, ...]
    facts: tuple[TaskFacts, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...]

    @property
    def name(self) -> str:
        """The protocol as people see it: ``quick (version 1)``."""
        return f"{self.protocol} (version {self.version})"

    @property
    def learned(self) -> int:
        """The number of its results of which at least one seed learned the training lengths."""
        return sum(result.learned > 0 for row in self.rows for result in row.results)

    @property
    def ranked(self) -> int:
        """The number of rows that have a rank; a rank r is shown as "r of" this number."""
        return sum(row.rank is not None for row in self.rows)

    @property
    def otherwise(self) -> tuple[str, ...]:
        """Titles of the tasks that are shown by another measure than accuracy."""
        titles = (*self.tasks, *self.other_tasks)
        return tuple(t for t in titles if (of := self.facts_of(t)) and not of.measure.accuracy)

    def facts_of(self, task: str) -> TaskFacts | None:
        """Return the facts of a task, if known."""
        return next((facts for facts in self.facts if facts.title == task), None)


@dataclass(frozen=True, slots=True)
class Page:
    """Everything one view shows.

    Attributes:
        title: what is ranked.
        boards: one per protocol: those with ranks first, then the one under which the most was
            learned, then by name and version.
        exact: what verifications say of exact models.
        published: numbers from papers, never mixed with measured ones.
        environments: one line per kind of machine that the records come from.
    """

    title: str
    boards: tuple[Board, ...]
    exact: ExactModels
    published: tuple[PublishedTable, ...]
    environments: tuple[str, ...]
