"""The tables of a comparison: a line a task, and a line for each thing that models differ in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from formalbench.analysis.columns import (
    CAPPED,
    DOUBTFUL,
    FAILED,
    SOME,
    Column,
    Datum,
    Sheet,
    interval_column,
    share,
    words,
)
from formalbench.analysis.compare import Comparison, Difference, TaskDifference
from formalbench.analysis.configured import Unlike
from formalbench.analysis.results import Result
from formalbench.analysis.tables.ranking import CELL, cell
from formalbench.analysis.text import MISSING, percent

MEAN = "mean, scaled"
"""The name of the line below the tasks."""

COMPARED = (
    "A − B: of the test accuracies, learned or not, in points, with its 95 % interval over seeds "
    "and test strings. Better: which of the two is significantly better, as ranks say, among all "
    "rows that have the task; its p-value is multiplied by the number of tasks. "
    "[n]: not learned within the budget; n is the validation accuracy on the training lengths. "
    f"{SOME}: some seeds did not learn. {CAPPED}: training was capped. "
    f"{DOUBTFUL}: weak evidence, a predictor that is wrong on some test strings has over 95 %. "
    f"{FAILED}: a run did not finish. "
    "Mean: of (accuracy − chance) / (1 − chance)."
)
"""How the table of tasks is read."""


def _of_one(heading: str, read: Callable[[TaskDifference], Result]) -> Column[TaskDifference]:
    """Return what one of the two reached on a task."""
    name = heading.lower()
    data: dict[str, Callable[[Result], Datum]] = {
        name: lambda result: share(result.mean),
        f"{name}_seeds": lambda result: result.seeds,
        f"{name}_finished": lambda result: result.finished,
        f"{name}_learned": lambda result: result.learned,
        f"{name}_validation": lambda result: share(result.validation),
    }
    reached: Column[Result] = Column(heading, CELL, cell, data, "cell")
    return reached.of(read)


_APART: tuple[Column[Difference], ...] = (
    Column(
        "A − B",
        "how far the test accuracies are apart, in points, whether they were learned or not",
        lambda apart: ("+" if apart.value > 0.0 else "") + percent(apart.value),
        {"difference": lambda apart: share(apart.value)},
    ),
    interval_column(
        "interval",
        "of that: 95 %, over seeds and test strings",
        lambda apart: (apart.low, apart.high),
    ),
    Column(
        "better",
        "which of the two is significantly better, if either is",
        lambda apart: MISSING if apart.better is None else apart.better.upper(),
        {"better": lambda apart: apart.better},
        "words",
    ),
)
"""How far two models are apart."""


def compared_table(comparison: Comparison) -> Sheet[TaskDifference]:
    """Return what two models reached on each task, how far they are apart, and the mean below."""
    columns: list[Column[TaskDifference]] = [
        words("task", "what was asked", lambda on: on.task, form="name"),
        _of_one("A", lambda on: on.a),
        _of_one("B", lambda on: on.b),
        *(column.of(lambda on: on.accuracy) for column in _APART),
    ]
    if mean := comparison.mean:
        below = ["", percent(mean.a), percent(mean.b)]
        below += [column.text(mean.scaled) for column in _APART]
        columns = [
            replace(column, below={MEAN: text} if text else {})
            for column, text in zip(columns, below, strict=True)
        ]
    return Sheet(columns, comparison.tasks)


def mean_data(comparison: Comparison) -> dict[str, Datum] | None:
    """Return the line below the tasks as data."""
    mean = comparison.mean
    if mean is None:
        return None
    (apart,) = Sheet(_APART, [mean.scaled]).data()
    return {"tasks": mean.tasks, "a": share(mean.a), "b": share(mean.b), **apart}


def settings_table(settings: Sequence[Unlike]) -> Sheet[Unlike]:
    """Return what two models were not run alike in."""
    columns: tuple[Column[Unlike], ...] = (
        words("differs", "", lambda one: one.name, "name", "name"),
        words("A", "", lambda one: one.a, "a"),
        words("B", "", lambda one: one.b, "b"),
    )
    return Sheet(columns, settings)
