"""Files of text as they lie on disk: plain, or compressed as their names say."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from formalbench import RequestError

Opener = Callable[[Any], IO[bytes]]


class _Digesting(io.RawIOBase):
    """A file whose bytes are counted into a digest as they are read."""

    def __init__(self, file: IO[bytes]) -> None:
        self.digest = hashlib.sha256()
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        read = self._file.read(len(buffer))
        self.digest.update(read)
        buffer[: len(read)] = read
        return len(read)


@contextmanager
def opened(path: Path, sha256: str | None) -> Iterator[IO[bytes]]:
    """Open a file for reading, from its beginning to its end; decompress it on the way.

    Args:
        path: its name ends in ``.gz``, ``.bz2``, ``.xz`` or ``.zst`` if it is compressed.
        sha256: that the file must have, as it lies on disk; None for any.

    Raises:
        RequestError: one line, if it cannot be read or, once it is read, for another checksum.
    """
    try:
        with path.open("rb") as file:
            raw = _Digesting(file)
            yield _OPENERS.get(path.suffix, _plain)(raw)
            while raw.read(1 << 20):  # what stands behind compressed text
                pass
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        told = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise RequestError(f"{path}: {told}") from None
    found = raw.digest.hexdigest()
    if sha256 not in (None, found):
        raise RequestError(f"{path}: wrong checksum: its SHA-256 is {found}, and not {sha256}")


def _plain(raw: io.RawIOBase) -> IO[bytes]:
    return io.BufferedReader(raw, 1 << 20)


def _zst(raw: io.RawIOBase) -> IO[bytes]:
    try:
        import zstandard
    except ImportError:
        raise RequestError(
            "files that end in .zst need the library zstandard: pip install 'formalbench[text]'"
        ) from None
    # Several frames one after another are one file, as with the program.
    reader = zstandard.ZstdDecompressor(max_window_size=1 << 31).stream_reader(
        _plain(raw), read_across_frames=True
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
    ".gz": lambda raw: io.BufferedReader(gzip.GzipFile(fileobj=raw, mode="rb"), 1 << 20),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
    ".zst": _zst,
}
