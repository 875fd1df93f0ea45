"""Counts the members of a language by length, with its automaton.

If a length has only one member, all sampled members are the same string. A network may memorise it
for each training length, and a test contains only one distinct member per length.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from formalbench.contracts.source import Language, MinimalAutomaton, automaton_of
from formalbench.contracts.task import Task

FEW_MEMBERS = "at most one member per length: all sampled members of a length are the same string"
"""Warning for a language with `most_members` of 1."""

MANY = 1_000_000
"""Members are counted up to this number."""


def most_members(task: Task) -> int | None:
    """Return the greatest number of members of a training or test length.

    Returns:
        `MANY` + 1 for every number above `MANY`; None for sources without two classes or
        without automaton.
    """
    source = task.source
    if not isinstance(source, Language) or source.num_classes != 2:
        return None
    machine = automaton_of(source)
    if machine is None:
        return None
    windows = [
        range(first, last + 1, task.splits.step)
        for first, last in (task.splits.train, task.splits.test)
    ]
    lengths = range(max(window.stop for window in windows))
    most = 0
    for length, count in zip(lengths, _capped_counts(machine), strict=False):
        if any(length in window for window in windows):
            most = max(most, count)
        if most > MANY:
            break
    return most


def _capped_counts(machine: MinimalAutomaton) -> Iterator[int]:
    """Yield the number of strings in class 1 of each length from 0; `MANY` + 1 for more."""
    table_QS = np.asarray(machine.transitions)
    ways_Q = (np.asarray(machine.classes) == 1).astype(np.int64)
    while True:
        yield int(ways_Q[machine.start])
        ways_Q = np.minimum(ways_Q[table_QS].sum(axis=1), MANY + 1)


def count_members(machine: MinimalAutomaton, longest: int) -> list[int]:
    """Return the exact number of strings in class 1 of each length 0 … `longest`.

    The slow and obvious reference for `most_members`, with big integers.
    """
    moves, classes = machine.transitions.tolist(), machine.classes.tolist()
    ways = Counter({int(machine.start): 1})
    counts = []
    for _ in range(longest + 1):
        counts.append(sum(count for state, count in ways.items() if classes[state] == 1))
        following: Counter[int] = Counter()
        for state, count in ways.items():
            for target in moves[state]:
                following[target] += count
        ways = following
    return counts
