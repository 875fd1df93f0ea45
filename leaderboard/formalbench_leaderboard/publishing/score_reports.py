"""Self-reported scores: answers that were computed elsewhere, published in a separate place.

Nobody can check them, and the labels are public, so anybody can reach 100 %. Such a score is never
ranked. The page shows trained models on the same strings for comparison.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from formalbench.contracts.errors import FormalbenchError, RequestError
from formalbench.contracts.record import Record
from formalbench.contracts.specs import display
from formalbench.contracts.verification import EvaluatedRecord
from formalbench.documents.markup import written
from formalbench.documents.text import MISSING, percent
from formalbench.host import PluginHost
from formalbench.statistics.frame import runs_frame
from formalbench.statistics.records import task_title
from formalbench.store import Store
from formalbench.task_handle import TaskHandle
from tabulate import tabulate

from formalbench_leaderboard.board.sources import is_built_in
from formalbench_leaderboard.publishing.places import (
    Contents,
    RefusedError,
    check_fields,
    write_all,
)

FOLDER = Path("leaderboard", "self-reported")
"""Path of the records below the repository's root."""

PAGE = Path("leaderboard", "self-reported.md")
"""Path of the page that is rendered from them, below the repository's root."""

BEST = 5
"""Number of trained models that are shown with the answers to a task."""

HEAD = """# Self-reported, not verified

Answers to the test strings that somebody sent, scored by `formalbench score` or
`formalbench.evaluate`. The labels are public and nothing was trained here, so **nobody can check
these scores**, and they are not ranked. Below them stand the best trained models of the leaderboard
on the same strings.
"""


def publish_reports(results: Path, repository: Path, host: PluginHost) -> list[Path]:
    """Copy the evaluation records of a folder to a repository.

    Returns:
        The files, by their paths below the root.

    Raises:
        RefusedError: if any of them cannot be published; then nothing was written.
        RequestError: if there is none.
    """
    records = Store(results).evaluations()
    if not records:
        hint = "`formalbench score --results` makes some"
        raise RequestError(f"no record of an evaluation below {results}: {hint}")
    refused = [line for record in records for line in _problems(record, host)]
    if refused:
        raise RefusedError(refused)
    store = Store(FOLDER)
    contents: dict[Path, Contents] = {
        store.path_of_evaluated(record): record.to_json().encode() for record in records
    }
    write_all(repository, contents)
    return sorted(contents)


def published_reports(repository: Path) -> list[EvaluatedRecord]:
    """Return the evaluation records that a repository publishes.

    Raises:
        RequestError: for a file that is no record.
    """
    return Store(repository / FOLDER).evaluations()


def reports_problems(repository: Path, host: PluginHost) -> Iterator[str]:
    """Return the errors in the published evaluation records, a line for each."""
    try:
        records = published_reports(repository)
    except RequestError as error:
        yield str(error)
        return
    for record in records:
        yield from _problems(record, host)
    paths = {Store(repository / FOLDER).path_of_evaluated(record) for record in records}
    for file in sorted((repository / FOLDER).rglob("*")):
        if not file.is_dir() and file not in paths:
            yield f"{file}: is no record of an evaluation at its place"


def _problems(record: EvaluatedRecord, host: PluginHost) -> Iterator[str]:
    """Return why a record cannot be published: it must be about the test strings used here."""
    title = f"{record.name} on {task_title(record.task.name, record.task.options)}"
    if record.evaluated_id != record.identity:
        yield f"{title}: evaluated_id is not that of its contents"
    if not is_built_in(record.task.source):
        yield f"{title}: its task is not built in"
        return
    try:
        task = display(record.task.name, record.task.options)
        handle = TaskHandle(host, task, (), record.protocol.name)
        tests, chances = handle.test_set(), handle.chances
    except FormalbenchError as error:
        yield f"{title}: {error}"
        return
    test = record.test
    recorded = {
        **{"task": record.task.model_dump(), "protocol": record.protocol.model_dump()},
        "test.fingerprint": test.fingerprint,
        "test.cells": [*zip(test.cells.length, test.cells.strings, strict=True)],
        "test.chance": (test.chance_constant, test.chance_length),
    }
    expected = {
        **{"task": handle.used.model_dump(), "protocol": handle.protocol.model_dump()},
        "test.fingerprint": tests.fingerprint,
        "test.cells": [(cell.last, cell.strings) for cell in tests.cells],
        "test.chance": chances,
    }
    try:
        check_fields(recorded, expected, within=1e-9)
    except RequestError as error:
        yield f"{title}: {error}"


def reports_page(reports: Collection[EvaluatedRecord], records: Collection[Record]) -> str:
    """Return the page of self-reported scores, task by task."""
    runs = runs_frame(records)
    runs = runs[runs["selected_rate"] & runs["mean_accuracy"].notna()]
    parts = [HEAD]
    tasks = {(task_title(one.task.name, one.task.options), one.test.fingerprint) for one in reports}
    for title, fingerprint in sorted(tasks):
        own = [one for one in reports if one.test.fingerprint == fingerprint]
        rows = [
            [
                written(one.name),
                "self-reported",
                percent(one.test.accuracy),
                percent(one.validation.accuracy) if one.validation else MISSING,
                one.date[:10],
            ]
            for one in sorted(own, key=lambda one: (one.name, one.date))
        ]
        same = runs[runs["fingerprint"] == fingerprint].groupby("model", sort=True)
        means = (
            same[["mean_accuracy", "validation"]]
            .mean()
            .sort_values("mean_accuracy", ascending=False, kind="stable")
        )
        for model, accuracy, validation in means.head(BEST).itertuples():
            validated = percent(validation) if validation == validation else MISSING
            rows.append([written(model), "trained here", percent(accuracy), validated, ""])
        columns = ("who", "kind", "accuracy", "validation", "date")
        aligned = ("left", "left", "right", "right", "left")
        table = tabulate(rows, columns, "pipe", disable_numparse=True, colalign=aligned)
        parts.append(f"## {written(title)}\n\n{table}\n")
    return "\n".join(parts)
