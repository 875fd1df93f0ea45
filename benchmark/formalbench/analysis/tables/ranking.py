"""The ranking of a board: what a row says of itself, and a column for each task."""

from __future__ import annotations

from formalbench.analysis.board import Board, Row
from formalbench.analysis.columns import (
    CAPPED,
    DOUBTFUL,
    FAILED,
    SOME,
    Column,
    Sheet,
    interval_column,
    number,
    percentage,
    share,
    words,
)
from formalbench.analysis.profile import Profile
from formalbench.analysis.results import Result, TaskFacts
from formalbench.analysis.text import MISSING, count, percent, ranks

PROFILE: tuple[Column[Profile], ...] = (
    Column(
        "profile",
        "languages solved (99 % at every tested length), only learned, and not learned, by two "
        "thirds of their seeds; and the share of all seeds that solve their language",
        lambda of: f"{of.solved}/{of.learned}/{of.unlearned} ({percent(of.solved_seeds, 0)} %)",
        {
            "languages_solved": lambda of: of.solved,
            "languages_learned": lambda of: of.learned,
            "languages_unlearned": lambda of: of.unlearned,
            "seeds_solved": lambda of: share(of.solved_seeds),
            "seeds_learned": lambda of: share(of.learned_seeds),
        },
    ),
    number(
        "horizon",
        "the longest tested length up to which half of the seeds that learned their language are "
        "right on 99 % of the strings at every tested length",
        lambda of: of.horizon,
    ),
)
"""What became of a row's languages."""

STANDING: tuple[Column[Row], ...] = (
    Column(
        "rank",
        "from 1 + the number of rows that are significantly better, to the number of rows less "
        "those that are significantly worse",
        lambda row: ranks(row.rank_low, row.rank_high),
        {
            "rank": lambda row: row.rank,
            "rank_low": lambda row: row.rank_low,
            "rank_high": lambda row: row.rank_high,
        },
    ),
    words("model", "with the options set", lambda row: row.model, form="name"),
    words("kind", "learned, or exact: not trained", lambda row: row.kind),
    Column(
        "parameters",
        "the least and the greatest number over the tasks",
        lambda row: count(*row.parameters),
        {
            "parameters_min": lambda row: row.parameters[0],
            "parameters_max": lambda row: row.parameters[1],
        },
    ),
    percentage(
        "score",
        "the mean over the tasks of (accuracy − chance) / (1 − chance)",
        lambda row: row.score,
    ),
    interval_column(
        "interval",
        "of the score: 95 %, over seeds and test strings",
        lambda row: (row.low, row.high),
        "score_low",
        "score_high",
    ),
    *(column.of(lambda row: row.profile) for column in PROFILE),
    percentage(
        "IQM",
        "the mean of the middle half of all runs' scaled accuracies",
        lambda row: row.iqm,
        "iqm",
    ),
    interval_column(
        "IQM interval",
        "of that mean: 95 %",
        lambda row: (row.iqm_low, row.iqm_high),
        "iqm_low",
        "iqm_high",
    ),
)
"""What a row says of itself on a board."""


def standing(board: Board) -> Sheet[Row]:
    """Return what each row of a board says of itself."""
    return Sheet(STANDING, board.rows)


def ranking(board: Board, *, best_seed: bool = False, other_tasks: bool = False) -> Sheet[Row]:
    """Return the ranking of a board: a row per model, and behind its standing a column per task.

    A task that is not shown by accuracy has a table of its own besides (`by_place`).

    Args:
        board: what is ranked.
        best_seed: whether a task's cell has the best seed's accuracy in parentheses.
        other_tasks: whether tasks that are measured but not ranked by have columns, too.
    """
    titles = (*board.tasks, *(board.other_tasks if other_tasks else ()))
    tasks = [_task_column(board, title, best_seed=best_seed) for title in titles]
    return Sheet([*STANDING, *tasks], board.rows)


CELL = (
    f"mean accuracy over the seeds; {FAILED}: a run did not finish, and counts as chance level; "
    "[n]: not learned within the budget, n is the validation accuracy on the training lengths; "
    f"{SOME}: some seeds did not learn them; {CAPPED}: training was capped before the whole "
    "budget, as validation got no better: weaker evidence. "
    f"{DOUBTFUL}: weak evidence, a predictor that is wrong on some test strings has over 95 % too. "
    "The score counts the test accuracy of all"
)
"""How a task's cell is read."""


def _task_column(board: Board, title: str, *, best_seed: bool) -> Column[Row]:
    facts = board.facts_of(title)
    if facts and not facts.measure.accuracy:
        return _measured_column(title, facts)
    below = {"chance": percent(facts.chance_length) if facts else MISSING}
    if facts and facts.shortcut is not None:
        below["shortcut"] = percent(facts.shortcut)
    if facts and facts.language_class:
        below["language class"] = facts.language_class
    return Column(
        title,
        CELL,
        lambda row: cell(row.on(title), best_seed=best_seed),
        {"mean": lambda row: share(found.mean) if (found := row.on(title)) else None},
        "cell",
        below,
    )


def _measured_column(title: str, facts: TaskFacts) -> Column[Row]:
    """Return the column of a task that is not shown by accuracy: nothing of chance is below it."""
    measure = facts.measure

    def text(row: Row) -> str:
        found = row.on(title)
        failed = f" {FAILED}" if found and found.marked else ""
        return measure.text(found.shown if found else None) + failed

    return Column(
        title,
        f"{measure.title}: the mean over the seeds, and over the test's lengths or parts",
        text,
        {measure.name: lambda row: found.shown if (found := row.on(title)) else None},
        "cell",
        {"measure": measure.title},
        less=measure.less,
    )


def cell(result: Result | None, *, best_seed: bool = False) -> str:
    """Return what a model reached on a task: in brackets its validation, if it did not learn it."""
    if result is None:
        return MISSING
    failed = f" {FAILED}" if result.marked else ""
    capped = CAPPED if result.capped else ""
    if result.unlearned:
        return f"[{percent(result.validation)}]{capped}{failed}"
    best = f" ({percent(result.max)})" if best_seed else ""
    some = f"{SOME}{capped}" if result.partly else ""
    weak = DOUBTFUL if result.weak else ""
    return f"{percent(result.mean)}{best}{some}{weak}{failed}"
