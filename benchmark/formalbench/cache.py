"""What costs computing and never changes, kept between calls."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from formalbench.contracts.errors import RequestError
from formalbench.store import write_atomically

ENVIRONMENT = "FORMALBENCH_CACHE"

FORGOTTEN = 2 * 24 * 3600.0
"""Seconds after which nobody works in a temporary folder that nobody wrote to."""


def cache_folder() -> Path:
    """Return where the cache lives: ``FORMALBENCH_CACHE`` or a per-user folder."""
    if told := os.environ.get(ENVIRONMENT):
        return Path(told)
    import platformdirs

    return Path(platformdirs.user_cache_dir("formalbench", appauthor=False))


def temporary_folder(name: str) -> tempfile.TemporaryDirectory[str]:
    """Return a folder for a while, below the cache; what kills left there days ago goes."""
    folder = cache_folder() / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            written = max(path.stat().st_mtime for path in (old, *old.glob("*")))
            if time.time() - written > FORGOTTEN:
                shutil.rmtree(old, ignore_errors=True)
        return tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True)
    except OSError:  # a read-only home
        return tempfile.TemporaryDirectory(ignore_cleanup_errors=True)


def cached(key: object, compute: Callable[[], Any]) -> Any:
    """Return `compute()`, or what it returned last time for this key.

    Args:
        key: anything JSON can write; must name everything the value depends on.
        compute: returns something JSON can write.
    """
    text = json.dumps(key, sort_keys=True)
    path = cache_folder() / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.json"
    try:
        kept = json.loads(path.read_text("utf-8"))
        if kept["key"] == json.loads(text):
            return kept["value"]
    except (OSError, ValueError, KeyError, TypeError):
        pass  # not there, or not ours: compute it
    value = compute()
    with contextlib.suppress(RequestError):  # a read-only home costs time, not results
        write_atomically(path, json.dumps({"key": json.loads(text), "value": value}))
    return value


def code_digest(*things: object) -> str:
    """Return a digest of all code of the packages in which the classes of things are defined.

    What is kept under a key with it is found no more once that code has changed.
    """
    packages = sorted({type(thing).__module__.partition(".")[0] for thing in things})
    return hashlib.sha256("".join(map(_package_digest, packages)).encode()).hexdigest()


@lru_cache(maxsize=64)
def _package_digest(package: str) -> str:
    place = getattr(sys.modules.get(package), "__file__", None)
    if place is None:  # it has no file: of a notebook, or a folder that is no package
        return ""
    file = Path(place)
    files = sorted(file.parent.rglob("*.py")) if file.name == "__init__.py" else [file]
    digest = hashlib.sha256()
    for one in files:
        digest.update(hashlib.sha256(one.read_bytes()).digest())
    return digest.hexdigest()
