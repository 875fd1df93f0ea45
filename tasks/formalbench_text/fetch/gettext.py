"""Catalogues of translated messages, as programs carry them: GNU gettext's ``.mo`` files.

Format: the manual of GNU gettext, section "The Format of GNU MO Files".
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path

from formalbench import RequestError

_MAGIC = 0x950412DE
_KEY = re.compile(r"^[A-Za-z0-9]{5}\|")
"""What LibreOffice has before a message, to tell equal ones apart."""

_MNEMONIC = re.compile(r"(?<!\w)[_~&](?=\w)")
"""What stands before the letter that a menu is opened with."""


def messages_of(path: Path) -> Iterator[tuple[str, str]]:
    """Return messages and their translations, of one with a plural the plural.

    Raises:
        RequestError: one line, if the file is no catalogue.
    """
    contents = path.read_bytes()
    try:
        order = "<" if struct.unpack_from("<I", contents)[0] == _MAGIC else ">"
        magic, _, count, source, target = struct.unpack_from(f"{order}5I", contents)
        if magic != _MAGIC:
            raise ValueError("it does not begin as one")
        for index in range(count):
            sides = []
            for table in (source, target):
                size, start = struct.unpack_from(f"{order}2I", contents, table + 8 * index)
                sides.append(contents[start : start + size].decode("utf-8"))
            if sides[0]:  # the empty message is the catalogue's own heading
                yield _plain(sides[0].rpartition("\x04")[2]), _plain(sides[1])
    except (struct.error, ValueError) as error:
        raise RequestError(f"{path}: no catalogue of messages: {error}") from None


def _plain(message: str) -> str:
    """Return a message as people read it, on one line."""
    plural = message.rpartition("\x00")[2]
    return " ".join(_MNEMONIC.sub("", _KEY.sub("", plural)).split())
