"""Writing files so that nobody ever sees a part of one."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from formalbench.contracts.errors import UnwritableError
from formalbench.plain import check_replaceable

UNFINISHED = ".writing-"
"""What the name of a file begins with until it is written."""

ABANDONED = 3600
"""Seconds after which nobody is at a file any more."""


def write_atomically(path: Path, contents: str | bytes) -> None:
    """Write a file so that a reader sees the old contents or the new, never a part.

    Raises:
        UnwritableError: one line, if it cannot be written.
    """
    with replacing(path) as file:
        file.write(contents.encode() if isinstance(contents, str) else contents)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a file to be written part by part, which takes its place when all of it is.

    Raises:
        UnwritableError: one line, if it cannot be written.
    """
    check_replaceable(path)
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=UNFINISHED, delete=False) as file:
            temporary = Path(file.name)
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException as error:  # Ctrl-C, too, leaves nothing behind
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink()
        if isinstance(error, OSError):
            raise UnwritableError(f"cannot write {path}: {error.strerror}") from None
        raise


def sweep(folder: Path) -> None:
    """Delete what processes that were killed left half-written below a folder.

    Another process may be writing there: only files that nobody has touched for an hour go.
    """
    for file in folder.rglob(f"{UNFINISHED}*"):
        with contextlib.suppress(OSError):
            if file.is_file() and time.time() - file.lstat().st_mtime > ABANDONED:
                file.unlink()
