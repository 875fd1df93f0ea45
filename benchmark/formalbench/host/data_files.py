"""The files that a YAML plugin names: they belong to its contents.

Wherever it is in the part ``data``, a value under ``strings``, ``labels`` or ``outputs`` is a file,
relative to the folder of the plugin. What a run is known by hangs on the hash of all of them: other
data, another task. In ``corpus`` and ``pairs`` ``file`` is one, and its hash stands beside it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from formalbench.contracts.errors import RequestError
from formalbench.host.yaml_file import read_yaml
from formalbench.plain import read_plain

DATA = "data"
FILES = ("strings", "labels", "outputs")

TEXTS = ("corpus", "pairs")
TEXT_FILES = ("file",)

MAX_BYTES = 1 << 30
"""Of one file."""


def data_files(path: Path) -> list[Path]:
    """Return the files that a YAML plugin names, each once; none if it cannot be read."""
    texts = (_files_of(path, part, TEXT_FILES) for part in TEXTS)
    return [*_files_of(path, DATA, FILES), *chain.from_iterable(texts)]


def data_hash(path: Path) -> str:
    """Return the SHA-256 of a YAML plugin and of the files that it names under ``data``.

    A file that cannot be read counts as one: whoever reads it says what is wrong.

    Raises:
        OSError: if the plugin itself cannot be read.
    """
    own = hashlib.sha256(path.read_bytes())
    files = _files_of(path, DATA, FILES)
    if not files:
        return own.hexdigest()
    digest = hashlib.sha256(own.digest())
    for file in files:
        try:
            digest.update(hashlib.sha256(read_plain(file, MAX_BYTES)).digest())
        except RequestError:
            digest.update(b"unreadable")
    return digest.hexdigest()


def _files_of(path: Path, part: str, keys: Collection[str]) -> list[Path]:
    try:
        named = _named(read_yaml(path).get(part), keys)
        return list(dict.fromkeys(path.parent / name for name in named))
    except RequestError:  # whoever loads it says what is wrong
        return []


def _named(value: Any, keys: Collection[str]) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in keys and isinstance(inner, str):
                if inner.isprintable():  # no other is the name of a file
                    yield inner
            else:
                yield from _named(inner, keys)
    elif isinstance(value, list):
        for inner in value:
            yield from _named(inner, keys)
