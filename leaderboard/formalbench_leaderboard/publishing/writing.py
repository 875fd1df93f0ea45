"""Writing many files below a repository: all of them, or none."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from formalbench.contracts.errors import RequestError
from formalbench.plain import read_plain
from formalbench.store import write_atomically

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
