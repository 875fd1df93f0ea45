"""The columns of the board's tables: ranking, results, exact models, tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from formalbench.contracts.verification import dtype_title
from formalbench.documents.table import (
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
from formalbench.documents.text import MISSING, count, grouped, percent, ranks, rate
from formalbench.statistics.board import (
    DTYPES,
    SHOWN_LENGTHS,
    Board,
    ExactModel,
    ExactModels,
    Profile,
    Row,
)
from formalbench.statistics.result import ACCURACY, Result, TaskFacts, TaskMeasure

TRAINING_COST = "seconds of training of one run"
"""The label of this column in every output."""


def training_seconds(row: Row, board: Board) -> float | None:
    """Return the mean training time of the board's tasks, each averaged over its seeds (wall time).

    None if a task of the board has no timed run: otherwise, models that lack the tasks that take
    longest would seem faster.
    """
    if not board.tasks:
        return None
    total = 0.0
    for title in board.tasks:
        result = row.on(title)
        seconds = [run.seconds for run in result.runs if run.seconds] if result else []
        if not seconds:
            return None
        total += sum(seconds) / len(seconds)
    return total / len(board.tasks)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A row's result on one task.

    Attributes:
        row: a row of the board.
        result: its result.
        facts: properties of the task; None if no run finished.
    """

    row: Row
    result: Result
    facts: TaskFacts | None

    @property
    def measure(self) -> TaskMeasure:
        """The measure by which the task is shown."""
        return self.facts.measure if self.facts else ACCURACY

    @property
    def accurate(self) -> Result | None:
        """The result, if the task is shown by accuracy."""
        return self.result if self.measure.accuracy else None


INFORMATION = "information"
"""This column is hidden if no row has a value."""


_MOST_SEEDS = 8
"""The accuracy of each seed is listed up to this number of seeds."""


def _accuracies(result: Result) -> str:
    """Return the accuracies of the runs that finished, in the order of the seeds, as one text."""
    accuracies = (share(run.accuracy) for run in result.runs if run.accuracy is not None)
    return " ".join(f"{accuracy:g}" for accuracy in accuracies if accuracy is not None)


def _each_seed(outcome: Outcome) -> str:
    """Return how the runs ended and, for several seeds, the accuracy of each."""
    result = outcome.result
    if not outcome.measure.accuracy or not 2 <= result.finished <= _MOST_SEEDS:
        return result.outcome
    accuracies = (percent(run.accuracy) for run in result.runs if run.accuracy is not None)
    return f"{result.outcome}: {', '.join(accuracies)}"


_ACCURACY: tuple[Column[Result], ...] = (
    percentage("max", "accuracy of the best seed", lambda result: result.max),
    interval_column(
        "Wilson interval of max",
        "95 % interval of the best seed, given all its test strings",
        lambda result: (result.max_low, result.max_high),
        "max_low",
        "max_high",
    ),
    percentage(
        "mean",
        "mean accuracy over the seeds; the accuracy of a seed is its mean over the test lengths",
        lambda result: result.mean,
    ),
    interval_column(
        "interval",
        "95 % interval of the mean, over seeds and test strings",
        lambda result: (result.low, result.high),
    ),
    percentage("median", "median accuracy over the seeds", lambda result: result.median),
)


_LONGEST: tuple[Column[Result], ...] = (
    number(
        "≥ 99 % to",
        "the longest test length up to which the mean accuracy is at least 99 % at every length; "
        "only if every seed learned",
        lambda result: result.longest_99,
        "longest_99",
    ),
    number("≥ 90 % to", "the same for 90 %", lambda result: result.longest_90, "longest_90"),
)
"""Columns of a task that is shown by accuracy."""


