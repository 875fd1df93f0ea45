"""Where a record lies in a repository, and how files are written there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from formalbench.contracts.errors import RequestError
from formalbench.contracts.record import Origin
from formalbench.contracts.verification import AnyRecord, VerificationRecord
from formalbench.files import read_plain
from formalbench.host.loader import PROJECT
from formalbench.host.registry import Entry, S
from formalbench.store import Store, write_atomically
from formalbench.store.records import PUBLISHED_RESULTS

from formalbench_leaderboard.board.sources import DEFAULT_SUITE

if TYPE_CHECKING:
    from formalbench.host.host import PluginHost


MAX_BYTES = 64 << 20
"""No file of the leaderboard is as large: weights have at most half as many."""


Contents = bytes | Callable[[], bytes] | None
"""Of a file; what is large is read when its turn comes, and None goes."""


def write_all(repository: Path, contents: Mapping[Path, Contents]) -> None:
    """Write files below a repository; if one cannot be written, take the others back.

    Args:
        repository: its root.
        contents: of each file, by its path below the root.

    Raises:
        RequestError: one line, also where a link or a device is in the place of a file; then
            everything is as it was.
    """
    for path in contents:
        _check_inside(repository, path)
    before: dict[Path, bytes | None] = {}
    try:
        for path, wanted in contents.items():
            file = repository / path
            old = read_plain(file, MAX_BYTES) if os.path.lexists(file) else None
            new = wanted() if callable(wanted) else wanted
            if old != new:
                before[file] = old
                _put(file, new)
    except BaseException as error:
        for file, old in before.items():
            _put(file, old)
        if isinstance(error, OSError):
            raise RequestError(f"{error.filename}: {error.strerror}") from None
        raise


def _check_inside(repository: Path, path: Path) -> None:
    """Refuse to write through a link that leads out of the repository."""
    root = repository.resolve()
    if not (root / path).parent.resolve().is_relative_to(root):
        raise RequestError(f"{path}: leads out of the repository")


def _put(file: Path, contents: bytes | None) -> None:
    if contents is None:
        file.unlink(missing_ok=True)
    else:
        write_atomically(file, contents)


VERIFIED, REST = "exact", "other"
"""The folders of verifications, which are of no suite, and of tasks that are in none."""


def published_path(record: AnyRecord, host: PluginHost) -> Path:
    """Return the path, below the repository's root, that a record is published at.

    A task can be in several suites. Its records lie in the default suite if that has it, else
    in the smallest that has it.
    """
    return path_among(record, lambda task: home_suite(task, host))


def path_among(record: AnyRecord, home: Callable[[str], str]) -> Path:
    """Return the same path, given the suite of each task, which thousands of records share.

    Args:
        record: of either kind.
        home: `home_suite` of a task.
    """
    verified = isinstance(record, VerificationRecord)
    folder = VERIFIED if verified else home(record.task.name)
    return Store(PUBLISHED_RESULTS / folder).path_of(record)


def built_in(entries: Iterable[Entry[S]]) -> list[S]:
    """Return what comes with formalbench itself.

    What somebody has installed besides, or named with --plugin, must change no page, or it would
    be stale wherever that is missing.
    """
    return [entry.spec for entry in entries if is_built_in(entry.plugin.source)]


def is_built_in(source: Origin) -> bool:
    """Say whether code comes with formalbench itself: a local file can be called the same."""
    return source.distribution == PROJECT and not source.sha256


def home_suite(task: str, host: PluginHost) -> str:
    """Return the suite under which the records of a task are published."""
    suites = built_in(host.suites.all())
    suites.sort(key=lambda suite: (suite.name != DEFAULT_SUITE, len(suite.tasks), suite.name))
    for suite in suites:
        if task in (host.select_task(name).full_name for name in suite.tasks):
            return suite.name
    return REST
