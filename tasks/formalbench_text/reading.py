"""Lines of plain and compressed files; documents; aligned lines of two files.

Text comes in pieces, lines with their ends; None stands behind the last one of a document.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import json
import lzma
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any, NoReturn

from formalbench import RequestError

Opener = Callable[[Any], IO[bytes]]


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file.

    Raises:
        RequestError: one line, if it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise RequestError(f"{path}: {error.strerror}") from None


@contextmanager
def opened(path: Path, sha256: str | None) -> Iterator[IO[bytes]]:
    """Open a file for reading; decompress it on the way.

    Args:
        path: its name ends in ``.gz``, ``.bz2``, ``.xz`` or ``.zst`` if it is compressed.
        sha256: that the file must have, as it lies on disk; None for any.

    Raises:
        RequestError: one line, if it has another checksum or cannot be read.
    """
    if sha256 is not None and (digest := digest_of(path)) != sha256:
        raise RequestError(f"{path}: wrong checksum: its SHA-256 is {digest}, and not {sha256}")
    try:
        with path.open("rb", buffering=1 << 20) as file:
            yield _OPENERS[path.suffix](file) if path.suffix in _OPENERS else file
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        message = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise RequestError(f"{path}: {message}") from None


def _zst(file: IO[bytes]) -> IO[bytes]:
    try:
        import zstandard
    except ImportError:
        raise RequestError(
            "files that end in .zst need the library zstandard: pip install 'formalbench[text]'"
        ) from None
    # Several frames one after another are one file, as with the program.
    reader = zstandard.ZstdDecompressor(max_window_size=1 << 31).stream_reader(
        file, read_across_frames=True
    )
    return io.BufferedReader(_Whole(reader, zstandard.ZstdError), 1 << 20)


class _Whole(io.RawIOBase):
    """What a decompressor of zstandard reads; its errors are those of files."""

    def __init__(self, reader: Any, error: type[Exception]) -> None:
        self._reader, self._error = reader, error

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            read: int = self._reader.readinto(buffer)
        except self._error as error:
            raise OSError(str(error)) from None
        return read


_OPENERS: dict[str, Opener] = {
    ".gz": lambda file: io.BufferedReader(gzip.GzipFile(fileobj=file, mode="rb"), 1 << 20),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
    ".zst": _zst,
}

LONGEST_LINE = 1 << 26
"""Bytes; a text without line ends is no text."""

AT_ONCE = 1 << 20
"""Characters that are encoded at once."""

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
            an empty document and a checksum that is not its own.
    """
    for path, sha256 in files:
        empty = True
        for piece in _KINDS[documents](path, lines_of(path, sha256)):
            empty = False
            yield piece
        if empty:
            raise RequestError(f"{path}: no text in it")


def batched(pieces: Pieces) -> Iterator[list[str | None]]:
    """Return pieces many at a time: `AT_ONCE` characters or little more."""
    some: list[str | None] = []
    size = 0
    for piece in pieces:
        some.append(piece)
        size += len(piece or "")
        if size >= AT_ONCE:
            yield some
            some, size = [], 0
    if some:
        yield some


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

Place = tuple[Path, str | None]
"""A file, and the SHA-256 that it must have; None for any."""


def pairs_of(source: Place, target: Place, *, skip_empty: bool) -> Iterator[tuple[str, str]]:
    """Return texts and their translations, without the white space around them.

    Args:
        source: the texts, one a line.
        target: their translations.
        skip_empty: whether pairs of which one is empty are left out; else they are refused.

    Raises:
        RequestError: one line that names the file and the line in it.
    """
    count = 0
    for one, other in zip_longest(lines_of(*source), lines_of(*target)):
        if one is None or other is None:
            number = (one or other or (0, ""))[0]
            longer, shorter = (source, target) if other is None else (target, source)
            raise RequestError(
                f"{longer[0]}:{number}: it has no partner: {shorter[0]} ends with line {number - 1}"
            )
        (number, text), (_, translation) = one, other
        pair = text.strip(), translation.strip()
        if all(pair):
            count += 1
            yield pair
        elif not skip_empty:
            empty = target if pair[0] else source
            raise RequestError(f"{empty[0]}:{number}: an empty line, which cannot be tested on")
    if not count:
        raise RequestError(f"{source[0]}: no text in it")
