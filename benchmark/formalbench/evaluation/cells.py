"""The strings of tests, validation and learning curves, and their cache."""

from __future__ import annotations

import hashlib
import io
import json
import math
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from formalbench import __version__
from formalbench.cache import code_digest, place_of, read_sealed, write_sealed
from formalbench.contracts.errors import RequestError
from formalbench.contracts.network import Example
from formalbench.contracts.protocol import Protocol, Watch
from formalbench.contracts.source import HasFixedStrings, HasProcess, Symbols
from formalbench.contracts.task import Task

MAX_CELLS = 500
"""Maximum cells of fixed strings for each part of a test."""


@dataclass(frozen=True)
class Cell:
    """Strings that are scored together.

    Attributes:
        first, last: the smallest and the largest length; equal, unless the cell is a window.
        examples: the strings and their answers, in the smallest sufficient integer type: one or
            more examples of strings with equal length, or padded strings.
        group: the name of its part of the test; empty if the test has no named parts.
    """

    first: int
    last: int
    examples: tuple[Example, ...]
    group: str = ""

    @property
    def strings(self) -> int:
        """The number of strings."""
        return sum(len(example.inputs) for example in self.examples)

    @property
    def lengths(self) -> list[int]:
        """The length of the strings; for a window, the length of each string."""
        if self.first == self.last:
            return [self.first]
        return [length for example in self.examples for length in _string_lengths(example)]


@dataclass(frozen=True)
class TestSet:
    """The cells of a test, shortest first."""

    __test__: ClassVar[bool] = False  # pytest takes it for a test by its name
    cells: tuple[Cell, ...]

    @property
    def lengths(self) -> list[int]:
        """The lengths that a chance level averages over: one per cell, all for a window."""
        return [length for cell in self.cells for length in cell.lengths]

    def chances(self, task: Task) -> tuple[float, ...]:
        """Return the accuracy, in each cell, of the best answer that depends only on the length."""
        levels = iter(task.chance(self.lengths).by_length)
        by_cell = (list(islice(levels, len(cell.lengths))) for cell in self.cells)
        return tuple(math.fsum(each) / len(each) for each in by_cell)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of every length, string and target: little-endian 64-bit integers."""
        digest = hashlib.sha256()
        for example in (example for cell in self.cells for example in cell.examples):
            shape = (example.length, *example.targets.shape)
            for part in (shape, example.inputs, example.targets):
                digest.update(np.ascontiguousarray(part, dtype="<i8").tobytes())
            for name in ("scored", "lengths", "decoded"):
                part = getattr(example, name)
                if part is not None:
                    digest.update(name.encode())
                    digest.update(np.ascontiguousarray(part, dtype="<i8").tobytes())
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
    # Integer arithmetic, rounding half up, so that lengths do not depend on float rounding.
    return [available[(2 * index * last + steps) // (2 * steps)] for index in range(steps + 1)]


def split_lengths(task: Task, split: str) -> list[int]:
    """Return the lengths of the ``train`` or ``test`` split for which strings exist.

    Raises:
        RequestError: if there are none.
    """
    first, last = task.splits.train if split == "train" else task.splits.test
    task = task.of("train" if split == "train" else "test")
    lengths = [n for n in task.lengths(first, last) if (n - first) % task.splits.step == 0]
    if not lengths:
        raise RequestError(f"task {task.name} has no strings of length {first} to {last} ({split})")
    return lengths


def check_process(task: Task, protocol: Protocol) -> None:
    """Refuse a protocol that uses strings from a generating process, if the task has none."""
    has_process = isinstance(task.source, HasProcess) and HasProcess in task.objective.needs
    needed = protocol.draws_by_process if has_fixed_test(task) else protocol.needs_process
    if needed and not has_process:
        raise RequestError(
            f"protocol {protocol.name} needs a task with its own string process, and "
            f"{task.name} has none: use one that ends in :generate, such as dyck-2-3:generate"
        )


def check_lengths(
    model: str, lengths: tuple[int, int | None], task: Task, protocol: Protocol
) -> None:
    """Refuse to train a network that does not support the string lengths of a protocol."""
    windowed = is_window(task, protocol)
    tested = [task.splits.test[1]] if windowed else cell_lengths(task, protocol)
    for what, longest in (("tests", max(tested)), ("trains", split_lengths(task, "train")[-1])):
        if lengths[1] is not None and longest > lengths[1]:
            raise RequestError(
                f"model {model} supports strings of at most {lengths[1]} symbols, and "
                f"{task.name} {what} at {longest} (`formalbench show model {model.split('[')[0]}`)"
            )


def test_set(task: Task, protocol: Protocol) -> TestSet:
    """Return the test set, a function of the task, its version and parameters, and the cells."""
    return _tests(task, protocol, ("test",))


def fresh_set(task: Task, protocol: Protocol, seed: int) -> TestSet:
    """Return a new test set with the same lengths and numbers of strings as the original.

    Raises:
        RequestError: if the task has a fixed set of strings.
    """
    if has_fixed_test(task):
        raise RequestError(f"task {task.name} has only test strings")
    return _tests(task, protocol, ("fresh", seed))


def _tests(task: Task, protocol: Protocol, key: Sequence[object]) -> TestSet:
    task, tokens = task.of("test"), protocol.test.tokens
    if isinstance(task.source, HasFixedStrings):
        return _fixed(task, task.source, cell_lengths(task, protocol), tokens=tokens)
    if tokens is not None:
        return _draw_window(task, key, task.splits.test, tokens)
    return _draw(task, key, cell_lengths(task, protocol), protocol.test.strings)


def is_window(task: Task, protocol: Protocol) -> bool:
    """Return whether the test is one cell of strings from the task's generating process."""
    return protocol.test.tokens is not None and not has_fixed_test(task)


