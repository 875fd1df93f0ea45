"""Build boards from records."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from formalbench.contracts.paper_tables import PublishedTable
from formalbench.contracts.record import Record
from formalbench.contracts.specs import display
from formalbench.contracts.theory import Theory
from formalbench.contracts.verification import VerificationRecord
from formalbench.statistics.aggregate import Aggregate, aggregate, facts_of
from formalbench.statistics.board import Board, Page, Row, exact_models, profile_of
from formalbench.statistics.intervals import (
    Sample,
    interquartile_draws,
    interquartile_mean,
    mean_draws,
    percentile_interval,
)
from formalbench.statistics.ranks import can_differ, significantly_better
from formalbench.statistics.records import (
    Chances,
    environments_of,
    grouped_by,
    has_result,
    model_key,
    row_names,
    title_of,
)
from formalbench.statistics.result import Prediction, TaskFacts
from formalbench.statistics.selection import (
    CurrentContents,
    RecordSelection,
    checkable,
    select_records,
)
from formalbench.store import without_collection

FEW_NAMES = 3
"""Maximum names in a sentence; the rest are counted."""


@dataclass(frozen=True, slots=True)
class View:
    """The selection and options of a page.

    Attributes:
        title: the title of the page.
        tasks: titles of the tasks to rank by, in order.
        protocols: titles of the protocols to show; None for all.
        only_tasks: whether to leave out other tasks.
        new: the `test_id` of each run whose row is marked as new.
        published: the tables of papers to show.
        current: the current versions of tasks, protocols and models (see `select_records`).
        ranks_unchecked: whether to rank a model with a record of a plugin that is not installed,
            so that the record cannot be checked; if False, a note is shown instead.
        theory: returns the theory of a task by its full name; None if unknown.
        shortcut: returns the accuracy of the best shortcut on a task by its title; None if unknown.
        chances: returns the accuracy, in each cell of a record's test, of the best answer that
            depends only on the length; None if only the average is known.
        predicted: returns the predictions of theorems and experiments for a model on a task, both
            by name with options; theorems first.
    """

    title: str
    tasks: tuple[str, ...]
    protocols: Collection[str] | None = None
    only_tasks: bool = False
    new: Collection[str] = ()
    published: tuple[PublishedTable, ...] = ()
    current: CurrentContents = field(default_factory=CurrentContents)
    ranks_unchecked: bool = True
    theory: Callable[[str], Theory | None] = lambda task: None
    shortcut: Callable[[str], float | None] = lambda task: None
    chances: Chances = lambda record: None
    predicted: Callable[[str, str], tuple[Prediction, ...]] = lambda model, task: ()

    def with_papers_on(self, wanted: Callable[[str], bool]) -> View:
        """Return the view with papers' numbers only for tasks whose titles are wanted."""
        tables = (table.limited_to(wanted) for table in self.published)
        return replace(self, published=tuple(table for table in tables if table.tasks))


@without_collection()
def build_page(
    records: Iterable[Record], view: View, verifications: Iterable[VerificationRecord] = ()
) -> Page:
    """Aggregate records into one board per protocol; their order does not matter."""
    if view.only_tasks:
        records = [record for record in records if title_of(record) in view.tasks]
    parts = [
        part
        for part in select_records(records, view.current)
        if view.protocols is None or part.key[0] in view.protocols
    ]
    boards = [_board(part, view) for part in parts]
    newest = {
        name: max(b.version for b in boards if b.protocol == name)
        for name in {b.protocol for b in boards}
    }

    def place(board: Board) -> tuple[bool, bool, int]:
        """Return the sort key of a board: ranked boards first, then newest protocol versions."""
        return not board.ranked, board.version < newest[board.protocol], -board.learned

    return Page(
        title=view.title,
        boards=tuple(sorted(boards, key=place)),
        exact=exact_models(verifications, view.current),
        published=view.published,
        environments=environments_of([record for part in parts for record in part.records]),
    )


