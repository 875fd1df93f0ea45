"""The best automaton of at most four states without groups.

An automaton without groups (aperiodic, counter-free: no word permutes some of its states) has a
star-free language, so it counts nothing modulo anything. Of few symbols all such automata are
tried; of more, some are found by changing one transition at a time, from random ones, as long as
that helps. So it is a lower bound of what they can do. Each state answers with the class that most
training strings have that end there.

Legend: A automata, Q states, S symbols, C classes, B strings, N positions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product

import numpy as np
import numpy.typing as npt
from formalbench.contracts.source import MinimalAutomaton, Stream

Ints = npt.NDArray[np.int64]
Table = tuple[tuple[int, ...], ...]
"""The state after each state (Q) and symbol (S); the first state is that of the empty string."""

STATES = 4

MOST_TABLES = 1 << 16
"""Tables of one size, at most, that are all tried: of 4 states and 2 symbols, 3 and 3, 2 and 8."""

STARTS, TRIES = 6, 400
"""Search parameters: number of random initial automata, and tried changes of each."""

FITTED = 3000
"""Training strings that they are compared on, spread over the lengths."""

TESTED = 32
"""Number of the best automata (by training accuracy) that are tested."""


@lru_cache(maxsize=4)
def every_table(symbols: int) -> tuple[Table, ...]:
    """Return the automata without groups all of whose states are reached, as far as all are tried.

    Those that differ in the numbers of their states only are one.
    """
    sizes = [size for size in range(1, STATES + 1) if size ** (size * symbols) <= MOST_TABLES]
    return tuple(
        table
        for size in sizes
        for table in _tables(size, symbols)
        if numbered(table) and is_aperiodic(table)
    )


def _tables(size: int, symbols: int) -> Iterator[Table]:
    return product(product(range(size), repeat=symbols), repeat=size)  # type: ignore[return-value]


def numbered(table: Table) -> bool:
    """Return whether a search from the first state meets all states, in their order."""
    met = [0]
    for state in met:
        for target in table[state]:
            if target not in met:
                met.append(target)
    return met == list(range(len(table)))


def is_aperiodic(table: Table) -> bool:
    """Return whether no word permutes some states: every cycle of every word is a single state."""
    generators = list(zip(*table, strict=True))
    known, found = set(generators), list(dict.fromkeys(generators))
    for word in found:
        if not _settles(word):
            return False
        for symbol in generators:
            longer = tuple(symbol[state] for state in word)
            if longer not in known:
                known.add(longer)
                found.append(longer)
    return True


def _settles(word: tuple[int, ...]) -> bool:
    for state in range(len(word)):
        for _ in word:
            state = word[state]
        if word[state] != state:
            return False
    return True


def best_automaton(
    train: Sequence[tuple[Ints, Ints]],
    test: Sequence[tuple[Ints, Ints]],
    symbols: int,
    classes: int,
    language: MinimalAutomaton | None,
) -> float | None:
    """Return the accuracy of the best one found; None if the language itself is of one.

    Others that differ from it on a few strings are no shortcut, either.

    Args:
        train: strings (B, N) and their classes (B,), length by length.
        test: as `train`.
        symbols, classes: how many there are.
        language: its minimal automaton, if it has one.
    """
    own = () if language is None else tuple(map(tuple, language.transitions.tolist()))
    if 0 < len(own) <= STATES and is_aperiodic(own):
        return None
    every = sum(len(labels_B) for _, labels_B in train)
    step = max(1, every // FITTED)
    fitted = [(strings_BN[::step], labels_B[::step]) for strings_BN, labels_B in train]
    tables = list(every_table(symbols))
    if STATES ** (STATES * symbols) > MOST_TABLES:
        tables += _found(fitted, symbols, classes)
    by_size = [[table for table in tables if len(table) == size] for size in range(1, STATES + 1)]
    ordered = [table for group in by_size for table in group]
    shares_A = np.concatenate([_ends(group, fitted, classes)[1] for group in by_size if group])
    best = [ordered[index] for index in np.argsort(-shares_A, kind="stable")[:TESTED]]
    return max(_tested(table, train, test, classes) for table in best)


def _found(fitted: Sequence[tuple[Ints, Ints]], symbols: int, classes: int) -> list[Table]:
    """Return automata of the most states that no change of one transition is known to better."""
    stream = Stream("small automata", symbols)
    found = []
    for _ in range(STARTS):
        table = _random(stream, symbols)
        share = _ends([table], fitted, classes)[1][0]
        for _ in range(TRIES):
            state, symbol, target = (
                int(stream.integers(n, 1)[0]) for n in (STATES, symbols, STATES)
            )
            rows = [list(row) for row in table]
            rows[state][symbol] = target
            changed = tuple(map(tuple, rows))
            if changed == table or not is_aperiodic(changed):
                continue
            other = _ends([changed], fitted, classes)[1][0]
            if other >= share:
                table, share = changed, other
        found.append(table)
    return found


def _random(stream: Stream, symbols: int) -> Table:
    """Return an automaton without groups: its states are in an order that no symbol reverses."""
    columns = np.sort(stream.integers(STATES, (STATES, symbols)), axis=0)
    return tuple(map(tuple, columns.tolist()))


def _ends(
    tables: Sequence[Table], strings: Sequence[tuple[Ints, Ints]], classes: int
) -> tuple[Ints, npt.NDArray[np.float64]]:
    """Run automata of one size; return how many strings of each class end in each state, (A, Q, C).

    And the share (A,) that is right if every state answers with the class most frequent there.
    """
    moves_AF = np.array(tables, dtype=np.int64).reshape(len(tables), -1)
    size = len(tables[0])
    symbols = moves_AF.shape[1] // size
    counts_AQC = np.zeros((len(tables), size, classes), dtype=np.int64)
    rows_A1 = np.arange(len(tables))[:, None]
    for strings_BN, labels_B in strings:
        states_AB = np.zeros((len(tables), len(labels_B)), dtype=np.int64)
        for symbols_B in strings_BN.T:
            states_AB = np.take_along_axis(moves_AF, states_AB * symbols + symbols_B, axis=1)
        flat = (rows_A1 * size + states_AB) * classes + labels_B
        counts_AQC += np.bincount(flat.ravel(), minlength=counts_AQC.size).reshape(counts_AQC.shape)
    return counts_AQC, counts_AQC.max(axis=2).sum(axis=1) / counts_AQC[0].sum()


def _tested(
    table: Table,
    train: Sequence[tuple[Ints, Ints]],
    test: Sequence[tuple[Ints, Ints]],
    classes: int,
) -> float:
    """Return the accuracy at the test, if each state answers as in training."""
    labels_Q = _ends([table], train, classes)[0][0].argmax(axis=1)
    counts_QC = _ends([table], test, classes)[0][0]
    return float(counts_QC[np.arange(len(table)), labels_Q].sum() / counts_QC.sum())