OUTCOME: tuple[Column[Outcome], ...] = (
    Column("model", "with the options set", lambda outcome: outcome.row.model, form="name"),
    words("task", "the task and its objective", lambda outcome: outcome.result.task),
    Column(
        "measure",
        "the metric of the task, as the mean over the seeds",
        lambda outcome: f"{outcome.measure.text(outcome.result.shown)} ({outcome.measure.title})",
        {
            "measure": lambda outcome: outcome.measure.name,
            "better": lambda outcome: "less" if outcome.measure.less else "more",
            "value": lambda outcome: share(outcome.result.shown),
        },
        "words",
    ),
    Column(
        "validation",
        "mean accuracy over the seeds on held-out strings of the training lengths",
        lambda outcome: validation(outcome.result),
        {
            "validation": lambda outcome: share(outcome.result.validation),
            "learned": lambda outcome: outcome.result.learned,
            "budget": lambda outcome: outcome.result.budget,
            "capped": lambda outcome: outcome.result.capped,
        },
    ),
    *(column.of(lambda outcome: outcome.accurate) for column in _ACCURACY),
    percentage(
        "scaled",
        "(mean − chance) / (1 − chance)",
        lambda outcome: outcome.accurate.scaled if outcome.accurate else None,
        more={
            "chance": lambda outcome: share(outcome.facts.chance_length if outcome.facts else None),
            "shortcut": lambda outcome: share(outcome.facts.shortcut if outcome.facts else None),
        },
    ),
    *(column.of(lambda outcome: outcome.accurate) for column in _LONGEST),
    number(
        INFORMATION,
        "mutual information of answer and target in bits, averaged over seeds and over the test "
        "lengths whose answer is not decided by the length; it is high where flipped answers would "
        "be right, although accuracy is then below chance",
        lambda outcome: outcome.result.information,
        "mutual_information",
        lambda bits: f"{bits:.3f}",
    ),
    Column(
        "seeds",
        "runs at the selected learning rate: their status, and the accuracy of each",
        _each_seed,
        {
            "seeds": lambda outcome: outcome.result.seeds,
            "finished": lambda outcome: outcome.result.finished,
            "seed_accuracies": lambda one: _accuracies(one.accurate) if one.accurate else None,
        },
    ),
    number(
        "rate",
        "learning rate, selected by validation",
        lambda outcome: outcome.result.learning_rate,
        "learning_rate",
        rate,
    ),
    words("command", "repeats the runs", lambda outcome: outcome.result.command, form="command"),
)
"""Columns of a result on a task."""


def tried(result: Result) -> str:
    """Return how long the unsuccessful runs were trained: ``5,600 steps, 3 capped``."""
    capped = f", {result.capped} capped" if result.capped else ""
    return f"{grouped(result.tried)} steps{capped}"


def validation(result: Result) -> str:
    """Return the validation accuracy and the number of steps in which not every run learned."""
    text, steps = percent(result.validation), f"in {tried(result)}"
    if result.unlearned:
        return f"{text} (not learned {steps})"
    if result.partly:
        return f"{text} ({result.learned} of {result.seeds} seeds learned, the others not {steps})"
    return text


def outcomes(board: Board, title: str) -> list[Outcome]:
    """Return the results of a board's rows on a task, for the rows that have one."""
    facts = board.facts_of(title)
    results = ((row, row.on(title)) for row in board.rows)
    return [Outcome(row, result, facts) for row, result in results if result is not None]


def of_task(board: Board, title: str) -> Sheet[Outcome]:
    """Return the result of every row of a board on a task, the best first."""

    def order(outcome: Outcome) -> tuple[float, str]:
        mean = outcome.result.mean  # rounded, so that the last bit does not decide the order
        return (1.0 if mean is None else -round(mean, 12), outcome.row.model)

    return _sheet(sorted(outcomes(board, title), key=order))


def of_row(board: Board, row: Row) -> Sheet[Outcome]:
    """Return the results of a board's row on each of its tasks."""
    return _sheet([Outcome(row, result, board.facts_of(result.task)) for result in row.results])


def _sheet(rows: list[Outcome]) -> Sheet[Outcome]:
    has_information = any(outcome.result.information is not None for outcome in rows)
    columns: list[Column[Outcome]] = []
    for column in OUTCOME:
        if column.heading != INFORMATION or has_information:
            columns.append(column)
        if column.heading == INFORMATION:
            columns += map(_metric_column, plugin_metrics(rows))
    return Sheet(columns, rows)


def plugin_metrics(found: Sequence[Outcome]) -> list[str]:
    """Return the names of the metrics that plugins added to any of these outcomes."""
    return list(dict.fromkeys(name for outcome in found for name in outcome.result.metrics))


