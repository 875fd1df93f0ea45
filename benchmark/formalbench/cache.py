"""On-disk cache of expensive results."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from formalbench.contracts.errors import RequestError
from formalbench.files import (
    delete_abandoned,
    read_plain,
    sweep,
    unfinished_prefix,
    write_atomically,
)

ENVIRONMENT = "FORMALBENCH_CACHE"

DAY = 24 * 3600.0

FORGOTTEN = 2 * DAY
"""Seconds without a write after which a temporary folder or file counts as abandoned."""

MAX_BYTES = 2 << 30
"""Limits of a cache folder; the least recently used files are deleted first."""

SEAL = hashlib.sha256().digest_size
"""Bytes of the checksum before a file's contents."""


def cache_folder() -> Path:
    """Return the cache folder: ``FORMALBENCH_CACHE`` or a per-user folder."""
    if folder := os.environ.get(ENVIRONMENT):
        return Path(folder)
    import platformdirs

    return Path(platformdirs.user_cache_dir("formalbench", appauthor=False))


def temporary_folder(name: str) -> tempfile.TemporaryDirectory[str]:
    """Create a temporary folder in the cache, and delete abandoned ones."""
    folder = cache_folder() / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            delete_abandoned(old, FORGOTTEN)
        return tempfile.TemporaryDirectory(
            dir=folder, prefix=unfinished_prefix(), ignore_cleanup_errors=True
        )
    except OSError:  # a read-only home
        return tempfile.TemporaryDirectory(ignore_cleanup_errors=True)


def cached(key: object, compute: Callable[[], Any]) -> Any:
    """Return the cached value of `compute()` for this key.

    Args:
        key: JSON data that includes everything the value depends on.
        compute: returns JSON data.
    """
    text = json.dumps(key, sort_keys=True)
    path = place_of("values", text)
    contents = read_sealed(path, text)
    if contents is not None:
        return json.loads(contents)
    value = compute()
    write_sealed(path, text, json.dumps(value).encode())
    return value


def cached_before(key: object) -> Any:
    """Return the cached value of a key; None if there is none."""
    text = json.dumps(key, sort_keys=True)
    contents = read_sealed(place_of("values", text), text)
    return None if contents is None else json.loads(contents)


def place_of(folder: str, key: str) -> Path:
    """Return the file of a key in a folder of the cache."""
    return cache_folder() / folder / hashlib.sha256(key.encode()).hexdigest()[:32]


def write_sealed(path: Path, key: str, contents: bytes) -> None:
    """Write a file with a checksum of key and contents, and delete old files.

    Errors such as a read-only home or a full disk are ignored.
    """
    with contextlib.suppress(RequestError):
        write_atomically(path, _seal(key, contents) + contents)
        prune(path.parent)


def read_sealed(path: Path, key: str) -> bytes | None:
    """Read the contents of a key; None if they are missing or corrupt."""
    if not path.exists():
        return None
    try:
        sealed = read_plain(path, MAX_BYTES)
    except RequestError:
        return None
    seal, contents = sealed[:SEAL], sealed[SEAL:]
    if seal != _seal(key, contents):
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # mark as recently used
    return contents


def _seal(key: str, contents: bytes) -> bytes:
    return hashlib.sha256(hashlib.sha256(key.encode()).digest() + contents).digest()


def prune(folder: Path, max_age: float = math.inf) -> None:
    """Delete the least recently used files of a folder until it is within the limits.

    Args:
        folder: of the cache.
        max_age: seconds without use after which a file is deleted in any case.
    """
    with contextlib.suppress(OSError):  # another process may delete it first
        sweep(folder, below=False, age=FORGOTTEN)
        files = sorted((time.time() - file.stat().st_mtime, file) for file in folder.iterdir())
        total = 0
        for age, file in files:
            total += file.stat().st_size
            if total > MAX_BYTES or age > max_age:
                file.unlink(missing_ok=True)


def code_digest(*things: object) -> str:
    """Return a digest of all code and YAML of the packages that define these classes.

    With it in a key, cached values are no longer found after a change of that code.
    """
    packages = sorted({type(thing).__module__.partition(".")[0] for thing in things})
    return hashlib.sha256("".join(map(package_digest, packages)).encode()).hexdigest()


@lru_cache(maxsize=64)
def package_digest(package: str) -> str:
    """Return a digest of all code and YAML of a package that is imported."""
    place = getattr(sys.modules.get(package), "__file__", None)
    if place is None:  # no file: a notebook, or a namespace package
        return ""
    file = Path(place)
    inside = (path for path in file.parent.rglob("*") if path.suffix in (".py", ".yaml"))
    files = sorted(inside) if file.name == "__init__.py" else [file]
    digest = hashlib.sha256()
    for source in files:
        digest.update(hashlib.sha256(source.read_bytes()).digest())
    return digest.hexdigest()
