"""Runs whose numbers are those of another run: seeds that nobody trained."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from formalbench.analysis.keys import model_key, title_of
from formalbench.analysis.text import rate
from formalbench.contracts.objective import CROSS_ENTROPY
from formalbench.contracts.record import Record

_DIFFERENT_SUMS = 3
"""Sums of a cross-entropy that are neither 0 nor equal: with as many, no two runs agree in all."""


def copied(records: Iterable[Record]) -> list[str]:
    """Say which runs have the very weights or the very sums of another one: one line each.

    Two trainings end in other last digits, and a cross-entropy shows them. Networks that answer
    everything right, or that say the same of every string, may agree: their sums are left out.
    """
    groups: dict[object, dict[str, Record]] = defaultdict(dict)
    for record in records:
        for key in _marks(record):
            groups[key].setdefault(record.train_id, record)
    lines = {}
    for group in groups.values():
        first, *others = group.values()
        for other in others:
            lines[other.train_id] = (
                f"{_named(other)}: its numbers are those of {_named(first)}: one is a copy"
            )
    return list(lines.values())


def _marks(record: Record) -> list[object]:
    """Return what no other training gives."""
    marks: list[object] = [] if record.weights is None else [record.weights]
    sums = record.test.cells.metrics.get(CROSS_ENTROPY) if record.test else None
    if record.test and record.selected and sums and len({*sums.total} - {0}) >= _DIFFERENT_SUMS:
        chosen = record.selected.metrics.get(CROSS_ENTROPY)
        marks.append((record.test.fingerprint, sums.total, chosen and chosen.total))
    return marks


def _named(record: Record) -> str:
    at = "" if record.learning_rate is None else f" at learning rate {rate(record.learning_rate)}"
    return (
        f"{model_key(record)[0]} on {title_of(record)}, {record.protocol.title}, "
        f"seed {record.seed}{at}"
    )
