"""A board: its rows, their results, verifications of exact models, their profile.

Every renderer (terminal, Markdown, LaTeX, CSV, JSON) is given a `Page` and nothing
else. Shares are fractions of one, unrounded.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from formalbench.contracts.published import PublishedTable
from formalbench.contracts.verification import STRINGS_VERSION, VerificationRecord
from formalbench.documents.text import plural
from formalbench.statistics.records import (
    ModelKey,
    grouped_by,
    model_contents,
    model_key,
    repeating,
    task_contents,
    title_of,
)
from formalbench.statistics.result import SOLVED, Result, SeedResult, TaskFacts
from formalbench.statistics.selection import Current, wanted


@dataclass(frozen=True, slots=True)
class Profile:
    """What became of the languages that a row was trained on.

    A seed *solves* a language if it learned the training lengths and is right on 99 % of the
    strings at every tested length. What is said of a language, two thirds of its seeds do.

    Attributes:
        solved: languages.
        learned: languages of which the training lengths were learned, and which are not solved.
        unlearned: the other languages.
        solved_seeds, learned_seeds: the share of all seeds that solve their language, and that
            learned its training lengths, whether they solve it or not.
        horizon: the longest tested length up to which half of the seeds that learned their
            language are right on 99 % of the strings at every tested length; None if there is none.
    """

    solved: int
    learned: int
    unlearned: int
    solved_seeds: float
    learned_seeds: float
    horizon: int | None


def profile_of(results: Sequence[Result]) -> Profile | None:
    """Return the profile of a row by its results on the languages that count; None without any."""
    runs = [run for result in results for run in result.runs]
    if not runs:
        return None
    solved = [_most(run.solved for run in result.runs) for result in results]
    learned = [_most(run.learned for run in result.runs) for result in results]
    reached = sorted((_reach(run) for run in runs if run.learned), reverse=True)
    horizon = reached[(len(reached) - 1) // 2] if reached else 0
    return Profile(
        solved=sum(solved),
        learned=sum(learned) - sum(solved),
        unlearned=len(results) - sum(learned),
        solved_seeds=sum(run.solved for run in runs) / len(runs),
        learned_seeds=sum(run.learned for run in runs) / len(runs),
        horizon=horizon or None,
    )


def _reach(run: SeedResult) -> int:
    """Return the last tested length before the first at which a run is below 99 %; 0 for none.

    A length counts only if all parts of a test with named parts are right there.
    """
    cells = run.cells
    if cells is None:
        return 0
    shares = list(zip(cells.length, cells.strings, cells.correct, strict=True))
    wrong = [length for length, strings, right in shares if right < SOLVED * strings]
    first = min(wrong, default=math.inf)
    return max((length for length in cells.length if length < first), default=0)


def _most(flags: Iterable[bool]) -> bool:
    """Return whether two thirds of the flags are true."""
    held = list(flags)
    return 3 * sum(held) >= 2 * len(held)


SHOWN_LENGTHS = (10, 100, 1000, 10_000)
"""Lengths at which the cross-entropy is shown."""

DTYPES = ("fp16", "bf16", "fp32", "fp64")


@dataclass(frozen=True, slots=True)
class ExactModel:
    """What is known of an exact model on a task, in double precision.

    Attributes:
        model: its name with the options set.
        key: this and its source.
        task: the task's title.
        exhaustive: every string up to this length was right; None if there is no such length.
        tested_to: random and adversarial strings were right at every tested length up to it.
        strings, errors: judged in all, and how many of them wrong.
        margin: the least distance of a logit to the decision, of the random strings.
        bits: worst cross-entropy per answer at each of `SHOWN_LENGTHS`, where tested.
        break_length: by dtype, the largest length with no error up to it; None if unknown.
        depth, width: of the network, as far as it says.
        parameters: how many.
        commands: those that repeat the verifications.
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
    """The rows of exact models, and what a reader must know of them, one line each."""

    rows: tuple[ExactModel, ...] = ()
    notes: tuple[str, ...] = ()


def exact_models(records: Iterable[VerificationRecord], current: Current) -> ExactModels:
    """Put verifications together, a row per model and task; their order does not matter.

    Those count that were made with what the task and the model are now, as far as `current`
    knows, else with the newest version among the records.
    """
    once = {record.verification_id: record for record in sorted(records, key=_age)}
    held = sorted(once.values(), key=lambda record: (title_of(record), model_key(record)))
    tasks = wanted(held, lambda record: record.task.name, task_contents, current.task)
    models = wanted(held, model_key, model_contents, current.model)
    kept = [
        record
        for record in held
        if task_contents(record) == tasks[record.task.name]
        and model_contents(record) == models[model_key(record)]
        and record.asked.version == STRINGS_VERSION
    ]
    notes = []
    if old := len(held) - len(kept):
        notes.append(
            f"{plural(old, 'verification')} not counted, because the model, the task or the "
            "strings have a new version."
        )
    double = [record for record in kept if record.dtype == "fp64"]
    rows = grouped_by(lambda record: (title_of(record), model_key(record)), double)
    return ExactModels(tuple(_row(part) for part in rows.values()), tuple(notes))


def _age(record: VerificationRecord) -> tuple[str, str]:
    return record.date, record.to_json()


def _row(records: Sequence[VerificationRecord]) -> ExactModel:
    by_age = sorted(records, key=_age)
    latest = by_age[-1]
    complete = [r.asked.exhaustive for r in records if r.exhaustive and not r.exhaustive.errors]
    margins = [margin for r in records for margin in r.by_length.min_margin if margin is not None]
    broken = [record.break_length for record in by_age if record.break_length is not None]
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
        break_length=dict(broken[-1].items()) if broken else None,
        depth=latest.depth,
        width=latest.width,
        parameters=latest.model.parameters,
        commands=tuple(sorted({repeating(record) for record in records})),
        records=tuple(sorted(record.verification_id for record in records)),
    )


def _tested_to(record: VerificationRecord) -> int | None:
    """Return how far the random strings were right; nothing if an adversarial one was not.

    A record does not say at which length an adversarial string failed.
    """
    if record.adversarial.errors:
        return None
    right = None
    for length, errors in zip(record.asked.lengths, record.by_length.errors, strict=True):
        if errors:
            break
        right = length
    return right


def _bits_at(length: int, records: Sequence[VerificationRecord]) -> float | None:
    """Return the worst cross-entropy at a length, of the latest record that tells it."""
    for record in reversed(records):
        lengths = record.asked.lengths
        if record.by_length.window == 1 and length in lengths:
            return record.by_length.max_bits[lengths.index(length)]
    return None


@dataclass(frozen=True, slots=True)
class Row:
    """One model (with its options) under one protocol.

    Attributes:
        model: its name with the options set; with its source if two models share the name.
        key: its name with the options set, and its source.
        kind: ``learned`` or ``exact``.
        parameters: the least and greatest number of parameters over the tasks.
        results: by the order of the board's tasks, then of its other tasks; those it has.
        rank: 1 + the number of rows that are significantly better (`formalbench.statistics.ranks`);
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
