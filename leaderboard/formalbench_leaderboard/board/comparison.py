"""The comparison of two models as tables: differences per task, and their settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from formalbench.contracts.config import Value
from formalbench.contracts.record import Origin, Record
from formalbench.contracts.specs import show_value
from formalbench.documents.table import (
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
from formalbench.documents.text import MISSING, count, harmless, percent, plural, rate
from formalbench.statistics.comparison import BoardRow, Comparison, Difference, TaskDifference
from formalbench.statistics.result import Result
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from formalbench_leaderboard.board.tables import CELL, cell

Defaults = Callable[[str], Mapping[str, Value]]
"""Maps a model's name to the default of each of its options; empty if no plugin has the model."""


Settings = dict[str, str]
"""Maps the name of a setting to its value, as text."""


_NOT_COMPARED = ("name", "version", "summary", "schema_version", "changed", "seeds")
"""Fields of a protocol that are not compared: its title contains them, or they change no result."""


_OPTION = "option "


@dataclass(frozen=True, slots=True)
class SettingDifference:
    """A setting that differs between two models; a dash for a model without this setting."""

    name: str
    a: str
    b: str


def settings_of(records: Sequence[Record], defaults: Defaults) -> Settings:
    """Return the settings of the runs of one row.

    Args:
        records: the runs of the row that are counted; at least one.
        defaults: returns the default of each option that a run does not set.
    """
    model, protocol = records[0].model, records[0].protocol
    settings = {
        f"{_OPTION}{key}": show_value(value)
        for key, value in sorted({**defaults(model.name), **model.options}.items())
    }
    sizes = [record.model.parameters for record in records]
    settings["parameters"] = count(min(sizes), max(sizes))
    settings["model version"] = str(model.version)
    settings["model from"] = _origin(model.source)
    settings["protocol"] = f"{protocol.title} (version {protocol.version})"
    data = protocol.model_dump(mode="json", exclude=set(_NOT_COMPARED), exclude_none=True)
    settings |= {f"protocol {key}": text for key, text in _flat(data)}
    settings["learning rate"] = _each(rate(record.learning_rate) for record in records)
    settings["seeds"] = ", ".join(map(str, sorted({record.seed for record in records})))
    settings["hardware"] = _each(record.environment.hardware for record in records)
    names = {name for record in records for name in record.environment.versions}
    for name in sorted(names):
        versions = (record.environment.versions.get(name, MISSING) for record in records)
        settings[f"{name} version"] = _each(versions)
    return settings


def differing(a: Settings, b: Settings) -> list[SettingDifference]:
    """Return the settings that differ between two rows.

    An option that only one of the models has is left out: the models have different options, and
    the name of a row contains the options that are set.
    """
    return [
        SettingDifference(name, a.get(name, MISSING), b.get(name, MISSING))
        for name in dict.fromkeys((*a, *b))
        if a.get(name) != b.get(name)
        and not (name.startswith(_OPTION) and (name not in a or name not in b))
    ]


def _origin(source: Origin) -> str:
    version = f" {source.version}" if source.version else ""
    return f"{source.distribution}{version}" + (f" ({source.sha256[:8]})" if source.sha256 else "")


def _flat(data: Mapping[str, Any], above: str = "") -> Iterable[tuple[str, str]]:
    for key, value in data.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", show_value(value)


def _each(texts: Iterable[str]) -> str:
    return ", ".join(sorted(set(texts)))


MEAN = "mean, scaled"
"""The label of the line below the tasks."""


COMPARED = (
    "A − B: difference of the test accuracies in points, whether or not the models learned, with "
    "its 95 % interval over seeds and test strings. Better: the model that is significantly "
    "better, by the test that ranks use; its p-value is multiplied by the number of tasks. "
    "[n]: the training lengths were not learned (n = validation accuracy, %). "
    f"{SOME}: some seeds did not learn. {CAPPED}: training stopped before the whole budget. "
    f"{DOUBTFUL}: weak evidence (a predictor that is wrong on some test strings has over 95 %). "
    f"{FAILED}: a run did not finish, or diverged at some test lengths, which counts as chance. "
    "Mean: the mean of (accuracy − chance) / (1 − chance)."
)
"""How to read the table of tasks."""


def _column(heading: str, read: Callable[[TaskDifference], Result]) -> Column[TaskDifference]:
    """Return a column with the result of one of the two models on a task."""
    name = heading.lower()
    data: dict[str, Callable[[Result], Datum]] = {
        name: lambda result: share(result.mean),
        f"{name}_seeds": lambda result: result.seeds,
        f"{name}_finished": lambda result: result.finished,
        f"{name}_learned": lambda result: result.learned,
        f"{name}_validation": lambda result: share(result.validation),
    }
    column: Column[Result] = Column(heading, CELL, cell, data, "cell")
    return column.of(read)


