"""Counting the strings that lead to a class, and drawing them uniformly.

The number of strings of length t that lead from a state to a class grows like S^t.
It is kept as a mantissa and a power of two of its own for every state, so nothing
over- or underflows at any length. Only +, ×, ÷ and exact scaling by powers of two are
used, in a fixed order: the drawn symbols are the same on every machine.

Counts of long strings are not kept, but counted again from every few thousandth: drawing
takes about as much memory as its strings and 100 MiB, and time in proportion to the
length (a minute at 1,000,000).

The tests have the slow counterpart in big integers.

Legend: B strings, N positions, S symbols, T lengths, R rows. A row is a pair
(class, state): row c·Q + q counts the strings that lead from state q to class c.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt
from formalbench.contracts.source import Labels, Stream, Symbols

from formalbench_tasks.limits import check_length

Ints = npt.NDArray[np.int64]

Floats = npt.NDArray[np.float64]

FEW = 32
"""Maximum number of strings for which plain Python is faster than numpy."""

_NONE = -(1 << 40)  # exponent of a zero count, below all others

_LEAST = -1000  # smaller shares are raised to 2^-1000, which is never drawn and not subnormal

_POWERS = np.ldexp(1.0, [0, *range(_LEAST, 0)])  # of two, by exponent: -1 is the last

BLOCK = 1 << 20  # numbers held at once in a table of thresholds

_KEPT = 1 << 16  # maximum numbers of a table that is kept

_AT_ONCE = 1 << 16  # uniform numbers drawn at once

_STRETCH = 4096  # lengths whose counts are held at once, unless there are many rows

_LARGE = 1 << 12  # from this many transitions on, a few strings do not need all of them

Row = tuple[Floats, Ints]
"""The counts at one length, (R,): mantissas and exponents."""

Choose = Callable[[Ints, Floats], Ints]
"""Returns a symbol for each row and uniform number, (B,)."""


class Paths:
    """Path counts of one automaton, extended when longer strings are needed.

    Args:
        transitions_QS: (Q, S) the state reached from each state by each symbol.
        classes_Q: (Q,) the class of each state.
        start: the state of the empty string.
        stretch: lengths whose counts are kept at a time; None for a number that fits memory.
        weights_S: how often each symbol counts, whole numbers: a string counts as
            often as the product of its symbols' says. None for once.
    """

    def __init__(
        self,
        transitions_QS: Ints,
        classes_Q: Ints,
        start: int,
        stretch: int | None = None,
        weights_S: Ints | None = None,
    ) -> None:
        self._weights_S1 = None if weights_S is None else weights_S[:, None].astype(np.float64)
        self._states, self._symbols = transitions_QS.shape
        self.num_classes = max(2, int(classes_Q.max()) + 1)  # a language may be empty
        offsets_C = np.arange(self.num_classes, dtype=np.int64) * self._states
        rows = offsets_C[:, None, None] + transitions_QS[None]
        self._next_SR = np.ascontiguousarray(rows.reshape(-1, self._symbols).T)
        self._start_C = offsets_C + start
        self._thresholds: Floats = np.empty((0, self._symbols - 1, self._next_SR.shape[1]))
        self._plain_TRS: list[list[list[float]]] = []
        ends_CQ = classes_Q[None, :] == np.arange(self.num_classes)[:, None]
        ends_R = ends_CQ.reshape(-1)
        # A count is mantissa · 2^exponent with a mantissa in [1/2, 1), or zero.
        empty: Row = (np.where(ends_R, 0.5, 0.0), np.where(ends_R, 1, _NONE))
        stretch = stretch or max(512, min(_STRETCH, BLOCK // len(ends_R)))
        self._counts = Counts(empty, self._longer, stretch)

    def has_class(self, length: int, label: int) -> bool:
        """Return whether any string of this length has this class."""
        if length < 0 or not 0 <= label < self.num_classes:
            return False
        return bool(self._counts.at(length)[0][self._start_C[label]] > 0)

    def distribution(self, length: int, classes: Sequence[int]) -> tuple[float, ...]:
        """Return the share of each of these classes among the strings of one of them."""
        mantissas, exponents = self._counts.at(length)
        rows_C = self._start_C[list(classes)]
        mantissa_C, exponent_C = mantissas[rows_C], exponents[rows_C]
        shares = _scale(mantissa_C, exponent_C - exponent_C.max()).tolist()
        total = sum(shares)
        return tuple(share / total for share in shares)

    def shares(self, length: int, label: int) -> Floats:
        """Return how the strings of this length and class divide by the state they start in, (Q,).

        Of all strings that lead from some state to the class, counted once for each such state.
        """
        mantissas, exponents = self._counts.at(length)
        rows_Q = np.arange(label * self._states, (label + 1) * self._states)
        return _scale(mantissas[rows_Q], exponents[rows_Q] - exponents[rows_Q].max())

    def sample(
        self, stream: Stream, length: int, classes_B: Labels, starts_B: Ints | None = None
    ) -> Symbols:
        """Draw strings, each uniformly among those of its length and class.

        Args:
            stream: where every number comes from: one per symbol, position by position.
            length: N.
            classes_B: (B,) the class of each string; the length must have it.
            starts_B: (B,) the state to start each string from, from which its class must be
                reachable in `length` symbols; None for the start.

        Returns:
            (B, N) symbol ids.

        Raises:
            ValueError: if the length does not have a class.
            RequestError: if the strings would be too long.
        """
        for label in np.unique(classes_B).tolist() if starts_B is None else ():
            if not self.has_class(length, label):
                raise ValueError(f"no string of length {length} has class {label}")
        rows_B = self._start_C[classes_B]
        if starts_B is not None:
            rows_B = classes_B * self._states + starts_B
        if len(classes_B) <= FEW and self._cacheable(length):
            return self._sample_few(stream, length, rows_B)
        strings_NB = np.empty((length, len(classes_B)), dtype=np.int64)
        uniforms_NB = _uniforms(stream, length, len(classes_B))
        few = len(rows_B) < self._next_SR.shape[1] and self._next_SR.size > _LARGE
        choices = self._choices_by_string(length) if few else self._choices(length)
        for symbols_B, choose, uniform_B in zip(strings_NB, choices, uniforms_NB, strict=True):
            symbols_B[:] = choose(rows_B, uniform_B)
            rows_B = self._next_SR[symbols_B, rows_B]
        return np.ascontiguousarray(strings_NB.T)

    def _choices(self, length: int) -> Iterator[Choose]:
        """Yield how a symbol is chosen, position by position, by a table of all thresholds."""
        block = max(1, BLOCK // self._next_SR.size)
        for longest in range(length, 0, -block):
            shortest = max(longest - block, 0) + 1
            for thresholds_SR in self._table(shortest, longest)[::-1]:
                yield partial(_choose, thresholds_SR)

    def _choices_by_string(self, length: int) -> Iterator[Choose]:
        """Yield the same choices, worked out for the rows that strings are in."""
        for remaining in range(length - 1, -1, -1):
            yield partial(self._choose_by_string, self._counts.at(remaining))

    def _choose_by_string(self, row: Row, rows_B: Ints, uniform_B: Floats) -> Ints:
        counts_SB, _ = _branches(*row, self._next_SR[:, rows_B], self._weights_S1)
        chosen_B: Ints = (uniform_B >= _cumulative(counts_SB)).sum(axis=0)
        return chosen_B

    def _sample_few(self, stream: Stream, length: int, rows_B: Ints) -> Symbols:
        """Draw the same strings as `sample`, one by one, which is faster for a few."""
        table, next_RS = self._plain(length), self._plain_next
        uniforms_BN = stream.uniform((length, len(rows_B))).T.tolist()
        strings = []
        for row, uniforms in zip(rows_B.tolist(), uniforms_BN, strict=True):
            symbols = []
            for thresholds_RS, uniform in zip(table, uniforms, strict=True):
                symbol = bisect_right(thresholds_RS[row], uniform)
                symbols.append(symbol)
                row = next_RS[row][symbol]
            strings.append(symbols)
        return np.array(strings, dtype=np.int64).reshape(len(rows_B), length)

    def _cacheable(self, length: int) -> bool:
        return length * self._next_SR.size <= _KEPT

    def _table(self, shortest: int, longest: int) -> Floats:
        """Return the same as `thresholds`; a small table is kept for the next strings."""
        if not self._cacheable(longest):
            return self.thresholds(shortest, longest)
        if len(self._thresholds) < longest:
            self._thresholds = self.thresholds(1, longest)
        return self._thresholds[shortest - 1 : longest]

    def _plain(self, length: int) -> list[list[list[float]]]:
        """Return the thresholds of each row as plain numbers, first position first."""
        if len(self._plain_TRS) < length:
            self._plain_TRS = self._table(1, length).transpose(0, 2, 1).tolist()
        return self._plain_TRS[:length][::-1]

    @cached_property
    def _plain_next(self) -> list[list[int]]:
        """The transitions as plain numbers, by row and symbol."""
        rows: list[list[int]] = self._next_SR.T.tolist()
        return rows

    def thresholds(self, shortest: int, longest: int) -> Floats:
        """Return the cumulative branch probabilities, (T, S-1, R).

        Entry [t, s, r] is the probability that the next symbol is one of 0 … s
        when `shortest` + t symbols are still to come; 0 where no string does it.
        """
        rows = [self._counts.at(length) for length in range(shortest - 1, longest)]
        counts_TSR, _ = _branches(
            np.stack([mantissas for mantissas, _ in rows]),
            np.stack([exponents for _, exponents in rows]),
            self._next_SR,
            self._weights_S1,
        )
        return _cumulative(counts_TSR)

    def _longer(self, row: Row) -> Row:
        """Return the counts of strings that are longer by one symbol."""
        counts_SR, top_R = _branches(*row, self._next_SR, self._weights_S1)
        total_R = counts_SR[0]
        for symbol in range(1, self._symbols):
            total_R = total_R + counts_SR[symbol]
        mantissa_R, shift_R = np.frexp(total_R)
        return mantissa_R, np.where(mantissa_R > 0, top_R + shift_R, _NONE)


class Counts:
    """The counts at every length, computed on demand.

    Lengths are cut into stretches. The first row of each is kept, and all rows of the last used
    stretch.

    Args:
        empty: the row of the empty string.
        longer: computes the next length's row from a row.
        stretch: lengths per stretch.
    """

    def __init__(self, empty: Row, longer: Callable[[Row], Row], stretch: int) -> None:
        self._longer = longer
        self._stretch = stretch
        self._firsts = [empty]
        self._current, self._rows = 0, [empty]

    def at(self, length: int) -> Row:
        """Return the counts of the strings of this length.

        Raises:
            RequestError: if they are too long.
        """
        check_length(length)
        number, offset = divmod(length, self._stretch)
        while len(self._firsts) <= number:
            last = self._row(len(self._firsts) - 1, self._stretch - 1)
            self._firsts.append(self._longer(last))
        return self._row(number, offset)

    def _row(self, number: int, offset: int) -> Row:
        if number != self._current:
            self._current, self._rows = number, [self._firsts[number]]
        while len(self._rows) <= offset:
            self._rows.append(self._longer(self._rows[-1]))
        return self._rows[offset]


def _branches(
    mantissas: Floats, exponents: Ints, next_SR: Ints, weights_S1: Floats | None
) -> tuple[Floats, Ints]:
    """Return the counts (…, S, R) after each symbol, and the exponents (…, R) they share."""
    exponents_SR = exponents.take(next_SR, axis=-1)
    top_R = exponents_SR.max(axis=-2)
    counts = _scale(mantissas.take(next_SR, axis=-1), exponents_SR - top_R[..., None, :])
    return counts if weights_S1 is None else counts * weights_S1, top_R


def _cumulative(counts_SR: Floats) -> Floats:
    """Return the cumulative shares (…, S-1, R) of counts (…, S, R), summed up symbol by symbol."""
    sums_SR = np.add.accumulate(counts_SR, axis=-2)
    total_1R = sums_SR[..., -1:, :]
    # A zero total has only zeros above it: dividing by 1 keeps them.
    shares: Floats = sums_SR[..., :-1, :] / np.where(total_1R > 0, total_1R, 1.0)
    return shares


def _scale(mantissas: Floats, exponents: Ints) -> Floats:
    """Multiply by powers of two, exactly; no exponent is above 0."""
    scaled: Floats = mantissas * _POWERS.take(np.maximum(exponents, _LEAST))
    return scaled


def _uniforms(stream: Stream, length: int, count: int) -> Iterator[Floats]:
    """Yield a uniform number per string for each position; drawn for some positions at a time."""
    some = max(1, _AT_ONCE // max(count, 1))
    for first in range(0, length, some):
        yield from stream.uniform((min(some, length - first), count))


def _choose(thresholds_SR: Floats, rows_B: Ints, uniform_B: Floats) -> Ints:
    """Choose one symbol per string: the number of thresholds that a uniform number reaches.

    A branch of probability 0 has no room between its thresholds, so it is never taken.
    """
    symbols_B = np.zeros(len(rows_B), dtype=np.int64)
    for threshold_R in thresholds_SR:
        symbols_B += uniform_B >= threshold_R.take(rows_B)
    return symbols_B
