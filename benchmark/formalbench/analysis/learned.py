"""Whether a run learned its training lengths: only then does it extrapolate, or not."""

from __future__ import annotations

from formalbench.contracts.record import Record

LEARNED = 0.99
"""Validation accuracy from which the training lengths count as learned."""


def validation_of(record: Record) -> float | None:
    """Return a run's accuracy on held-out strings of the training lengths; None if not known."""
    return None if record.selected is None else record.selected.accuracy


def was_trained(record: Record) -> bool:
    """Say whether a run came to the end of its training, and its network was to blame for the rest.

    Of one whose test ran out of memory, say, nothing is known, and it is run again.
    """
    if record.test is not None:
        return True
    training = record.training
    return record.status == "diverged" and training is not None and training.ended != "stopped"


def has_learned(record: Record) -> bool:
    """Say whether a run mastered its training lengths; an exact model has nothing to learn.

    A run whose logits are not finite on longer strings has learned all the same, and does not
    extrapolate.
    """
    if record.model.kind == "exact":
        return record.test is not None
    validation = validation_of(record)
    return was_trained(record) and validation is not None and validation >= LEARNED