_DIFFERENCE: tuple[Column[Difference], ...] = (
    Column(
        "A − B",
        "difference of the test accuracies in points, whether or not the models learned",
        lambda difference: ("+" if difference.value > 0.0 else "") + percent(difference.value),
        {"difference": lambda difference: share(difference.value)},
    ),
    interval_column(
        "interval",
        "95 % interval of the difference, over seeds and test strings",
        lambda difference: (difference.low, difference.high),
    ),
    Column(
        "better",
        "the model that is significantly better, if there is one",
        lambda difference: MISSING if difference.better is None else difference.better.upper(),
        {"better": lambda difference: difference.better},
        "words",
    ),
)
"""Columns with the difference between two models."""


def compared_table(comparison: Comparison) -> Sheet[TaskDifference]:
    """Return the results of two models on each task, their differences, and the mean below."""
    columns: list[Column[TaskDifference]] = [
        words("task", "the task and its objective", lambda one: one.task, form="name"),
        _column("A", lambda one: one.a),
        _column("B", lambda one: one.b),
        *(column.of(lambda one: one.accuracy) for column in _DIFFERENCE),
    ]
    if mean := comparison.mean:
        below = ["", percent(mean.a), percent(mean.b)]
        below += [column.text(mean.scaled) for column in _DIFFERENCE]
        columns = [
            replace(column, below={MEAN: text} if text else {})
            for column, text in zip(columns, below, strict=True)
        ]
    return Sheet(columns, comparison.tasks)


def mean_data(comparison: Comparison) -> dict[str, Datum] | None:
    """Return the line below the tasks, as data."""
    mean = comparison.mean
    if mean is None:
        return None
    (difference,) = Sheet(_DIFFERENCE, [mean.scaled]).data()
    return {"tasks": mean.tasks, "a": share(mean.a), "b": share(mean.b), **difference}


def settings_table(settings: Sequence[SettingDifference]) -> Sheet[SettingDifference]:
    """Return the table of the settings that differ between two models."""
    columns: tuple[Column[SettingDifference], ...] = (
        words("differs", "", lambda one: one.name, "name", "name"),
        words("A", "", lambda one: one.a, "a"),
        words("B", "", lambda one: one.b, "b"),
    )
    return Sheet(columns, settings)


T = TypeVar("T")


_NARROW = 28
"""Maximum width of a text column; longer texts are wrapped."""


def print_comparison(
    comparison: Comparison, settings: Sequence[SettingDifference], console: Console
) -> None:
    """Print the results of two models, their differences, and the settings that differ."""
    for name, place in (("A", comparison.a), ("B", comparison.b)):
        line = f"{name}: {place.row.model}, protocol {place.board.name}"
        console.print(Text(harmless(line), style="bold"))
    if comparison.tasks:
        console.print(_grid(compared_table(comparison)))
        console.print(Text(verdict(comparison)))
    for note in comparison.notes:
        console.print(Text(harmless(f"! {note}"), style="yellow"))
    if settings:
        console.print(_grid(settings_table(settings)))


def legend() -> Text:
    """Return how to read the tables of tasks."""
    return Text(COMPARED, style="dim")


def verdict(comparison: Comparison) -> str:
    """Return a sentence on which of the two models is better, if the data show it."""
    mean = comparison.mean
    if mean is None:
        return "None of these tasks counts in a score."
    scaled = mean.scaled
    places = {"a": comparison.a, "b": comparison.b}
    tasks = "this task" if mean.tasks == 1 else f"these {plural(mean.tasks, 'task')}"
    interval = (
        f"A − B is {percent(scaled.low)} … {percent(scaled.high)} points (95 % interval, which "
        "allows for an unseen seed)."
    )
    if scaled.better is None:
        return f"Neither is significantly better over {tasks}. {interval}"
    name = harmless(places[scaled.better].row.model)
    return f"{scaled.better.upper()}, {name}, is significantly better over {tasks}. {interval}"


def data_of(comparison: Comparison, settings: Sequence[SettingDifference]) -> dict[str, Any]:
    """Return a comparison as data; shares are between 0 and 1."""
    return {
        "a": _place(comparison.a),
        "b": _place(comparison.b),
        "tasks": compared_table(comparison).data(),
        "mean": mean_data(comparison),
        "differs": settings_table(settings).data(),
        "notes": list(comparison.notes),
    }


def _place(place: BoardRow) -> dict[str, Any]:
    board, row = place.board, place.row
    return {"model": row.model, "protocol": board.protocol, "version": board.version}


def _grid(sheet: Sheet[T]) -> Table:
    """Return a rich table; the summary lines come last and are dim."""
    grid = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in sheet.columns:
        width = _NARROW if column.left else None
        side: Literal["left", "right"] = "left" if column.left else "right"
        heading = Text(column.heading)
        grid.add_column(heading, justify=side, overflow="fold", max_width=width)
    for texts in sheet.texts:
        grid.add_row(*(Text(harmless(text)) for text in texts))
    for name, below in sheet.below.items():
        cells = [
            name if column.form == "name" else text or ""
            for column, text in zip(sheet.columns, below, strict=True)
        ]
        grid.add_section()
        grid.add_row(*map(Text, cells), style="bold")
    return grid
