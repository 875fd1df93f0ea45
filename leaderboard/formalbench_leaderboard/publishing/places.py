"""Writing files to a repository, or refusing to; the paths of records there."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from formalbench.contracts.errors import FormalbenchError, RequestError
from formalbench.contracts.verification import AnyRecord, VerificationRecord
from formalbench.documents.text import harmless
from formalbench.files import read_plain, write_atomically
from formalbench.host import PluginHost
from formalbench.store import PUBLISHED_RESULTS, Store

from formalbench_leaderboard.board.sources import DEFAULT_SUITE, built_in


class RefusedError(FormalbenchError):
    """Raised for records that cannot be published; `lines` has one line for each reason."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__(f"{len(lines)} refused: nothing was published")
        self.lines = list(map(harmless, lines))


def naming(file: Path, error: FormalbenchError) -> str:
    """Return the message of an error, with the name of its file."""
    line = str(error)
    return line if str(file) in line else f"{file}: {line}"


def check_fields(recorded: Any, here: Any, *, within: float = 0.0, field: str = "") -> None:
    """Refuse a record in which a field has another value than here.

    Args:
        recorded: the value in the record, as JSON.
        here: the expected value.
        within: absolute and relative tolerance of floats.
        field: the field's name, as a dotted path.

    Raises:
        RequestError: one line that names the first such field and both values.
    """
    if recorded == here:
        return
    if isinstance(recorded, Mapping) and isinstance(here, Mapping):
        for name in dict.fromkeys([*here, *recorded]):
            part = f"{field}.{name}" if field else name
            check_fields(
                recorded.get(name, "absent"), here.get(name, "absent"), within=within, field=part
            )
    elif (
        isinstance(recorded, list | tuple)
        and isinstance(here, list | tuple)
        and len(recorded) == len(here)
    ):
        for index, pair in enumerate(zip(recorded, here, strict=True)):
            check_fields(*pair, within=within, field=f"{field}[{index}]")
    elif isinstance(recorded, float) and isinstance(here, float):
        if not math.isclose(recorded, here, rel_tol=within, abs_tol=within):
            raise RequestError(f"its {field} is {recorded:.6g}, not {here:.6g}")
    else:
        raise RequestError(f"its {field} is {recorded!s:.40}, not {here!s:.40}")


MAX_BYTES = 64 << 20
"""Maximum size of a file of the leaderboard; weights have at most half of it."""


Contents = bytes | Callable[[], bytes] | None
"""Contents of a file: bytes, a function that reads a large file later, or None to delete it."""


def write_all(repository: Path, contents: Mapping[Path, Contents]) -> None:
    """Write files, by their paths below a repository: each whole or not at all, one by one.

    Files that agree are not written. After an error, the same call writes those that are left.

    Raises:
        RequestError: one line, if a file cannot be written, or a link or a device is in its
            place, or a link on the way leads out of the repository.
    """
    root = repository.resolve()
    for path in contents:
        if not (root / path).parent.resolve().is_relative_to(root):  # through a link
            raise RequestError(f"{path}: leads out of the repository")
    try:
        for path, content in contents.items():
            file = repository / path
            old = read_plain(file, MAX_BYTES) if os.path.lexists(file) else None
            new = content() if callable(content) else content
            if new is None:
                file.unlink(missing_ok=True)
            elif old != new:
                write_atomically(file, new)
    except OSError as error:
        raise RequestError(f"{error.filename}: {error.strerror}") from None


VERIFIED, REST = "exact", "other"
"""The folders of verifications, which belong to no suite, and of tasks that are in no suite."""


def published_path(record: AnyRecord, host: PluginHost) -> Path:
    """Return the path, below the repository's root, where a record is published.

    A task can be in several suites. Its records are stored under the default suite if that contains
    the task, otherwise under the smallest suite that does.
    """
    return path_among(record, lambda task: home_suite(task, host))


def path_among(record: AnyRecord, home: Callable[[str], str]) -> Path:
    """Return the path of a record, with a function for the suite, so that callers can cache it."""
    verified = isinstance(record, VerificationRecord)
    folder = VERIFIED if verified else home(record.task.name)
    return Store(PUBLISHED_RESULTS / folder).path_of(record)


def home_suite(task: str, host: PluginHost) -> str:
    """Return the suite under which the records of a task are published."""
    suites = built_in(host.suites.all())
    suites.sort(key=lambda suite: (suite.name != DEFAULT_SUITE, len(suite.tasks), suite.name))
    for suite in suites:
        if task in (host.select_task(name).full_name for name in suite.tasks):
            return suite.name
    return REST
