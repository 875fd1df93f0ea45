"""The files of a data set, read into tables of ids.

Strings of a length are adjacent, and are found by binary search.

Every error is a `RequestError` of one line that names the file and the line in it.

Legend: L lengths, B strings (of a length, or in all) or strings in all, N symbols of each or
symbols of a string, T symbols in all.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from reprlib import repr as show
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt
from formalbench.contracts.errors import RequestError
from formalbench.contracts.source import Labels, Mask, Symbols
from formalbench.files import read_plain
from formalbench.host.plugin import MAX_BYTES, data_hash

from formalbench_tasks.datasets.description import Description, FilePart
from formalbench_tasks.limits import LONGEST_SPLIT

Ints = npt.NDArray[Any]
"""In the smallest unsigned type that holds them."""


class SameLength(NamedTuple):
    """The strings of one length: (B, N) symbols, (B,) labels, (B,) the part that each is of."""

    symbols: Ints
    labels: Ints
    parts: Ints


@dataclass(frozen=True)
class StringTable:
    """All strings of a data set.

    Attributes:
        alphabet: the symbols.
        classes: the labels, as they are written.
        groups: the names of the test's parts; parts are numbered 0 for training, 1 for validation
            and from 2 on these.
        shared: how many strings of the test are in training.
        lengths: (L,) shortest first.
        counts: (L,) how many strings each length has.
        symbols: (T,)
        labels, parts: (B,)
    """

    alphabet: tuple[str, ...]
    classes: tuple[str, ...]
    groups: tuple[str, ...]
    shared: int
    lengths: Labels
    counts: Labels
    symbols: Ints
    labels: Ints
    parts: Ints

    def block(self, length: int) -> SameLength:
        """Return the strings of a length; none if there are none."""
        place = self._places.get(length)
        if place is None:
            return SameLength(self.symbols[:0].reshape(0, length), self.labels[:0], self.parts[:0])
        row, symbol, count = place
        rows = slice(row, row + count)
        symbols_BN = self.symbols[symbol : symbol + count * length].reshape(count, length)
        return SameLength(symbols_BN, self.labels[rows], self.parts[rows])

    def find(self, strings_BN: Symbols) -> tuple[Labels, Mask]:
        """Return where strings of one length stand in its block, and whether they do at all."""
        block = self.block(strings_BN.shape[1])
        if not len(block.symbols):
            return np.zeros(len(strings_BN), np.int64), np.zeros(len(strings_BN), np.bool_)
        keys_B = as_keys(strings_BN.astype(self.symbols.dtype))
        rows_B = np.searchsorted(as_keys(block.symbols), keys_B)
        rows_B = np.minimum(rows_B, len(block.symbols) - 1)
        found_B: Mask = (block.symbols[rows_B] == strings_BN).all(axis=1)
        return rows_B, found_B

    def pack(self) -> bytes:
        """Return it as a file holds it."""
        names = [self.alphabet, self.classes, self.groups, self.shared]
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        file = io.BytesIO()
        np.savez(file, names=np.frombuffer(json.dumps(names).encode(), np.uint8), **arrays)
        return file.getvalue()

    @staticmethod
    def unpack(contents: bytes) -> StringTable | None:
        """Return what a file holds; None if this version of a library cannot read it."""
        try:
            with np.load(io.BytesIO(contents), allow_pickle=False) as data:
                arrays = {name: data[name] for name in _ARRAYS}
                alphabet, classes, groups, shared = json.loads(data["names"].tobytes())
        except (ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None
        return StringTable(tuple(alphabet), tuple(classes), tuple(groups), shared, **arrays)

    @cached_property
    def _places(self) -> dict[int, tuple[int, int, int]]:
        """Where each length begins among the strings and among their symbols, and its strings."""
        rows = np.cumsum(self.counts) - self.counts
        sizes = self.counts * self.lengths
        starts = np.cumsum(sizes) - sizes
        every = zip(rows.tolist(), starts.tolist(), self.counts.tolist(), strict=True)
        return dict(zip(self.lengths.tolist(), every, strict=True))


_ARRAYS = ("lengths", "counts", "symbols", "labels", "parts")


def as_keys(symbols_BN: Ints) -> npt.NDArray[np.void]:
    """Return strings as values that can be sorted and searched, (B,)."""
    count, length = symbols_BN.shape
    if length == 0:
        symbols_BN = np.zeros((count, 1), symbols_BN.dtype)
    rows = np.ascontiguousarray(symbols_BN)
    return rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1])))[:, 0]


MOST_SYMBOLS = 10_000
"""Maximum size of the alphabet."""

MOST_CLASSES = 1_000

MOST_ANSWERS = 1_000_000

_AT_ONCE = 1 << 16
"""Strings that are moved at once."""

_WHOLE = re.compile(r"-?[0-9]{1,18}")


class Names(dict[str, int]):
    """Numbers for names, from 0 in the order in which they come."""

    def __missing__(self, name: str) -> int:
        self[name] = len(self)
        return self[name]


@dataclass
class _StringsRead:
    """What was read so far: symbols and labels by number, and where each string comes from."""

    symbols: array[int] = field(default_factory=lambda: array("I"))
    lengths: array[int] = field(default_factory=lambda: array("L"))
    labels: array[int] = field(default_factory=lambda: array("L"))
    starts: list[int] = field(default_factory=list)

    def take(self, place: tuple[Path, int], words: Sequence[str], symbols: dict[str, int]) -> None:
        """Take a string, whose symbols must be known, or are numbered as they come."""
        start = len(self.symbols)
        try:
            self.symbols.extend(map(symbols.__getitem__, words))
        except KeyError as error:
            _refuse(place, f"unknown symbol {show(error.args[0])} (name all in 'alphabet')")
        if len(symbols) > MOST_SYMBOLS:
            _refuse(place, f"more than {MOST_SYMBOLS} different symbols")
        length = len(self.symbols) - start
        if length > LONGEST_SPLIT:
            _refuse(place, f"a string of more than {LONGEST_SPLIT} symbols")
        self.lengths.append(length)


def read_table(described: Description) -> StringTable:
    """Read all files of a data set.

    Raises:
        RequestError: one line that says what is wrong, and where.
    """
    # Of names that are given an unknown one is a KeyError. Else those of the training strings are
    # taken as they come, and then no others.
    symbols = _numbers(described.file.alphabet)
    classes = _numbers(described.file.classes)
    read = _StringsRead()
    for part in described.parts:
        read.starts.append(len(read.lengths))
        _read_part(part, described, symbols, classes, read)
        symbols = dict(symbols)
        classes = classes if described.file.function else dict(classes)
        for names, file in ((symbols, part.strings), (classes, part.labels or part.strings)):
            if hidden := [name for name in names if not name.isprintable()]:
                _refuse(file, f"{show(hidden[0])} cannot be printed")
        if len(classes) < 2 and not described.file.function:
            _refuse(part.labels or part.strings, f"only one label: {show(next(iter(classes)))}")
    if data_hash(described.path) != described.digest:
        raise RequestError(f"{described.path}: its data changed while it was read: start again")
    return _table(described, read, symbols, classes)


def lines_of(path: Path) -> Iterator[str]:
    """Return the lines of a file of UTF-8 text, without their ends.

    Raises:
        RequestError: if it is no plain file, too large, or not UTF-8.
    """
    contents = read_plain(path, MAX_BYTES, "a file of strings or labels")
    try:
        for line in io.TextIOWrapper(io.BytesIO(contents), "utf-8-sig", newline="\n"):
            yield line.rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise RequestError(f"{path}: not UTF-8: {error.reason}") from None


def words_of(line: str, separated: bool) -> Sequence[str]:
    """Return the symbols of a line."""
    return line.split() if separated else line.strip()


def _numbers(names: tuple[str, ...] | None) -> dict[str, int]:
    if names is None:
        return Names()
    return {name: number for number, name in enumerate(names)}


def _read_part(
    part: FilePart,
    described: Description,
    symbols: dict[str, int],
    classes: dict[str, int],
    read: _StringsRead,
) -> None:
    before = len(read.lengths)
    labels: Iterable[str] = () if part.labels is None else lines_of(part.labels)
    for number, line in enumerate(lines_of(part.strings), start=1):
        place, text = (part.strings, number), line
        if part.labels is None:
            text, tab, label = line.rpartition("\t")
            if not tab:
                _refuse(place, "no tab and label behind the string")
            read.labels.append(_label(place, label, classes, described.file.function))
        read.take(place, words_of(text, described.file.separated), symbols)
    for number, line in enumerate(labels, start=1):
        assert part.labels is not None
        read.labels.append(_label((part.labels, number), line, classes, described.file.function))
    strings, labelled = len(read.lengths) - before, len(read.labels) - before
    if not strings:
        _refuse(part.strings, "no string in it")
    if strings != labelled:
        assert part.labels is not None  # else each line has both
        what = "answers" if described.file.function else "labels"
        longer = part.strings if strings > labelled else part.labels
        alone = f"{longer}:{min(strings, labelled) + 1} has no partner"
        _refuse(part.labels, f"{labelled:,} {what} for {strings:,} strings: {alone}")


def written(line: str) -> str:
    """Return a line's label or answer with normalised spaces."""
    return " ".join(line.split())