def has_fixed_test(task: Task) -> bool:
    """Return whether a task has a fixed set of test strings, instead of sampled ones."""
    return isinstance(task.of("test").source, HasFixedStrings)


def cell_lengths(task: Task, protocol: Protocol) -> list[int]:
    """Return the lengths of a protocol's test cells; for fixed strings, all available lengths.

    Raises:
        RequestError: if a length of the protocol has no strings, or no length has any.
    """
    task = task.of("test")
    lengths = protocol.test.lengths
    if not isinstance(lengths, tuple):
        is_fixed = isinstance(task.source, HasFixedStrings)
        return spread(split_lengths(task, "test"), "all" if is_fixed else lengths)
    if missing := [length for length in lengths if not task.lengths(length, length)]:
        text = ", ".join(map(str, missing))
        raise RequestError(f"task {task.name} has no strings of length {text} (test.lengths)")
    return list(lengths)


def validation_set(task: Task, protocol: Protocol) -> TestSet:
    """Return the in-distribution strings that select checkpoints."""
    task = task.of("validation")
    if protocol.validation.tokens is not None:
        return _draw_window(task, ("validation",), task.splits.train, protocol.validation.tokens)
    if isinstance(task.source, HasFixedStrings):
        lengths = split_lengths(task, "train")
        return _fixed(task, task.source, lengths, protocol.validation.strings)
    lengths = spread(split_lengths(task, "train"), protocol.validation.lengths)
    return _draw(task, ("validation",), lengths, protocol.validation.strings)


def train_set(task: Task, protocol: Protocol) -> TestSet:
    """Return strings of the training split, per length as many as the validation set has.

    If the strings are fixed, all are returned.
    """
    task = task.of("train")
    lengths = split_lengths(task, "train")
    if isinstance(task.source, HasFixedStrings):
        return _fixed(task, task.source, lengths)
    return _draw(task, ("training strings",), lengths, protocol.validation.strings)


def watch_set(task: Task, watch: Watch) -> TestSet:
    """Return the strings of a run's learning curves."""
    task = task.of("test")
    for length in watch.lengths:
        if not task.lengths(length, length):
            raise RequestError(f"task {task.name} has no strings of length {length} (watch)")
    return _draw(task, ("watch",), watch.lengths, watch.strings)


def _draw(task: Task, key: Sequence[object], lengths: Sequence[int], count: int) -> TestSet:
    cells = []
    for length in lengths:
        example = task.sample(task.stream(*key, length, count), length, count)
        cells.append(Cell(length, length, (example.map(_small),)))
    return TestSet(tuple(cells))


