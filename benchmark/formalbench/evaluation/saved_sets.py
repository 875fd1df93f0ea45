"""Test sets on disk: drawn once, found again by what decides them, in sealed files."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import numpy as np

from formalbench import __version__
from formalbench.cache import code_digest, place_of, read_sealed, write_sealed
from formalbench.contracts.example import Example
from formalbench.contracts.protocol import Protocol
from formalbench.contracts.task import Task
from formalbench.evaluation.cells import Cell, TestSet, cell_lengths, has_fixed_test, test_set

_KNOWN = "known."


def saved_test_set(task: Task, source: object, protocol: Protocol) -> TestSet:
    """Return a test set from the cache; draw it and put it there if it is not.

    Fixed strings are there already, and not put there once more.

    Args:
        task: what it is of.
        source: what else says which task this is, as JSON: where its code came from.
        protocol: says which lengths, and how many strings.
    """
    if has_fixed_test(task):
        return test_set(task, protocol)
    name = (task.name, task.version, dict(task.parameters), source)
    metrics = [metric.name for metric in task.metrics]  # they know things of strings
    code = code_digest(task, task.source, task.objective, *task.metrics)
    asked = _asked(task, protocol)
    key = json.dumps([__version__, name, metrics, code, *asked], sort_keys=True)
    path = place_of("test-sets", key)
    kept = read_sealed(path, key)
    found = None if kept is None else _unpacked(kept)
    if found is None:
        found = test_set(task, protocol)
        write_sealed(path, key, _packed(found))
    return found


def _asked(task: Task, protocol: Protocol) -> list[Any]:
    """Return what of a protocol decides a test set."""
    test = protocol.test
    if test.tokens is not None:
        return ["window", task.splits.test, test.tokens]
    return [cell_lengths(task, protocol), test.strings]


def _unpacked(contents: bytes) -> TestSet | None:
    """Return the test set that a file holds; None if this version of a library cannot read it."""
    try:
        with np.load(io.BytesIO(contents), allow_pickle=False) as data:
            arrays = {name: data[name] for name in data.files}
        bounds = arrays.pop("bounds").tolist()
        by_cell: list[dict[int, dict[str, Any]]] = [{} for _ in bounds]
        for name, array in arrays.items():
            cell, place, part = name.split("/", 2)
            by_cell[int(cell)].setdefault(int(place), {})[part] = array
        cells = (
            Cell(first, last, tuple(_example(parts[place]) for place in sorted(parts)))
            for (first, last), parts in zip(bounds, by_cell, strict=True)
        )
        return TestSet(tuple(cells))
    except (ValueError, KeyError, IndexError, TypeError, EOFError, zipfile.BadZipFile):
        return None


def _example(parts: dict[str, Any]) -> Example:
    known = {n.removeprefix(_KNOWN): a for n, a in parts.items() if n.startswith(_KNOWN)}
    plain = {name: array for name, array in parts.items() if not name.startswith(_KNOWN)}
    return Example(**plain, known=known)


def _packed(found: TestSet) -> bytes:
    arrays: dict[str, Any] = {"bounds": np.array([(cell.first, cell.last) for cell in found.cells])}
    for index, cell in enumerate(found.cells):
        for place, example in enumerate(cell.examples):
            parts = {name: getattr(example, name) for name in Example._fields if name != "known"}
            parts |= {f"{_KNOWN}{name}": array for name, array in example.known.items()}
            arrays |= {f"{index}/{place}/{n}": a for n, a in parts.items() if a is not None}
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()