def _label(place: tuple[Path, int], line: str, classes: dict[str, int], function: bool) -> int:
    label = written(line)
    if not label and not function:
        _refuse(place, "no label")
    try:
        number = classes[label]
    except KeyError:
        known = ", ".join(map(show, sorted(classes)[:8]))
        _refuse(place, f"unknown label {show(label)}; known: {known} (name all in 'classes')")
    most, what = (MOST_ANSWERS, "answers") if function else (MOST_CLASSES, "labels")
    if number >= most:
        _refuse(place, f"more than {most} different {what}")
    return number


def _table(
    described: Description, read: _StringsRead, symbols: dict[str, int], classes: dict[str, int]
) -> StringTable:
    """Sort what was read: by length, then by symbols."""
    alphabet, ranks_S = ordered(symbols, described.file.alphabet)
    labels, ranks_K = ordered(classes, described.file.classes)
    symbols_T = ranks_S[np.frombuffer(read.symbols, dtype=f"u{read.symbols.itemsize}")]
    labels_B = ranks_K[np.frombuffer(read.labels, dtype=f"u{read.labels.itemsize}")]
    lengths_B = np.frombuffer(read.lengths, dtype=f"u{read.lengths.itemsize}").astype(np.int64)
    starts_B = np.cumsum(lengths_B) - lengths_B
    parts_B = _parts(described, read)
    order_B = np.argsort(lengths_B, kind="stable")
    lengths_L, counts_L = np.unique(lengths_B, return_counts=True)
    sorted_T, first, shared = np.empty_like(symbols_T), 0, 0
    for length, rows_B in zip(
        lengths_L.tolist(), np.split(order_B, np.cumsum(counts_L)[:-1]), strict=True
    ):
        block_BN = _gathered(symbols_T, starts_B[rows_B], length)
        order = np.argsort(as_keys(block_BN), kind="stable")
        rows_B[:] = rows_B[order]  # a view: `order_B` itself
        sorted_T[first : first + block_BN.size] = block_BN[order].reshape(-1)
        first += block_BN.size
        same_B = (block_BN[order][1:] == block_BN[order][:-1]).all(axis=1)
        _check_labels(described, read, rows_B, labels_B[rows_B], same_B)
        shared += _shared(parts_B[rows_B], same_B)
    return StringTable(
        alphabet=alphabet,
        classes=labels,
        groups=tuple(part.group for part in described.parts[2:]),
        shared=shared,
        lengths=lengths_L,
        counts=counts_L,
        symbols=sorted_T,
        labels=labels_B[order_B],
        parts=parts_B[order_B],
    )


