"""All strings of a data set, in one flat array, in the order of their lengths and then of symbols.

So the strings of a length stand together and are found by halving, whatever their number.

Legend: L lengths, B strings (of a length, or in all), N symbols of each, T symbols in all.
"""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from formalbench.contracts.source import Labels, Mask, Symbols

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
        rows_B = np.searchsorted(as_keys(block.symbols), self._keys(strings_BN))
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

    def _keys(self, strings_BN: Symbols) -> npt.NDArray[np.void]:
        return as_keys(strings_BN.astype(self.symbols.dtype))

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
