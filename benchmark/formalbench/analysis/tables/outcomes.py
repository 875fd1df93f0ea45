"""The results on a task, or of a row: what a model reached there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from formalbench.analysis.board import Board, Row
from formalbench.analysis.columns import (
    Column,
    Sheet,
    interval_column,
    number,
    percentage,
    share,
    words,
)
from formalbench.analysis.measures import ACCURACY, ShownBy
from formalbench.analysis.results import Result, TaskFacts
from formalbench.analysis.text import grouped, percent, rate


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a row reached on one task.

    Attributes:
        row: of the board.
        result: its result there.
        facts: of the task; None if no run finished.
    """

    row: Row
    result: Result
    facts: TaskFacts | None

    @property
    def measure(self) -> ShownBy:
        """By what the task is shown."""
        return self.facts.measure if self.facts else ACCURACY

    @property
    def accurate(self) -> Result | None:
        """The result, if the task is shown by accuracy."""
        return self.result if self.measure.accuracy else None


INFORMATION = "information"
"""This column is hidden if no row has a value."""

_MOST_SEEDS = 8
"""Of which a cell shows each."""


def _accuracies(result: Result) -> str:
    """Return the accuracy of each run that finished, by seed, with blanks between."""
    known = (share(run.accuracy) for run in result.runs if run.accuracy is not None)
    return " ".join(f"{accuracy:g}" for accuracy in known if accuracy is not None)


def _each_seed(outcome: Outcome) -> str:
    """Return how the runs ended and, of several, the accuracy of each."""
    result = outcome.result
    if not outcome.measure.accuracy or not 2 <= result.finished <= _MOST_SEEDS:
        return result.outcome
    each = (percent(run.accuracy) for run in result.runs if run.accuracy is not None)
    return f"{result.outcome}: {', '.join(each)}"


_ACCURACY: tuple[Column[Result], ...] = (
    percentage("max", "the best seed's accuracy", lambda result: result.max),
    interval_column(
        "Wilson interval of max",
        "95 %, of the best seed alone, given all its test strings",
        lambda result: (result.max_low, result.max_high),
        "max_low",
        "max_high",
    ),
    percentage(
        "mean",
        "accuracy, the mean over the seeds; each seed's is its mean over the test lengths",
        lambda result: result.mean,
    ),
    interval_column(
        "interval",
        "of the mean: 95 %, over seeds and test strings",
        lambda result: (result.low, result.high),
    ),
    percentage("median", "accuracy, the median over the seeds", lambda result: result.median),
)
_LONGEST: tuple[Column[Result], ...] = (
    number(
        "≥ 99 % to",
        "the longest test length up to which the mean accuracy is that at every length, of what "
        "every seed learned",
        lambda result: result.longest_99,
        "longest_99",
    ),
    number("≥ 90 % to", "likewise", lambda result: result.longest_90, "longest_90"),
)
"""What is said of a task that is shown by accuracy."""

OUTCOME: tuple[Column[Outcome], ...] = (
    Column("model", "with the options set", lambda on: on.row.model, form="name"),
    words("task", "what was asked", lambda on: on.result.task),
    Column(
        "measure",
        "by what the task is shown, the mean over the seeds",
        lambda on: f"{on.measure.text(on.result.shown)} ({on.measure.title})",
        {
            "measure": lambda on: on.measure.name,
            "better": lambda on: "less" if on.measure.less else "more",
            "value": lambda on: share(on.result.shown),
        },
        "words",
    ),
    Column(
        "validation",
        "accuracy on held-out strings of the training lengths, the mean over the seeds",
        lambda on: validation(on.result),
        {
            "validation": lambda on: share(on.result.validation),
            "learned": lambda on: on.result.learned,
            "budget": lambda on: on.result.budget,
            "capped": lambda on: on.result.capped,
        },
    ),
    *(column.of(lambda on: on.accurate) for column in _ACCURACY),
    percentage(
        "scaled",
        "(mean − chance) / (1 − chance)",
        lambda on: on.accurate.scaled if on.accurate else None,
        more={
            "chance": lambda on: share(on.facts.chance_length if on.facts else None),
            "shortcut": lambda on: share(on.facts.shortcut if on.facts else None),
        },
    ),
    *(column.of(lambda on: on.accurate) for column in _LONGEST),
    number(
        INFORMATION,
        "bits of mutual information of answer and target, the mean over seeds and test lengths at "
        "which the length alone does not decide the answer: high where accuracy is below chance, "
        "if the answers are right with the sign flipped",
        lambda on: on.result.information,
        "mutual_information",
        lambda bits: f"{bits:.3f}",
    ),
    Column(
        "seeds",
        "runs at the learning rate selected, what became of them, and the accuracy of each",
        _each_seed,
        {
            "seeds": lambda on: on.result.seeds,
            "finished": lambda on: on.result.finished,
            "seed_accuracies": lambda on: _accuracies(on.accurate) if on.accurate else None,
        },
    ),
    number(
        "rate",
        "the learning rate selected by validation",
        lambda on: on.result.learning_rate,
        "learning_rate",
        rate,
    ),
    words("command", "what repeats the runs", lambda on: on.result.command, form="command"),
)
"""What a result on a task says."""


def tried(result: Result) -> str:
    """Return for how long the runs were trained that did not learn: ``5,600 steps, 3 capped``."""
    capped = f", {result.capped} capped" if result.capped else ""
    return f"{grouped(result.tried)} steps{capped}"


def validation(result: Result) -> str:
    """Return a validation accuracy, with the steps within which not every run learned."""
    shown, within = percent(result.validation), f"in {tried(result)}"
    if result.unlearned:
        return f"{shown} (not learned {within})"
    if result.partly:
        return (
            f"{shown} ({result.learned} of {result.seeds} seeds learned, the others not {within})"
        )
    return shown


def outcomes(board: Board, title: str) -> list[Outcome]:
    """Return what the rows of a board reached on a task, of those that have a result there."""
    facts = board.facts_of(title)
    results = ((row, row.on(title)) for row in board.rows)
    return [Outcome(row, result, facts) for row, result in results if result is not None]


def of_task(board: Board, title: str) -> Sheet[Outcome]:
    """Return what every row of a board reached on a task, the best first."""

    def order(on: Outcome) -> tuple[float, str]:
        mean = on.result.mean  # rounded, so that no last bit decides between equal ones
        return (1.0 if mean is None else -round(mean, 12), on.row.model)

    return _sheet(sorted(outcomes(board, title), key=order))


def of_row(board: Board, row: Row) -> Sheet[Outcome]:
    """Return what a row of a board reached on each of its tasks."""
    found = [Outcome(row, result, board.facts_of(result.task)) for result in row.results]
    return _sheet(found)


def _sheet(found: list[Outcome]) -> Sheet[Outcome]:
    informed = any(on.result.information is not None for on in found)
    columns: list[Column[Outcome]] = []
    for column in OUTCOME:
        if column.heading != INFORMATION or informed:
            columns.append(column)
        if column.heading == INFORMATION:
            columns += map(_metric_column, plugin_metrics(found))
    return Sheet(columns, found)


def plugin_metrics(found: Sequence[Outcome]) -> list[str]:
    """Return the names of the metrics that plugins added to any of some outcomes."""
    return list(dict.fromkeys(name for on in found for name in on.result.metrics))


def _metric_column(name: str) -> Column[Outcome]:
    """Return the column of a metric that a plugin adds to the objective's."""
    meaning = "a plugin's metric, the mean over seeds and test lengths"
    return number(name, meaning, lambda on: on.result.metrics.get(name), told="{:.4g}".format)
