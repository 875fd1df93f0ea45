"""What training again costs, by the records' own word, and whether it is done unasked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from formalbench.analysis.text import plural
from formalbench.contracts.record import Record
from formalbench.contracts.verification import AnyRecord

from formalbench_leaderboard.auditing.drawn import drawn, read_drawn

if TYPE_CHECKING:
    from formalbench_leaderboard.auditing.audit import Auditor

LONGEST = 600.0
"""Seconds that a run may take which nobody asked to train again."""


def unasked(files: Iterable[Path], seed: int, auditor: Auditor) -> frozenset[Path]:
    """Draw a run to train again, if of none there are weights: else nothing would be asked.

    Args:
        files: of records.
        seed: of the draw.
        auditor: says of which runs there are weights.
    """
    runs = {
        file: record
        for file, record in read_drawn(files).items()
        if isinstance(record, Record) and auditor.can_be_trained(record)
    }
    if any(auditor.has_weights(file, record) for file, record in runs.items()):
        return frozenset()
    return drawn(runs, seed, 1, 0)


def seconds_of(records: Mapping[Path, AnyRecord]) -> tuple[int, float]:
    """Return how many runs train again, and the seconds that their records tell.

    Runs that trained as one program train together, and once.

    Args:
        records: those drawn, by their files.
    """
    programs: dict[object, float] = {}
    runs = [(file, one) for file, one in records.items() if isinstance(one, Record)]
    for file, record in runs:
        told = record.training
        cohort = told.cohort if told is not None and told.cohort else record.test_id
        programs[file.parent, cohort] = told.seconds if told is not None else 0.0
    return len(runs), sum(programs.values())


def sentence(runs: int, seconds: float) -> str:
    """Say what is trained again, and how long that took whoever did it first."""
    by = "its record" if runs == 1 else "their records"
    for unit, size in (("hour", 3600), ("minute", 60), ("second", 1)):
        if seconds >= 2 * size or size == 1:
            return f"{plural(runs, 'run')} to train again: {_about(seconds / size, unit)} by {by}"
    raise AssertionError("a second is the last unit")


def _about(number: float, unit: str) -> str:
    return f"about {plural(max(1, round(number)), unit)}"
