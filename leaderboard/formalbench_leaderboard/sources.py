"""Where records are read from, and the views of them that the commands show."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from formalbench.contracts.errors import RequestError
from formalbench.contracts.record import Record
from formalbench.store import Store, default_results

from formalbench_leaderboard.build import View
from formalbench_leaderboard.counted import task_title
from formalbench_leaderboard.published import published_tables

if TYPE_CHECKING:
    from formalbench.host.host import PluginHost

PUBLISHED_RESULTS = Path("leaderboard", "results")
PAGE = Path("leaderboard", "README.md")


def repository_above(start: Path) -> Path | None:
    """Return the nearest folder at or above `start` that holds ``leaderboard/results``."""
    here = start.resolve()
    return next(
        (folder for folder in (here, *here.parents) if (folder / PUBLISHED_RESULTS).is_dir()), None
    )


def default_folders() -> list[Path]:
    """Return the user's own results, and those of the repository the user is in, if any."""
    repository = repository_above(Path.cwd())
    published = [] if repository is None else [repository / PUBLISHED_RESULTS]
    return [default_results(), *published]


def read_all(folders: Iterable[Path]) -> list[Record]:
    """Read the records of several folders; a folder named twice is read once.

    Raises:
        RequestError: one line, for a file that is no record.
    """
    once = {folder.resolve(): folder for folder in folders}
    return [record for folder in once.values() for record in Store(folder).records()]


def suite_view(host: PluginHost, suite: str, protocols: Iterable[str] | None = None) -> View:
    """Return the view that ranks by a suite, with the published tables beside it.

    Raises:
        RequestError: for an unknown suite.
    """
    names = [_full_name(host, name) for name in host.suite(suite).tasks]
    known = (
        table.limited_to(lambda task: current_version(host, task) is not None)
        for table in published_tables()
    )
    return View(
        title=f"formalbench leaderboard: suite {suite}",
        tasks=tuple(task_title(name, {}) for name in names),
        protocols=None if protocols is None else frozenset(protocols),
        published=tuple(table for table in known if table.tasks),
        current_version=lambda task: current_version(host, task),
    )


def _full_name(host: PluginHost, name: str) -> str:
    _, objective, _ = host.task_entry(name)
    return f"{name.partition(':')[0]}:{objective}"


def current_version(host: PluginHost, task: str) -> int | None:
    """Return the version of a task, or None if no plugin provides it."""
    try:
        entry, _, _ = host.task_entry(task)
    except RequestError:
        return None
    return entry.spec.version
