"""Which records count: one per run, of the current task version, of the newest model.

Everything here is a function of the set of records, never of their order.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping

from formalbench.contracts.record import Record
from formalbench.contracts.specs import display

from formalbench_leaderboard.text import plural

ModelKey = tuple[str, str]
"""What makes a row: the model's name with the options set, and where it came from."""


def model_key(record: Record) -> ModelKey:
    """Return the row that a record belongs to."""
    model = record.model
    return display(model.name, model.options), model.source.distribution


def task_title(name: str, options: Mapping[str, bool | int | float | str]) -> str:
    """Return a task as a board shows it: ``classify`` goes without saying.

    Example:
        >>> task_title("parity:classify", {"p": 0.3})
        'parity[p=0.3]'
    """
    return display(name.removesuffix(":classify"), options)


def title_of(record: Record) -> str:
    """Return the title of a record's task."""
    return task_title(record.task.name, record.task.options)


def has_result(record: Record) -> bool:
    """Say whether a run ended with a test that can be counted."""
    return record.test is not None  # a record has a test if and only if its run finished


def distinct(records: Iterable[Record]) -> list[Record]:
    """Return one record per run, in the order of their identities.

    Of several, a finished one counts, then the earliest: a run that was published is
    not improved by repeating it elsewhere.
    """
    best: dict[str, tuple[bool, str, str, Record]] = {}
    for record in records:
        entry = (not has_result(record), record.date, record.to_json(), record)
        held = best.get(record.run_id)
        if held is None or entry[:3] < held[:3]:
            best[record.run_id] = entry
    return [best[run_id][3] for run_id in sorted(best)]


def counted(
    records: Iterable[Record], current_version: Callable[[str], int | None]
) -> tuple[list[Record], list[str]]:
    """Keep the records that count.

    Args:
        records: any, in any order.
        current_version: the version of a task (by its full name) that counts, or None
            if it is not known; then the newest among the records does.

    Returns:
        The records, and one line for each reason why others do not count.
    """
    once = distinct(records)
    tasks = _of_current_tasks(once, current_version)
    models = _of_newest_models(tasks)
    notes = _notes(once, tasks, "task", lambda record: record.task.name)
    notes += _notes(tasks, models, "model", lambda record: model_key(record)[0])
    return models, notes


def _of_current_tasks(
    records: list[Record], current_version: Callable[[str], int | None]
) -> list[Record]:
    newest: dict[str, int] = defaultdict(int)
    for record in records:
        newest[record.task.name] = max(newest[record.task.name], record.task.version)
    current = {name: current_version(name) for name in newest}
    wanted = {
        name: newest[name] if version is None else version for name, version in current.items()
    }
    return [record for record in records if record.task.version == wanted[record.task.name]]


def _of_newest_models(records: list[Record]) -> list[Record]:
    """Keep, of each model, the newest version, and of a local plugin the latest contents."""
    newest: dict[ModelKey, tuple[int, str, str]] = {}
    for record in records:
        key = model_key(record)
        entry = (record.model.version, record.date, record.model.source.sha256)
        newest[key] = max(newest.get(key, entry), entry)
    return [
        record
        for record in records
        if (record.model.version, record.model.source.sha256)
        == (newest[model_key(record)][0], newest[model_key(record)][2])
    ]


def _notes(
    before: list[Record], after: list[Record], kind: str, name_of: Callable[[Record], str]
) -> list[str]:
    kept = {record.run_id for record in after}
    dropped = Counter(name_of(record) for record in before if record.run_id not in kept)
    return [
        f"{plural(times, 'run')} of {name} not counted: made with another version of the {kind}."
        for name, times in sorted(dropped.items())
    ]
