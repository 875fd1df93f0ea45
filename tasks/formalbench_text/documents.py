"""Reading texts, line by line, whatever their size.

Text comes in pieces, lines with their ends; None stands behind the last one of a document.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NoReturn

from formalbench import RequestError

from formalbench_text.opened import opened

LONGEST_LINE = 1 << 26
"""Bytes; a text without line ends is no text."""

Numbered = Iterable[tuple[int, str]]
Pieces = Iterator[str | None]

_HEADING = re.compile(r" ?= [^=\s](.*[^=\s])? = ?\s*")


def pieces_of(files: Iterable[tuple[Path, str | None]], documents: str) -> Pieces:
    """Return the texts of files.

    Args:
        files: with the SHA-256 that each must have; None for any.
        documents: where a text ends.

    Raises:
        RequestError: one line that names the file and the line in it: for what is not UTF-8, for
            an empty document and, once a file is read, for a checksum that is not its own.
    """
    for path, sha256 in files:
        held = False
        for piece in _KINDS[documents](path, lines_of(path, sha256)):
            held = True
            yield piece
        if not held:
            raise RequestError(f"{path}: no text in it")


def lines_of(path: Path, sha256: str | None = None) -> Iterator[tuple[int, str]]:
    """Return the lines of a file with their ends and numbers.

    Args:
        path: of the file, UTF-8, compressed or not.
        sha256: that it must have, as it lies on disk; None for any.

    Raises:
        RequestError: one line.
    """
    with opened(path, sha256) as file:
        number = 0
        while line := file.readline(LONGEST_LINE):
            number += 1
            if len(line) == LONGEST_LINE:
                _refuse(path, number, f"more than {LONGEST_LINE} bytes in a line")
            try:
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                _refuse(path, number, f"not UTF-8: {error.reason}")


def _file(path: Path, lines: Numbered) -> Pieces:
    visible = False
    for _, line in lines:
        visible = visible or not line.isspace()
        yield line
    if not visible:
        raise RequestError(f"{path}: an empty document")
    yield None


def _lines(path: Path, lines: Numbered) -> Pieces:
    for number, line in lines:
        if not line.strip():
            _refuse(path, number, "an empty document")
        yield line
        yield None


def _blank_lines(path: Path, lines: Numbered) -> Pieces:
    inside = False
    for _, line in lines:
        if line.strip():
            yield line
        elif inside:
            yield None
        inside = bool(line.strip())
    if inside:
        yield None


def headings(path: Path, lines: Numbered) -> Pieces:
    """Return texts that headings begin, as WikiText has them; the path is for what is refused."""
    inside = False
    for number, line in lines:
        if _HEADING.fullmatch(line):
            if inside:
                yield None
            inside = True
        elif not inside and line.strip():
            _refuse(path, number, "text before the first heading, which is as ' = Title = '")
        if inside:
            yield line
    if inside:
        yield None


def _jsonl(path: Path, lines: Numbered) -> Pieces:
    for number, line in lines:
        try:
            text = json.loads(line)["text"]
        except (ValueError, KeyError, TypeError, RecursionError):
            _refuse(path, number, 'no JSON object with a "text"')
        if not isinstance(text, str) or not text.strip():
            _refuse(path, number, "an empty document")
        try:
            text.encode()
        except UnicodeEncodeError:
            _refuse(path, number, "half a surrogate pair, which is no text")
        yield from text.splitlines(keepends=True)
        yield None


def _refuse(path: Path, number: int, text: str) -> NoReturn:
    raise RequestError(f"{path}:{number}: {text}")


_KINDS = {
    "file": _file,
    "lines": _lines,
    "blank-lines": _blank_lines,
    "headings": headings,
    "jsonl": _jsonl,
}
