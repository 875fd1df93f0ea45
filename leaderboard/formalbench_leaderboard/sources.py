"""Where records are read from, and the views of them that the commands show."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from formalbench.analysis.build import View
from formalbench.analysis.current import current_of, current_task
from formalbench.analysis.keys import (
    task_title,
)
from formalbench.contracts.errors import RequestError
from formalbench.contracts.record import Record
from formalbench.contracts.verification import AnyRecord, VerificationRecord
from formalbench.running.used import task_used
from formalbench.store import Store, default_results
from formalbench.store.repository import PUBLISHED_RESULTS, repository_above

from formalbench_leaderboard.snapshot import read_snapshot
from formalbench_leaderboard.theory import shortcut_here, theory_here

if TYPE_CHECKING:
    from formalbench.host.host import PluginHost

PAGE = Path("leaderboard", "README.md")
DEFAULT_SUITE = "default"


class Held(NamedTuple):
    """What folders hold.

    Attributes:
        records: of runs.
        verifications: of exact models.
        invalid: what is wrong with every other file, a line each.
    """

    records: list[Record]
    verifications: list[VerificationRecord]
    invalid: list[str]


def read_with_published(own: Path | None = None) -> Held:
    """Read the records of a folder and the published ones.

    Published are those of the repository that the user is in; outside of one, those that came
    with the package.

    Args:
        own: the folder; None for the user's own results.
    """
    folder = own or default_results()
    repository = repository_above(Path.cwd())
    if repository is not None:
        return read_all([folder, repository / PUBLISHED_RESULTS])
    found, invalid = Store(folder).valid()
    return Held(*parted([*found, *read_snapshot()]), invalid)


def read_published() -> Held:
    """Read the published records: of the repository that the user is in, else the package's."""
    repository = repository_above(Path.cwd())
    if repository is not None:
        return read_all([repository / PUBLISHED_RESULTS])
    return Held(*parted(read_snapshot()), [])


def read_all(folders: Iterable[Path]) -> Held:
    """Read the records of several folders; a folder named twice is read once.

    A folder that is not there has no records.
    """
    once = {folder.resolve(): folder for folder in folders}
    read = [Store(folder).valid() for folder in once.values()]
    records = parted(record for found, _ in read for record in found)
    return Held(*records, [line for _, invalid in read for line in invalid])


def parted(records: Iterable[AnyRecord]) -> tuple[list[Record], list[VerificationRecord]]:
    """Return the records of runs, and those of verifications."""
    held = list(records)
    return (
        [record for record in held if isinstance(record, Record)],
        [record for record in held if isinstance(record, VerificationRecord)],
    )


def check_folders(folders: Iterable[Path]) -> None:
    """Refuse a folder that somebody named and that is not there: a slip of the pen.

    Raises:
        RequestError: one line.
    """
    for folder in folders:
        if not folder.is_dir():
            raise RequestError(f"--results {folder}: no such folder")


def suite_view(
    host: PluginHost,
    suite: str,
    protocols: Iterable[str] | None = None,
    *,
    only_tasks: bool = False,
    ranks_unchecked: bool = True,
) -> View:
    """Return the view that ranks by a suite, with the published tables beside it.

    Args:
        host: the plugins.
        suite: its name.
        protocols: as of `View`.
        only_tasks: as of `View`.
        ranks_unchecked: as of `View`.

    Raises:
        RequestError: for an unknown suite.
    """
    tasks = [task_used(host, name, ()) for name in host.suite(suite).tasks]
    known = (
        table.limited_to(lambda task: current_task(host, task) is not None)
        for table in host.published()
    )
    return View(
        title=f"formalbench leaderboard: suite {suite}",
        tasks=tuple(task_title(task.name, task.options) for task in tasks),
        protocols=None if protocols is None else frozenset(protocols),
        only_tasks=only_tasks,
        published=tuple(table for table in known if table.tasks),
        current=current_of(host),
        ranks_unchecked=ranks_unchecked,
        theory=cache(partial(theory_here, host)),
        shortcut=cache(partial(shortcut_here, host)),
    )