def _metric_column(name: str) -> Column[Outcome]:
    """Return the column of a metric that a plugin adds to those of the objective."""
    meaning = (
        "a plugin's metric: the mean over seeds and test lengths; one that is no mean is computed "
        "once over all lengths"
    )
    return number(name, meaning, lambda one: one.result.metrics.get(name), text="{:.4g}".format)


PROFILE: tuple[Column[Profile], ...] = (
    Column(
        "profile",
        "numbers of languages that two thirds of the seeds solved (99 % at every tested length), "
        "only learned, and did not learn; and the share of all seeds that solved their language",
        lambda p: f"{p.solved}/{p.learned}/{p.unlearned} ({percent(p.solved_seeds, 0)} %)",
        {
            "languages_solved": lambda p: p.solved,
            "languages_learned": lambda p: p.learned,
            "languages_unlearned": lambda p: p.unlearned,
            "seeds_solved": lambda p: share(p.solved_seeds),
            "seeds_learned": lambda p: share(p.learned_seeds),
        },
    ),
    number(
        "horizon",
        "the longest length up to which half of the seeds learned and are right on 99 % of the "
        "strings at every tested length",
        lambda p: p.horizon,
    ),
)
"""Columns with how many of a row's tasks were learned."""


STANDING: tuple[Column[Row], ...] = (
    Column(
        "rank",
        "from 1 + the number of rows that are significantly better, to the number of rows minus "
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
        "smallest and largest number over the tasks",
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
        "95 % interval of the score, over seeds and test strings",
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
        "95 % interval of the IQM",
        lambda row: (row.iqm_low, row.iqm_high),
        "iqm_low",
        "iqm_high",
    ),
)
"""Columns of a row of the ranking."""


def standing(board: Board) -> Sheet[Row]:
    """Return the columns of each row of a board, without the tasks."""
    return Sheet(STANDING, board.rows)


def ranking(board: Board, *, best_seed: bool = False, other_tasks: bool = False) -> Sheet[Row]:
    """Return the ranking of a board: a row for each model, and a column for each task.

    A task that is not shown by accuracy also has its own table (`by_place`).

    Args:
        board: the board.
        best_seed: whether a task's cell shows the best seed's accuracy in parentheses.
        other_tasks: whether tasks that are measured but not ranked by have columns, too.
    """
    titles = (*board.tasks, *(board.other_tasks if other_tasks else ()))
    tasks = [_task_column(board, title, best_seed=best_seed) for title in titles]
    return Sheet([*STANDING, *tasks], board.rows)


CELL = (
    f"mean accuracy over the seeds; {FAILED}: a run did not finish, or diverged at some "
    "test lengths, which counts as chance; "
    "[n]: the training lengths were not learned (n = validation accuracy, %); "
    f"{SOME}: some seeds did not learn them; {CAPPED}: training stopped before the whole budget "
    "because validation did not improve (weaker evidence); "
    f"{DOUBTFUL}: weak evidence, because a predictor that is wrong on some test strings is right "
    "on more than 95 %. The score still uses test accuracy"
)
"""How to read the cell of a task."""


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
        {"mean": lambda row: share(result.mean) if (result := row.on(title)) else None},
        "cell",
        below,
    )


def _measured_column(title: str, facts: TaskFacts) -> Column[Row]:
    """Return the column of a task that is not shown by accuracy; it has no chance level."""
    measure = facts.measure

    def text(row: Row) -> str:
        result = row.on(title)
        failed = f" {FAILED}" if result and result.marked else ""
        return measure.text(result.shown if result else None) + failed

    return Column(
        title,
        f"{measure.title}: mean over the seeds and over the lengths or parts of the test",
        text,
        {measure.name: lambda row: result.shown if (result := row.on(title)) else None},
        "cell",
        {"measure": measure.title},
        less=measure.less,
    )


def cell(result: Result | None, *, best_seed: bool = False) -> str:
    """Return a model's result on a task; if it was not learned, with the validation in brackets."""
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


