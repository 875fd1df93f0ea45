"""Where records are read from, and the views of them that the commands show."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from formalbench.analysis.build import View
from formalbench.analysis.chances import known_chances
from formalbench.analysis.current import current_of, current_task
from formalbench.analysis.keys import task_title
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
CORE_SUITE = "core"
BOARD = "formalbench leaderboard"


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

    def only(self, wanted: Callable[[AnyRecord], bool]) -> Held:
        """Leave out all records but some."""
        return self._replace(
            records=[record for record in self.records if wanted(record)],
            verifications=[record for record in self.verifications if wanted(record)],
        )

    def beside(self, others: Held) -> Held:
        """Return these and others."""
        return Held(
            [*self.records, *others.records],
            [*self.verifications, *others.verifications],
            [*self.invalid, *others.invalid],
        )


def read_with_published(own: Path | None = None) -> Held:
    """Read the records of a folder, or of the user's own results, and the published ones."""
    return read_published(own or default_results())


def read_published(*besides: Path) -> Held:
    """Read the published records, and those of some folders.

    Published are those of the repository that the user is in; outside of one, those that came
    with the package.
    """
    repository = repository_above(Path.cwd())
    if repository is not None:
        return read_all([*besides, repository / PUBLISHED_RESULTS])
    return read_all(besides).beside(Held(*parted(read_snapshot()), []))


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


def suite_view(host: PluginHost, suite: str) -> View:
    """Return the view that ranks by a suite, with the published tables beside it.

    Raises:
        RequestError: for an unknown suite.
    """
    tasks = [task_used(host, name, ()) for name in host.suite(suite).tasks]
    view = View(
        title=f"{BOARD}: suite {suite}",
        tasks=tuple(task_title(task.name, task.options) for task in tasks),
        published=tuple(host.published()),
        current=current_of(host),
        theory=cache(partial(theory_here, host)),
        shortcut=cache(partial(shortcut_here, host)),
        chances=known_chances(host),
    )
    return view.with_papers_on(lambda task: current_task(host, task.partition("[")[0]) is not None)
