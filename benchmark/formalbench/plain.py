"""Reading files that somebody else may have put there: regular ones only, and so many bytes."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from formalbench.contracts.errors import RequestError


def read_plain(path: Path, limit: int, what: str = "") -> bytes:
    """Return the contents of a regular file.

    A link leads anywhere, a device never ends and a pipe waits for ever: what the name stands for
    is looked at before it is opened, and again once it is open, since it may have changed in
    between. It is read up to the limit, whatever size it claims.

    Args:
        path: of the file.
        limit: the most bytes that it may have.
        what: what a larger file cannot be, as ``a record``.

    Raises:
        RequestError: one line.
    """
    try:
        check_regular(path)
        asked = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        with os.fdopen(os.open(path, asked | getattr(os, "O_BINARY", 0)), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise RequestError(f"{path}: not a plain file")
            contents = file.read(limit + 1)
    except OSError as error:
        raise RequestError(f"{path}: {error.strerror}") from None
    if len(contents) > limit:
        no = f", so not {what}" if what else ""
        raise RequestError(f"{path}: larger than {limit} bytes{no}")
    return contents


def check_regular(path: Path) -> None:
    """Refuse what is no regular file.

    Raises:
        RequestError: one line, if it is a link, a folder, a pipe or a device.
        OSError: if there is nothing.
    """
    kind = path.lstat().st_mode
    if stat.S_ISLNK(kind):
        raise RequestError(f"{path}: a link, and only plain files are taken")
    if not stat.S_ISREG(kind):
        raise RequestError(f"{path}: not a plain file")


def check_replaceable(path: Path) -> None:
    """Refuse to put a file in the place of a device, a pipe, or a link to what is no file.

    Raises:
        RequestError: one line.
    """
    try:
        kind = path.lstat().st_mode
        if stat.S_ISLNK(kind):
            own = not path.parent.resolve().is_relative_to("/dev")  # as /dev/stdout is a link
            kind = path.stat().st_mode if path.exists() and own else stat.S_IFREG * own
    except OSError:
        return  # there is nothing yet, or writing will say why it cannot be
    if not stat.S_ISREG(kind) and not stat.S_ISDIR(kind):
        raise RequestError(f"cannot write {path}: a device or a pipe, and no file")