LEGEND = (
    "These models have weights set by hand and were verified in fp64 by `formalbench verify`. "
    "Exhaustive to: all strings up to this length, as far as the model supports them, were right. "
    "Sampled to: random and adversarial strings were right at every tested length up to this one. "
    "Margin: the smallest |logit| of the random strings. Bits at n: the largest cross-entropy at "
    "length n. fp16 to fp64: the longest tested length up to which every answer was right in this "
    "precision; mixed: sums, softmax and norms in fp32. Depth: number of layers, for the longest "
    "string if it grows. Width: numbers per position."
)
"""How to read the table of exact models."""


_DIGITS = "{:.3g}".format
"""Formats a margin or a cross-entropy with three significant digits, as in ``0.00144``."""


def _bits(place: int) -> Column[ExactModel]:
    length = SHOWN_LENGTHS[place]
    meaning = "the largest cross-entropy at this string length"
    return number(
        f"bits at {length:,}", meaning, lambda row: row.bits[place], f"bits_{length}", _DIGITS
    )


def _break(dtype: str) -> Column[ExactModel]:
    def text(row: ExactModel) -> str:
        if row.break_length is None or dtype not in row.break_length:
            return MISSING
        length = row.break_length[dtype]
        return "none" if length is None else grouped(length)

    return Column(
        dtype_title(dtype),
        "the longest tested length up to which every answer was right in this precision",
        text,
        {f"break_{dtype}": lambda row: (row.break_length or {}).get(dtype)},
    )


EXACT: tuple[Column[ExactModel], ...] = (
    words(
        "model",
        "with the options set",
        lambda row: row.model,
        form="name",
        more={
            "kind": lambda row: "exact",
            "parameters_min": lambda row: row.parameters,
            "parameters_max": lambda row: row.parameters,
        },
    ),
    words(
        "task",
        "the task and its objective",
        lambda row: row.task,
        more={"command": lambda row: "; ".join(row.commands)},
    ),
    number(
        "exhaustive to",
        "every string up to this length was right",
        lambda row: row.exhaustive,
        "exhaustive",
        grouped,
    ),
    number(
        "sampled to",
        "random and adversarial strings were right at every tested length up to this one",
        lambda row: row.tested_to,
        "tested_to",
        grouped,
        {"strings": lambda row: row.strings},
    ),
    number("errors", "number of strings answered wrong", lambda row: row.errors, text=grouped),
    number(
        "margin",
        "the smallest |logit| of the random strings",
        lambda row: row.margin,
        text=_DIGITS,
    ),
    *map(_bits, range(len(SHOWN_LENGTHS))),
    *map(_break, DTYPES),
    number("depth", "in layers", lambda row: row.depth, text=grouped),
    number("width", "in numbers per position", lambda row: row.width, text=grouped),
)
"""Columns of a verification of an exact model."""


def exact_table(exact: ExactModels) -> Sheet[ExactModel]:
    """Return the table of exact models."""
    return Sheet(EXACT, exact.rows)


_RUN_COLUMNS = ("seeds", "rate", "command")


def by_place(board: Board, title: str) -> Sheet[Outcome]:
    """Return every row's result on a task at each length or named part, the best first."""
    facts = board.facts_of(title)
    measure = facts.measure if facts else ACCURACY
    results = outcomes(board, title)
    places = dict.fromkeys(place for one in results for place, _ in one.result.places)
    results.sort(key=lambda one: (measure.order(one.result.shown), one.row.model))
    sheet = Sheet(OUTCOME, results)
    mean: Column[Outcome] = Column(
        measure.title,
        "mean over the seeds and over the columns that follow",
        lambda one: measure.text(one.result.shown),
        {measure.name: lambda one: one.result.shown},
        less=measure.less,
    )
    parts = (_place_column(place, measure) for place in places)
    columns = [*sheet.only("model").columns, mean, *parts, *sheet.only(*_RUN_COLUMNS).columns]
    return Sheet(columns, results)


def _place_column(place: str, measure: TaskMeasure) -> Column[Outcome]:
    def value(outcome: Outcome) -> float | None:
        return dict(outcome.result.places).get(place)

    return Column(
        place,
        f"{measure.title}: mean over the seeds at this length or part of the test",
        lambda outcome: measure.text(value(outcome)),
        {f"{measure.name}_{place}": value},
        less=measure.less,
    )
