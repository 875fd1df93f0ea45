"""Whether a run learned its training lengths: only then does it extrapolate, or not."""

from __future__ import annotations

from formalbench.contracts.record import Record

LEARNED = 0.99
"""Validation accuracy from which the training lengths count as learned."""


def validation_of(record: Record) -> float | None:
    """Return a run's accuracy on held-out strings of the training lengths; None if not known."""
    return None if record.selected is None else record.selected.accuracy


def has_learned(record: Record) -> bool:
    """Say whether a run mastered its training lengths; an exact model has nothing to learn."""
    if record.status != "finished":
        return False
    validation = validation_of(record)
    return record.model.kind == "exact" or (validation is not None and validation >= LEARNED)