def _board(part: RecordSelection, view: View) -> Board:
    by_task = grouped_by(title_of, part.records)
    facts = {title: _facts(runs, view) for title, runs in by_task.items()}
    others = tuple(sorted(set(by_task) - set(view.tasks)))
    rows, row_notes = _rows(part.records, (*view.tasks, *others), facts, view)
    return Board(
        protocol=part.key[0],
        version=part.key[1],
        tasks=view.tasks,
        other_tasks=others,
        facts=tuple(
            found for title in (*view.tasks, *others) if (found := facts.get(title)) is not None
        ),
        rows=tuple(rows),
        notes=(*row_notes, *part.notes, *_differing_tests(by_task)),
    )


def _facts(runs: Sequence[Record], view: View) -> TaskFacts | None:
    usable, theory = checkable(runs, view.current), view.theory(runs[0].task.name)
    facts = facts_of(usable)
    if facts is None:
        return None
    # A shortcut's accuracy refers to the task's own test lengths.
    splits = runs[0].protocol.splits
    own_lengths = splits is None or splits.test is None
    return replace(
        facts,
        chances=view.chances(next(run for run in usable if has_result(run))),
        language_class=None if theory is None else theory.finest,
        shortcut=view.shortcut(facts.title) if own_lengths else None,
    )


def _differing_tests(by_task: dict[str, list[Record]]) -> list[str]:
    """Return warnings if runs of one task and protocol have different test strings."""
    return [
        f"The runs on {title} were not all tested on the same strings and cannot be compared."
        for title, runs in sorted(by_task.items())
        if len({run.test.fingerprint for run in runs if run.test is not None}) > 1
    ]


@dataclass(frozen=True, slots=True)
class _Entry:
    """A row, and its samples on the scored tasks if it has all of them."""

    row: Row
    samples: Sequence[Sample] = ()


def _rows(
    records: Sequence[Record],
    titles: Sequence[str],
    facts: dict[str, TaskFacts | None],
    view: View,
) -> tuple[list[Row], list[str]]:
    by_model = grouped_by(model_key, records)
    names = row_names(by_model)
    unscored = {task.title for task in facts.values() if task and not task.scored}
    scored = [title for title in view.tasks if title not in unscored]
    entries: list[_Entry] = []
    unchecked: list[str] = []
    for key, group in sorted(by_model.items()):
        runs = grouped_by(title_of, group)
        parts = {
            title: _aggregate_on(runs[title], facts[title], (*key, title), view)
            for title in titles
            if title in runs
        }
        sizes = [run.model.parameters for run in group]
        row = Row(
            model=names[key],
            key=key,
            kind=min(run.model.kind for run in group),
            parameters=(min(sizes), max(sizes)),
            results=tuple(part.result for part in parts.values()),
            profile=profile_of([parts[title].result for title in scored if title in parts]),
            is_new=any(run.test_id in view.new for run in group),
        )
        if view.ranks_unchecked or all(view.current.standing(run) == "current" for run in group):
            entries.append(_with_score(row, parts, scored))
        else:
            entries.append(_Entry(row))
            unchecked.append(_unchecked_note(row, group, view.current))
    texts = {task.title for task in facts.values() if task and not task.measure.accuracy}
    judged = [title for title in view.tasks if title not in texts]
    notes = _row_notes([entry.row for entry in entries], scored, judged)
    samples = [entry.samples for entry in entries if entry.samples]
    if len(samples) > 1 and not can_differ(samples):
        rows = f"No two of these {len(samples)} rows"
        notes.insert(0, f"{rows} can differ significantly: that takes more tasks or seeds.")
    return _rank(entries), [*unchecked, *notes]


def _aggregate_on(
    runs: Sequence[Record], facts: TaskFacts | None, key: Sequence[object], view: View
) -> Aggregate:
    """Aggregate the runs of a model on a task, and add the predictions of theory."""
    base, run = aggregate(runs, facts, key), runs[0]
    predictions = view.predicted(display(run.model.name, run.model.options), run.task.name)
    first = predictions[0] if predictions else None
    weak = facts is not None and facts.weak and base.result.reaches
    result = replace(base.result, prediction=first, predictions=predictions, weak=weak)
    return replace(base, result=result)