def _fixed(
    task: Task,
    source: HasFixedStrings,
    lengths: Sequence[int],
    most: int | None = None,
    *,
    tokens: int | None = None,
) -> TestSet:
    """Return the distinct strings of a source; at most `most` per group and length, if given.

    If a group has very many lengths, a cell combines several, so that records stay small. If the
    strings of a group are tested together, one cell has all, and `most` applies to the group. With
    `tokens`, `most` is the number of strings with about this many tokens, at the longest length or
    for strings that are tested together in total.
    """
    cells = []
    for group in source.groups:
        pairs = [(n, strings) for n in lengths if len(strings := source.fixed(n, group))]
        if tokens is not None and pairs:
            most = _within(pairs, tokens, together=source.together)
        size = -(-len(pairs) // MAX_CELLS)
        if source.together:
            size = len(pairs)
            pairs = _few_of_all(pairs, most)
        for start in range(0, len(pairs), max(size, 1)):
            part = pairs[start : start + size]
            examples = (task.examples(_few(strings, most)).map(_small) for _, strings in part)
            cells.append(Cell(part[0][0], part[-1][0], tuple(examples), group))
    return TestSet(tuple(sorted(cells, key=lambda cell: (cell.last, cell.first, cell.group))))


def _within(pairs: Sequence[tuple[int, Symbols]], tokens: int, *, together: bool) -> int:
    """Return the number of strings that have about `tokens` tokens; at least 1."""
    if not together:
        return max(1, tokens // max(length for length, _ in pairs))
    total = sum(strings_BN.size for _, strings_BN in pairs)
    return max(1, sum(len(strings_BN) for _, strings_BN in pairs) * tokens // max(total, 1))


def _few(strings_BN: Symbols, most: int | None) -> Symbols:
    """Return at most `most` strings, evenly spread over all."""
    if most is None or len(strings_BN) <= most:
        return strings_BN
    return strings_BN[np.arange(most) * len(strings_BN) // most]


def _few_of_all(pairs: list[tuple[int, Symbols]], most: int | None) -> list[tuple[int, Symbols]]:
    """Return at most `most` strings over all lengths, evenly spread over all strings."""
    sizes = [len(strings_BN) for _, strings_BN in pairs]
    count = sum(sizes)
    if most is None or count <= most:
        return pairs
    chosen = np.arange(most) * count // most
    ends = np.cumsum(sizes)
    selected = (
        (length, strings_BN[chosen[(chosen >= end - size) & (chosen < end)] - (end - size)])
        for (length, strings_BN), size, end in zip(pairs, sizes, ends, strict=True)
    )
    return [(length, strings_BN) for length, strings_BN in selected if len(strings_BN)]


def _draw_window(
    task: Task, key: Sequence[object], window: tuple[int, int], tokens: int
) -> TestSet:
    """Sample a window as one cell; strings of each length are in the order of sampling."""
    stream = task.stream(*key, "window", *window, tokens)
    examples = task.sample_window(stream, window, tokens)
    return TestSet((Cell(*window, tuple(example.map(_small) for example in examples)),))


def _string_lengths(example: Example) -> Iterator[int]:
    if example.lengths is None:
        yield from [example.length] * len(example.inputs)
    else:
        yield from example.lengths.tolist()


def _small(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return integers in the smallest sufficient type, so that every length of a task fits."""
    if array.dtype.kind not in "iu" or array.size == 0:
        return array
    kinds = (np.min_scalar_type(int(array.min())), np.min_scalar_type(int(array.max())))
    return array.astype(np.result_type(*kinds))


_KNOWN = "known."


def saved_test_set(task: Task, source: object, protocol: Protocol) -> TestSet:
    """Return a test set from the cache; if it is missing, sample it and add it to the cache.

    Fixed strings are stored by the task and are not cached. `source` is further JSON data that
    identifies the task: the source of its code.
    """
    if has_fixed_test(task):
        return test_set(task, protocol)
    name = (task.name, task.version, dict(task.parameters), source)
    metrics = [metric.name for metric in task.metrics]  # test sets contain data for metrics
    code = code_digest(task, task.source, task.objective, *task.metrics)
    key = json.dumps([__version__, name, metrics, code, *_settings(task, protocol)], sort_keys=True)
    path = place_of("test-sets", key)
    contents = read_sealed(path, key)
    tests = None if contents is None else unpack_test_set(contents)
    if tests is None:
        tests = test_set(task, protocol)
        write_sealed(path, key, pack_test_set(tests))
    return tests


def _settings(task: Task, protocol: Protocol) -> list[Any]:
    """Return the parts of a protocol that determine a test set."""
    test = protocol.test
    if test.tokens is not None:
        return ["window", task.splits.test, test.tokens]
    return [cell_lengths(task, protocol), test.strings]


def unpack_test_set(contents: bytes) -> TestSet | None:
    """Return the test set in a file; None if the installed libraries cannot read it."""
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


def pack_test_set(found: TestSet) -> bytes:
    """Return a test set as arrays in NumPy's format, without pickles."""
    arrays: dict[str, Any] = {"bounds": np.array([(cell.first, cell.last) for cell in found.cells])}
    for index, cell in enumerate(found.cells):
        for place, example in enumerate(cell.examples):
            parts = {name: getattr(example, name) for name in Example._fields if name != "known"}
            parts |= {f"{_KNOWN}{name}": array for name, array in example.known.items()}
            arrays |= {f"{index}/{place}/{n}": a for n, a in parts.items() if a is not None}
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()
