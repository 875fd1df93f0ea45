"""A board: its rows, their results and profiles, and the verifications of exact models.

Every renderer (terminal, Markdown, LaTeX, CSV, JSON) receives only a `Page`. Shares are unrounded
fractions of one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from formalbench.contracts.paper_tables import PublishedTable
from formalbench.contracts.verification import STRINGS_VERSION, VerificationRecord
from formalbench.documents.text import plural
from formalbench.statistics.records import (
    ModelKey,
    grouped_by,
    model_contents,
    model_key,
    reproduce_command,
    task_contents,
    title_of,
)
from formalbench.statistics.result import SOLVED, Result, SeedResult, TaskFacts
from formalbench.statistics.selection import CurrentContents, wanted


@dataclass(frozen=True, slots=True)
class Profile:
    """The numbers of languages that a row solved, learned and did not learn.

    A seed *solves* a language if it learned the training lengths and is right on 99 % of the
    strings at every tested length. A language counts as solved or learned if two thirds of the
    seeds solved or learned it.

    Attributes:
        solved: number of solved languages.
        learned: number of languages with learned training lengths that are not solved.
        unlearned: number of the other languages.
        solved_seeds, learned_seeds: share of all seeds that solve their language, and that learned
            its training lengths (solved or not).
        horizon: the longest tested length up to which half of the seeds learned their language and
            are right on 99 % of the strings at every tested length; None if there is none.
    """

    solved: int
    learned: int
    unlearned: int
    solved_seeds: float
    learned_seeds: float
    horizon: int | None


def profile_of(results: Sequence[Result]) -> Profile | None:
    """Return the profile of a row from its results on scored languages; None if it has none."""
    runs = [run for result in results for run in result.runs]
    if not runs:
        return None
    solved = sum(result.solved for result in results)
    learned = sum(result.mastered for result in results)
    reached = sorted((_reach(run) if run.learned else 0 for run in runs), reverse=True)
    return Profile(
        solved=solved,
        learned=learned - solved,
        unlearned=len(results) - learned,
        solved_seeds=sum(run.solved for run in runs) / len(runs),
        learned_seeds=sum(run.learned for run in runs) / len(runs),
        horizon=reached[(len(reached) - 1) // 2] or None,
    )


def _reach(run: SeedResult) -> int:
    """Return the last tested length before the first at which a run is below 99 %; 0 for none.

    If a test has named parts, a length counts only if all parts reach 99 % there.
    """
    cells = run.cells
    if cells is None:
        return 0
    shares = list(zip(cells.length, cells.strings, cells.correct, strict=True))
    wrong = [length for length, strings, right in shares if right < SOLVED * strings]
    first = min(wrong, default=math.inf)
    return max((length for length in cells.length if length < first), default=0)


SHOWN_LENGTHS = (10, 100, 1000, 10_000)
"""Lengths for which tables show the cross-entropy."""

DTYPES = ("fp16", "bf16", "fp32", "fp64")


@dataclass(frozen=True, slots=True)
class ExactModel:
    """The verification results of an exact model on a task, in double precision.

    Attributes:
        model: its name with its options.
        key: its name and its source.
        task: the task's title.
        exhaustive: every string up to this length was right; None if there is no such length.
        tested_to: random and adversarial strings were right at every tested length up to it.
        strings, errors: total number of judged strings, and of wrong ones.
        margin: smallest distance of a logit to the decision threshold, over random strings.
        bits: maximum cross-entropy per answer in bits at each of `SHOWN_LENGTHS`, where tested.
        break_length: by dtype, the largest length with no error up to it; None if unknown.
        depth, width: of the network, if it reports them.
        parameters: number of parameters.
        commands: the commands that repeat the verifications.
        records: the identities of the verifications.
    """

    model: str
    key: ModelKey
    task: str
    exhaustive: int | None
    tested_to: int | None
    strings: int
    errors: int
    margin: float | None
    bits: tuple[float | None, ...]
    break_length: dict[str, int | None] | None
    depth: int | None
    width: int | None
    parameters: int
    commands: tuple[str, ...]
    records: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExactModels:
    """The rows of exact models, and notes for the reader, one line each."""

    rows: tuple[ExactModel, ...] = ()
    notes: tuple[str, ...] = ()


def exact_models(records: Iterable[VerificationRecord], current: CurrentContents) -> ExactModels:
    """Combine verifications into one row per model and task; their order does not matter.

    A verification counts if it used the current task and model according to `current`. If these are
    not known, the newest version among the records counts.
    """
    by_id = {record.verification_id: record for record in sorted(records, key=_age)}
    distinct = sorted(by_id.values(), key=lambda record: (title_of(record), model_key(record)))
    tasks = wanted(distinct, lambda record: record.task.name, task_contents, current.task)
    models = wanted(distinct, model_key, model_contents, current.model)
    counted = [
        record
        for record in distinct
        if task_contents(record) == tasks[record.task.name]
        and model_contents(record) == models[model_key(record)]
        and record.asked.version == STRINGS_VERSION
    ]
    notes = []
    if old := len(distinct) - len(counted):
        notes.append(
            f"{plural(old, 'verification')} not counted, because the model, the task or the "
            "strings have a new version."
        )
    double = [record for record in counted if record.dtype == "fp64"]
    rows = grouped_by(lambda record: (title_of(record), model_key(record)), double)
    return ExactModels(tuple(_row(part) for part in rows.values()), tuple(notes))


def _age(record: VerificationRecord) -> tuple[str, str]:
    return record.date, record.to_json()


def _row(records: Sequence[VerificationRecord]) -> ExactModel:
    by_age = sorted(records, key=_age)
    latest = by_age[-1]
    complete = [r.asked.exhaustive for r in records if r.exhaustive and not r.exhaustive.errors]
    margins = [margin for r in records for margin in r.by_length.min_margin if margin is not None]
    break_lengths = [record.break_length for record in by_age if record.break_length is not None]
    return ExactModel(
        model=model_key(latest)[0],
        key=model_key(latest),
        task=title_of(latest),
        exhaustive=max((length for length in complete if length is not None), default=None),
        tested_to=max((to for r in records if (to := _tested_to(r)) is not None), default=None),
        strings=sum(record.strings for record in records),
        errors=sum(record.errors for record in records),
        margin=min(margins, default=None),
        bits=tuple(_bits_at(length, by_age) for length in SHOWN_LENGTHS),
        break_length=dict(break_lengths[-1].items()) if break_lengths else None,
        depth=latest.depth,
        width=latest.width,
        parameters=latest.model.parameters,
        commands=tuple(sorted({reproduce_command(record) for record in records})),
        records=tuple(sorted(record.verification_id for record in records)),
    )


def _tested_to(record: VerificationRecord) -> int | None:
    """Return the length up to which random strings were right; None after an adversarial error.

    A record does not say at which length an adversarial string failed.
    """
    if record.adversarial.errors:
        return None
    longest = None
    for length, errors in zip(record.asked.lengths, record.by_length.errors, strict=True):
        if errors:
            break
        longest = length
    return longest


def _bits_at(length: int, records: Sequence[VerificationRecord]) -> float | None:
    """Return the maximum cross-entropy at a length, from the latest record that has it."""
    for record in reversed(records):
        lengths = record.asked.lengths
        if record.by_length.window == 1 and length in lengths:
            return record.by_length.max_bits[lengths.index(length)]
    return None


@dataclass(frozen=True, slots=True)
class Row:
    """One model (with its options) under one protocol.

    Attributes:
        model: its name with its options; with its source if two models share the name.
        key: its name with its options, and its source.
        kind: ``learned`` or ``exact``.
        parameters: the smallest and largest number of parameters over the tasks.
        results: its results, in the order of the board's tasks, then of its other tasks.
        rank: 1 + the number of rows that are significantly better (`formalbench.statistics.ranks`);
            None without a score, or if no other row has one.
        score: mean of the scaled accuracy over the board's tasks; None if a task is missing.
        low, high: interval of the score, over seeds and test strings.
        rank_low, rank_high: `rank`, and the number of ranked rows minus the number of rows that are
            significantly worse; None without a rank.
        better_than: the names of the rows that it is significantly better than.
        iqm, iqm_low, iqm_high: interquartile mean of the scaled accuracy of all its runs on the
            board's tasks, and its interval.
        profile: its profile on scored languages; None if it has none of them.
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
        protocol, version: the protocol's title and version.
        tasks: titles of the ranked tasks, in the suite's order.
        other_tasks: titles of the tasks that are measured but not ranked.
        facts: facts of the tasks that some run finished.
        rows: the rows, ranked ones first.
        notes: notes for the reader of the rows, one line each.
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
        """The display name of the protocol: ``quick (version 1)``."""
        return f"{self.protocol} (version {self.version})"

    @property
    def learned(self) -> int:
        """The number of results with at least one seed that learned the training lengths."""
        return sum(result.learned > 0 for row in self.rows for result in row.results)

    @property
    def ranked(self) -> int:
        """The number of rows that have a rank; a rank r is shown as "r of" this number."""
        return sum(row.rank is not None for row in self.rows)

    @property
    def otherwise(self) -> tuple[str, ...]:
        """Titles of the tasks with another measure than accuracy."""
        titles = (*self.tasks, *self.other_tasks)
        return tuple(t for t in titles if (of := self.facts_of(t)) and not of.measure.accuracy)

    def facts_of(self, task: str) -> TaskFacts | None:
        """Return the facts of a task, if known."""
        return next((facts for facts in self.facts if facts.title == task), None)


@dataclass(frozen=True, slots=True)
class Page:
    """The full contents of a page.

    Attributes:
        title: the title of the ranking.
        boards: one per protocol: boards with ranks first, then by number of learned results, then
            by name and version.
        exact: the verification results of exact models.
        published: numbers from papers, which are never mixed with measured ones.
        environments: one line per kind of machine in the records.
    """

    title: str
    boards: tuple[Board, ...]
    exact: ExactModels
    published: tuple[PublishedTable, ...]
    environments: tuple[str, ...]