def _unchecked_note(row: Row, runs: Sequence[Record], current: CurrentContents) -> str:
    """Return a note that a row has no rank because of plugins that are not installed."""
    missing = [] if current.model(row.key) else [f"its model is of {row.key[1]}"]
    missing += [
        f"{run.task.name} is of {run.task.source.distribution}"
        for run in {run.task.name: run for run in runs}.values()
        if current.task(run.task.name) is None
    ]
    return (
        f"{row.model} has no rank, because it cannot be checked: a plugin that it needs is "
        f"not installed ({_some(missing) or 'its protocol comes from one'})."
    )


def _with_score(row: Row, aggregates: dict[str, Aggregate], scored: Sequence[str]) -> _Entry:
    """Return a row with its score, if it has all scored tasks."""
    if not scored or any(title not in aggregates for title in scored):
        return _Entry(row)
    parts = [aggregates[title] for title in scored]
    samples = [part.scaled for part in parts]
    draws = mean_draws(samples, row.key)
    score = math.fsum(part.result.scaled or 0.0 for part in parts) / len(parts)
    low, high = percentile_interval(draws, around=score)
    iqm = float(interquartile_mean(np.concatenate([sample.values for sample in samples])))
    iqm_low, iqm_high = percentile_interval(interquartile_draws(samples, row.key), around=iqm)
    row = replace(row, score=score, low=low, high=high)
    return _Entry(replace(row, iqm=iqm, iqm_low=iqm_low, iqm_high=iqm_high), samples)


def _rank(entries: Sequence[_Entry]) -> list[Row]:
    """Order rows by rank, score and name; rows without a score by their number of tasks.

    A single row has no rank, since there is nothing to compare it with.
    """
    scored = [entry for entry in entries if entry.samples]
    rest = [entry.row for entry in entries if not entry.samples]
    rest.sort(key=lambda row: (-len(row.results), row.model))
    if len(scored) == 1:
        return [scored[0].row, *rest]
    better_MM = significantly_better([entry.samples for entry in scored])
    ranked = []
    for place, entry in enumerate(scored):
        first, last = 1 + better_MM[:, place].sum(), len(scored) - better_MM[place].sum()
        ranked.append(
            replace(
                entry.row,
                rank=int(first),
                rank_low=int(first),
                rank_high=int(last),
                better_than=tuple(scored[n].row.model for n in np.flatnonzero(better_MM[place])),
            )
        )
    # Rounded, so that rounding errors do not order equal rows.
    ranked.sort(key=lambda row: (row.rank or 0, -round(row.score or 0.0, 12), row.model))
    return ranked + rest


def _some(names: Sequence[str]) -> str:
    """Return all names if they are few, otherwise the first ones and the number of the others."""
    few = names if len(names) <= FEW_NAMES + 1 else names[:FEW_NAMES]
    more = f" and {len(names) - len(few)} more" if len(few) < len(names) else ""
    return ", ".join(few) + more


LACKS = " has no score: not tested on "
"""Text in the note about a row with missing tasks."""


def _row_notes(rows: Sequence[Row], scored: Sequence[str], tasks: Sequence[str]) -> list[str]:
    notes = []
    scores = sum(row.score is not None for row in rows)
    for row in sorted(rows, key=lambda row: row.model):
        missing = [title for title in scored if row.on(title) is None]
        if missing:
            notes.append(f"{row.model}{LACKS}{_some(missing)}.")
        notes += [
            f"{row.model} on {result.task}: {result.outcome}; "
            "runs that did not finish, and lengths with a non-finite result, count as chance."
            for result in row.results
            if result.marked
        ]
        if row.score is not None and scores == 1:
            notes.append(f"{row.model} has no rank, because no other row has a score.")
        alone = [result.task for result in row.results if result.seeds == 1]
        if row.kind == "learned" and alone:
            notes.append(
                f"{row.model} has a single seed on {', '.join(alone)}: "
                "its interval assumes the average variance between seeds."
            )
    notes += [
        f"{title} is not in the score, because chance is always right."
        for title in tasks
        if title not in scored
    ]
    return notes
