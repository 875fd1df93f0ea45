"""Test sets on disk: drawn once, found again by what decides them, checked by fingerprint."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from formalbench import __version__
from formalbench.cache import cache_folder, code_digest
from formalbench.contracts.example import Example
from formalbench.contracts.protocol import Protocol
from formalbench.contracts.task import Task
from formalbench.evaluation.cells import Cell, TestSet, cell_lengths, test_set

MAX_BYTES = 2 << 30
"""What may lie in the cache; the files not used for longest go first."""

_KNOWN = "known."


def saved_test_set(task: Task, source: object, protocol: Protocol) -> TestSet:
    """Return a test set from the cache; draw it and put it there if it is not.

    Args:
        task: what it is of.
        source: what else says which task this is, as JSON: where its code came from.
        protocol: says which lengths, and how many strings.
    """
    name = (task.name, task.version, dict(task.parameters), source)
    metrics = [metric.name for metric in task.metrics]  # they know things of strings
    code = code_digest(task, task.source, task.objective, *task.metrics)
    asked = _asked(task, protocol)
    key = json.dumps([__version__, name, metrics, code, *asked], sort_keys=True)
    path = cache_folder() / "test-sets" / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.npz"
    found = _read(path)
    if found is None:
        found = test_set(task, protocol)
        with contextlib.suppress(OSError):  # a read-only home costs time, not results
            _write(path, found)
    return found


def _asked(task: Task, protocol: Protocol) -> list[Any]:
    """Return what of a protocol decides a test set."""
    test = protocol.test
    if test.tokens is not None:
        return ["window", task.splits.test, test.tokens]
    return [cell_lengths(task, protocol), test.strings]


def _read(path: Path) -> TestSet | None:
    """Return what a file holds; None if it is not there, damaged, or not what it says."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as data:
            arrays = {name: data[name] for name in data.files}
        fingerprint = str(arrays.pop("fingerprint"))
        bounds = arrays.pop("bounds").tolist()
        by_cell: list[dict[int, dict[str, Any]]] = [{} for _ in bounds]
        for name, array in arrays.items():
            cell, place, part = name.split("/", 2)
            by_cell[int(cell)].setdefault(int(place), {})[part] = array
        cells = (
            Cell(first, last, tuple(_example(parts[place]) for place in sorted(parts)))
            for (first, last), parts in zip(bounds, by_cell, strict=True)
        )
        found = TestSet(tuple(cells))
        os.utime(path)
    except (OSError, ValueError, KeyError, IndexError, TypeError, EOFError, zipfile.BadZipFile):
        return None
    return found if found.fingerprint == fingerprint else None


def _example(parts: dict[str, Any]) -> Example:
    known = {n.removeprefix(_KNOWN): a for n, a in parts.items() if n.startswith(_KNOWN)}
    plain = {name: array for name, array in parts.items() if not name.startswith(_KNOWN)}
    return Example(**plain, known=known)


def _write(path: Path, found: TestSet) -> None:
    arrays: dict[str, Any] = {
        "fingerprint": np.array(found.fingerprint),
        "bounds": np.array([(cell.first, cell.last) for cell in found.cells]),
    }
    for index, cell in enumerate(found.cells):
        for place, example in enumerate(cell.examples):
            parts = {name: getattr(example, name) for name in Example._fields if name != "known"}
            parts |= {f"{_KNOWN}{name}": array for name, array in example.known.items()}
            arrays |= {f"{index}/{place}/{n}": a for n, a in parts.items() if a is not None}
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".writing-", delete=False) as file:
        try:
            np.savez(file, **arrays)
            file.close()
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
    _prune(path.parent)


def _prune(folder: Path) -> None:
    """Delete the files not used for longest until the rest may stay."""
    files = sorted(folder.glob("*.npz"), key=lambda file: file.stat().st_mtime, reverse=True)
    total = 0
    for file in files:
        total += file.stat().st_size
        if total > MAX_BYTES:
            file.unlink(missing_ok=True)
