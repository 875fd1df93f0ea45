"""A model's results in sentences: what it learned, how far it extrapolates, where it is exact."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from formalbench.documents.text import grouped, plural
from formalbench.statistics.board import Board, ExactModel, Row
from formalbench.statistics.result import Result, TaskFacts

MOST_NAMED = 6
"""Maximum number of tasks that a sentence names."""


def verdict_of(board: Board, row: Row) -> str:
    """Return sentences on the tasks that a row learned and the lengths to which it extrapolates.

    Language-modelling tasks, and tasks that chance always solves, are left out: there, learning and
    extrapolation are not defined.
    """
    scored = [
        (facts, result)
        for result in row.results
        if (facts := board.facts_of(result.task)) is not None and facts.scored
    ]
    unfinished = [result.task for result in row.results if board.facts_of(result.task) is None]
    if not scored and unfinished:
        return f"No run finished on {_list(unfinished)}."
    if not scored:
        return "It was not tested on any task that counts in a score."
    if row.kind == "exact":
        return f"Its weights are set by hand, without training. {_reach(scored)}"
    learned = [(facts, result) for facts, result in scored if result.learned == result.seeds]
    partial = [result for _, result in scored if 0 < result.learned < result.seeds]
    budget = max(result.budget for _, result in scored)
    parts = [
        f"Learned {len(learned)} of {plural(len(scored), 'task')} with every seed, "
        f"within {grouped(budget)} steps."
    ]
    if partial:
        names = [f"{one.task} ({one.learned} of {one.seeds})" for one in partial]
        parts.append(f"With some seeds: {_list(names)}.")
    unlearned = [result.task for _, result in scored if result.unlearned]
    if unlearned:
        parts.append(f"Not learned: {_list(unlearned)}.")
    failed = [*unfinished, *(result.task for _, result in scored if not result.finished)]
    if failed:
        parts.append(f"No run finished on {_list(failed)}.")
    incomplete = [result for _, result in scored if 0 < result.finished < result.seeds]
    if incomplete:
        names = [f"{one.task} ({one.finished} of {one.seeds})" for one in incomplete]
        parts.append(f"Not all runs finished: {_list(names)}.")
    tested = [(facts, result) for facts, result in learned if result.finished == result.seeds]
    return " ".join([*parts, *([_reach(tested)] if tested else [])])


def verdict_of_verified(rows: Sequence[ExactModel]) -> str:
    """Return sentences on the tasks on which a hand-written exact model is right, and how far.

    Args:
        rows: the verifications of the model, at least one.
    """
    reached: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        if not row.errors:
            reached[_verified_to(row)].append(row.task)
    right = [f"{_list(tasks)}{reach}" for reach, tasks in reached.items()]
    wrong = [
        f"{row.task} ({grouped(row.errors)} of {grouped(row.strings)} strings are wrong)"
        for row in rows
        if row.errors
    ]
    parts = [f"right on every tested string of {' and of '.join(right)}"] if right else []
    parts += [f"wrong on {_list(wrong)}"] if wrong else []
    return f"Verified, not trained: {'; '.join(parts)}."


def _verified_to(row: ExactModel) -> str:
    parts = [f"exhaustive to length {row.exhaustive}"] if row.exhaustive is not None else []
    parts += [f"sampled to {grouped(row.tested_to)}"] if row.tested_to is not None else []
    return f" ({', '.join(parts)})" if parts else ""


def _reach(learned: Sequence[tuple[TaskFacts, Result]]) -> str:
    """Return how far accuracy stays at 99 %, over the tasks that all seeds learned and finished."""
    whole = [
        facts.title
        for facts, result in learned
        if result.longest_99 == facts.last_informative_length
    ]
    part = sorted(
        (result.longest_99, facts.title)
        for facts, result in learned
        if result.longest_99 is not None and result.longest_99 != facts.last_informative_length
    )
    none = [facts.title for facts, result in learned if result.longest_99 is None]
    parts = []
    if whole:
        parts.append(f"up to the longest tested length on {_list(whole)}")
    if part:
        parts.append(_list([f"up to {length} on {title}" for length, title in reversed(part)]))
    above = f"Accuracy stays at 99 % or more {'; '.join(parts)}." if parts else ""
    below = f"It is below 99 % at the shortest test length on {_list(none)}." if none else ""
    return " ".join(filter(None, (above, below)))


def _list(names: Sequence[str]) -> str:
    """Return names as a list in words; if there are many, the last ones are only counted."""
    parts = list(names[:MOST_NAMED])
    if len(names) > MOST_NAMED:
        parts.append(f"{len(names) - MOST_NAMED} more")
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
