"""The results on a task, or of a row: what a model reached there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from formalbench.analysis.board import Board, Row
from formalbench.analysis.columns import Column, Datum, Table, share
from formalbench.analysis.results import Result, TaskFacts
from formalbench.analysis.text import MISSING, grouped, interval, percent, rate


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


def of_result(read: Callable[[Result], Datum]) -> Callable[[Outcome], Datum]:
    """Return a reader of an outcome, made of one of its result."""
    return lambda outcome: read(outcome.result)


OUTCOME: tuple[Column[Outcome], ...] = (
    Column(
        "model",
        "with the options set",
        lambda outcome: outcome.row.model,
        form="name",
    ),
    Column(
        "task",
        "what was asked",
        lambda outcome: outcome.result.task,
        {"task": of_result(lambda result: result.task)},
        "words",
    ),
    Column(
        "validation",
        "accuracy on held-out strings of the training lengths, the mean over the seeds",
        lambda outcome: validation(outcome.result),
        {
            "validation": of_result(lambda result: share(result.validation)),
            "learned": of_result(lambda result: result.learned),
            "budget": of_result(lambda result: result.budget),
        },
    ),
    Column(
        "max",
        "the best seed's accuracy",
        lambda outcome: percent(outcome.result.max),
        {"max": of_result(lambda result: share(result.max))},
    ),
    Column(
        "Wilson interval of max",
        "95 %, of the best seed alone, given all its test strings",
        lambda outcome: interval(outcome.result.max_low, outcome.result.max_high),
        {
            "max_low": of_result(lambda result: share(result.max_low)),
            "max_high": of_result(lambda result: share(result.max_high)),
        },
    ),
    Column(
        "mean",
        "accuracy, the mean over the seeds; each seed's is its mean over the test lengths",
        lambda outcome: percent(outcome.result.mean),
        {"mean": of_result(lambda result: share(result.mean))},
    ),
    Column(
        "interval",
        "of the mean: 95 %, over seeds and test strings",
        lambda outcome: interval(outcome.result.low, outcome.result.high),
        {
            "low": of_result(lambda result: share(result.low)),
            "high": of_result(lambda result: share(result.high)),
        },
    ),
    Column(
        "median",
        "accuracy, the median over the seeds",
        lambda outcome: percent(outcome.result.median),
        {"median": of_result(lambda result: share(result.median))},
    ),
    Column(
        "scaled",
        "(mean − chance) / (1 − chance)",
        lambda outcome: percent(outcome.result.scaled),
        {
            "scaled": of_result(lambda result: share(result.scaled)),
            "chance": lambda outcome: share(outcome.facts.chance_length if outcome.facts else None),
            "shortcut": lambda outcome: share(outcome.facts.shortcut if outcome.facts else None),
        },
    ),
    Column(
        "≥ 99 % to",
        "the longest test length up to which the mean accuracy is that at every length, of what "
        "every seed learned",
        lambda outcome: str(outcome.result.longest_99 or MISSING),
        {"longest_99": of_result(lambda result: result.longest_99)},
    ),
    Column(
        "≥ 90 % to",
        "likewise",
        lambda outcome: str(outcome.result.longest_90 or MISSING),
        {"longest_90": of_result(lambda result: result.longest_90)},
    ),
    Column(
        "seeds",
        "runs at the learning rate selected, and what became of them",
        lambda outcome: outcome.result.outcome,
        {
            "seeds": of_result(lambda result: result.seeds),
            "finished": of_result(lambda result: result.finished),
        },
    ),
    Column(
        "rate",
        "the learning rate selected by validation",
        lambda outcome: rate(outcome.result.learning_rate),
        {"learning_rate": of_result(lambda result: result.learning_rate)},
    ),
    Column(
        "command",
        "what repeats the runs",
        lambda outcome: outcome.result.command,
        {"command": of_result(lambda result: result.command)},
        "command",
    ),
)
"""What a result on a task says."""


def validation(result: Result) -> str:
    """Return a validation accuracy, with the budget within which it was not learned."""
    shown = percent(result.validation)
    if result.learned == result.finished:
        return shown
    some = "" if result.unlearned else f", {result.learned} of {result.finished}"
    return f"{shown} (not learned in {grouped(result.budget)} steps{some})"


def of_task(board: Board, title: str) -> Table[Outcome]:
    """Return what every row of a board reached on a task, the best first."""
    facts = board.facts_of(title)
    found = [
        Outcome(row, result, facts) for row in board.rows if (result := row.on(title)) is not None
    ]
    found.sort(key=lambda outcome: (-_order(outcome.result.mean), outcome.row.model))
    return Table(OUTCOME, found)


def of_row(board: Board, row: Row) -> Table[Outcome]:
    """Return what a row of a board reached on each of its tasks."""
    found = [Outcome(row, result, board.facts_of(result.task)) for result in row.results]
    return Table(OUTCOME, found)


def _order(mean: float | None) -> float:
    return -1.0 if mean is None else round(mean, 12)