def _parts(described: Description, read: _StringsRead) -> Ints:
    """Return the number of the part that each string is of, (B,)."""
    ends = [*read.starts[1:], len(read.lengths)]
    sizes = [end - start for start, end in zip(read.starts, ends, strict=True)]
    return np.repeat(np.arange(len(described.parts), dtype=np.uint8), sizes)


def ordered(
    numbers: dict[str, int], given: tuple[str, ...] | None = None
) -> tuple[tuple[str, ...], Ints]:
    """Return names in their order, and the place of each by its number."""
    names = given or tuple(sorted(numbers, key=_in_order))
    ranks = np.zeros(len(names), dtype=np.min_scalar_type(len(names)))
    for place, name in enumerate(names):
        ranks[numbers[name]] = place
    return names, ranks


def _in_order(name: str) -> tuple[bool, int, str]:
    """Return what names are sorted by: numbers before words."""
    whole = bool(_WHOLE.fullmatch(name))
    return not whole, int(name) if whole else 0, name


def _gathered(symbols_T: Ints, starts_B: Labels, length: int) -> Ints:
    """Return strings of one length, (B, N)."""
    block_BN = np.empty((len(starts_B), length), symbols_T.dtype)
    for first in range(0, len(starts_B), _AT_ONCE):
        some = starts_B[first : first + _AT_ONCE]
        block_BN[first : first + _AT_ONCE] = symbols_T[some[:, None] + np.arange(length)]
    return block_BN


def _shared(parts_B: Ints, same_B: Ints) -> int:
    """Count the strings of the test that are in training, among sorted ones."""
    strings_B = np.concatenate([[0], np.cumsum(~same_B)])
    trained = np.unique(strings_B[parts_B == 0])
    return int(np.isin(strings_B[parts_B > 1], trained).sum())


def _check_labels(
    described: Description, read: _StringsRead, rows_B: Labels, labels_B: Ints, same_B: Ints
) -> None:
    """Check that no string has two labels."""
    bad = np.flatnonzero(same_B & (labels_B[1:] != labels_B[:-1]))
    if len(bad):
        one, other = (_place(described, read, int(rows_B[bad[0] + at])) for at in (0, 1))
        what = "answer" if described.file.function else "label"
        _refuse(other, f"the same string as in {one[0]}:{one[1]}, with another {what}")


def _place(described: Description, read: _StringsRead, row: int) -> tuple[Path, int]:
    part = max(at for at, start in enumerate(read.starts) if start <= row)
    return described.parts[part].strings, row - read.starts[part] + 1


def _refuse(place: Path | tuple[Path, int], text: str) -> NoReturn:
    where = f"{place[0]}:{place[1]}" if isinstance(place, tuple) else str(place)
    raise RequestError(f"{where}: {text}")
