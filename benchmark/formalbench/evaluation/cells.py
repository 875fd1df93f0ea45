"""Test and validation sets: strings that are the same for everyone."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from formalbench.contracts.errors import RequestError
from formalbench.contracts.protocol import Protocol, Watch
from formalbench.contracts.task import Task


@dataclass(frozen=True)
class Cell:
    """The strings of one length and their targets.

    Attributes:
        length: of the strings.
        strings: (B, N) symbol ids, in the smallest integers that hold them.
        targets: (B, …) in the objective's layout, likewise.
    """

    length: int
    strings: npt.NDArray[np.integer[Any]]
    targets: npt.NDArray[Any]


@dataclass(frozen=True)
class CellSet:
    """The strings of each length, shortest first.

    Attributes:
        cells: a cell each or, of a window, its parts.
        window: the least and the greatest length of the window that is tested as one cell;
            None if every length is one.
    """

    cells: tuple[Cell, ...]
    window: tuple[int, int] | None = None

    @property
    def lengths(self) -> list[int]:
        """The length of each cell or, of a window, of each string."""
        if self.window is None:
            return [cell.length for cell in self.cells]
        return [cell.length for cell in self.cells for _ in cell.strings]

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of every length, string and target: little-endian 64-bit integers."""
        digest = hashlib.sha256()
        for cell in self.cells:
            shape = np.array([cell.length, *cell.targets.shape], dtype="<i8")
            digest.update(shape.tobytes())
            digest.update(np.ascontiguousarray(cell.strings, dtype="<i8").tobytes())
            digest.update(np.ascontiguousarray(cell.targets, dtype="<i8").tobytes())
        return digest.hexdigest()


def spread(lengths: Sequence[int], count: int | str) -> list[int]:
    """Return `count` of `lengths`, evenly spread with both ends, or all of them.

    Example:
        >>> spread(range(1, 10), 3)
        [1, 5, 9]
    """
    available = list(lengths)
    if count == "all" or int(count) >= len(available):
        return available
    if int(count) == 1:
        return available[-1:]
    last = len(available) - 1
    steps = int(count) - 1
    # Rounded half up in integers, so that no float decides which length is tested.
    return [available[(2 * index * last + steps) // (2 * steps)] for index in range(steps + 1)]


def split_lengths(task: Task, split: str) -> list[int]:
    """Return the lengths of the ``train`` or ``test`` split at which there are strings.

    Raises:
        RequestError: if there are none.
    """
    first, last = task.splits.train if split == "train" else task.splits.test
    lengths = [n for n in task.lengths(first, last) if (n - first) % task.splits.step == 0]
    if not lengths:
        raise RequestError(f"task {task.name} has no strings of length {first} to {last} ({split})")
    return lengths


def check_process(task: Task, protocol: Protocol) -> None:
    """Refuse a protocol that trains or tests on what a process generates, if a task has none.

    Raises:
        RequestError: one line.
    """
    if protocol.needs_process and not task.objective.has_process:
        raise RequestError(
            f"protocol {protocol.name} draws strings by a task's own process, and {task.name} has "
            "none: take one that ends in :generate, as dyck-2-3:generate"
        )


def test_set(task: Task, protocol: Protocol) -> CellSet:
    """Return the test set: a function of (task, version, parameters, cell), and nothing else."""
    return _tests(task, protocol, ("test",))


def fresh_set(task: Task, protocol: Protocol, seed: int) -> CellSet:
    """Return strings like the test set's, lengths and numbers alike, that no run was tested on.

    Args:
        task: what they are of.
        protocol: says which lengths, and how many strings.
        seed: another one, other strings.
    """
    return _tests(task, protocol, ("fresh", seed))


def _tests(task: Task, protocol: Protocol, key: Sequence[object]) -> CellSet:
    if protocol.test.tokens is not None:
        return _draw_window(task, key, task.splits.test, protocol.test.tokens)
    lengths = spread(split_lengths(task, "test"), protocol.test.lengths)
    return _draw(task, key, lengths, protocol.test.strings)


def validation_set(task: Task, protocol: Protocol) -> CellSet:
    """Return the in-distribution strings by which checkpoints are selected."""
    if protocol.validation.tokens is not None:
        return _draw_window(task, ("validation",), task.splits.train, protocol.validation.tokens)
    lengths = spread(split_lengths(task, "train"), protocol.validation.lengths)
    return _draw(task, ("validation",), lengths, protocol.validation.strings)


def watch_set(task: Task, watch: Watch) -> CellSet:
    """Return the strings that a run is watched on.

    Raises:
        RequestError: if there are none at one of the lengths.
    """
    for length in watch.lengths:
        if not task.lengths(length, length):
            raise RequestError(f"task {task.name} has no strings of length {length} (watch)")
    return _draw(task, ("watch",), watch.lengths, watch.strings)


def _draw(task: Task, key: Sequence[object], lengths: Sequence[int], count: int) -> CellSet:
    cells = []
    for length in lengths:
        strings, targets = task.sample(task.stream(*key, length, count), length, count)
        cells.append(Cell(length, _small(strings), _small(targets)))
    return CellSet(tuple(cells))


def _draw_window(
    task: Task, key: Sequence[object], window: tuple[int, int], tokens: int
) -> CellSet:
    """Draw a window: the strings of each length in the order in which they were drawn."""
    first, last = window
    stream = task.stream(*key, "window", first, last, tokens)
    # The process counts END.
    symbols_T, lengths_B = task.objective.sample_corpus(
        task.language, stream, (first + 1, last + 1), tokens
    )
    starts_B = np.cumsum(lengths_B) - lengths_B
    cells = []
    for length in np.unique(lengths_B).tolist():
        starts_C1 = starts_B[lengths_B == length][:, None]
        strings = symbols_T[starts_C1 + np.arange(length)]
        targets = task.objective.targets(task.language, strings)
        cells.append(Cell(length, _small(strings), _small(targets)))
    return CellSet(tuple(cells), window)


def _small(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return integers in the smallest type that holds them: every length of a task fits."""
    if array.dtype.kind not in "iu" or array.size == 0:
        return array
    kinds = (np.min_scalar_type(int(array.min())), np.min_scalar_type(int(array.max())))
    return array.astype(np.result_type(*kinds))
