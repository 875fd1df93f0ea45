"""A run trained again, a verification done again, and compared with its record."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from formalbench.contracts.record import Record
from formalbench.contracts.verification import VerificationRecord
from formalbench.device import usable_cores
from formalbench.running.plan import Run, RunPlan
from formalbench.statistics.records import run_of
from formalbench.store import Store
from formalbench.ui.live import execute_live

from formalbench_leaderboard.publishing.agreement import ALARM, changed, p_value
from formalbench_leaderboard.publishing.record_check import prepared, subject_of
from formalbench_leaderboard.publishing.retest import told_counts

if TYPE_CHECKING:
    from formalbench.host.host import PluginHost
    from formalbench.verification.verify import StringsReport


_CHANCE = ("timeout", "out-of-memory")
"""Ends that hang on what else a machine did."""


@dataclass(frozen=True, slots=True)
class Retrained:
    """A run, done again.

    Attributes:
        told: how it ended, as its record says.
        status: how it ended now.
        alike: whether it trained as the record says: on that kind of device of that name, by all
            those versions, with as many threads and in that cohort.
        accuracy: on the record's test strings; None if it did not finish.
        changed: how many of them are answered otherwise, at least.
        p: how likely one network gives both counts.
    """

    told: str
    status: str
    alike: bool
    accuracy: float | None
    changed: int | None
    p: float | None

    @property
    def mismatch(self) -> str | None:
        """Why the record cannot be of this run; None if it can.

        Trained alike, a run gives the same numbers, or nearly: other counts than one network
        gives are a mismatch. Otherwise training can make much of a little rounding, and end
        anywhere that a seed can: nothing follows from that.
        """
        if not self.alike or not self._elsewhere:
            return None
        if self.told in _CHANCE or self.status in _CHANCE:
            return None
        if self.p is None:
            end = f"it ends as: {self.status}, not {self.told}"
            return f"trained again on the same kind of machine, {end}"
        return "trained again on the same kind of machine, it gives other counts"

    @property
    def unlike(self) -> bool:
        """Whether it ends elsewhere, and nothing follows: conditions are others, or can be.

        What memory or time was left to a run, nobody can say afterwards.
        """
        return self._elsewhere and self.mismatch is None

    @property
    def _elsewhere(self) -> bool:
        if self.p is None:
            return self.status != self.told
        return self.p < ALARM


class Retrainer:
    """Trains runs again. A cohort trains once for those of its records that come in a row.

    Args:
        host: the plugins.
        device: ``cpu`` or ``cuda:i``.
    """

    def __init__(self, host: PluginHost, device: str) -> None:
        self._host = host
        self._device = device
        self._asked: tuple[tuple[Run, ...], int] | None = None
        self._records: dict[str, Record] = {}

    def retrain(self, record: Record) -> Retrained:
        """Train and test a run again, with its cohort, in a folder that is gone afterwards.

        Args:
            record: of a run that `Admission` takes.

        Raises:
            RequestError: if the protocol's precision is not to be had on the device.
        """
        threads = max(1, min(record.environment.threads, usable_cores()))
        asked = _cohort(record), threads
        if asked != self._asked:
            with TemporaryDirectory(prefix="formalbench-audit-") as folder:
                plan, store = RunPlan(asked[0]), Store(Path(folder))
                done = execute_live(self._host, plan, store, self._device, 1, threads)
            self._asked, self._records = asked, {one.train_id: one for one in done}
        again = self._records[record.train_id]
        alike = _conditions(again) == _conditions(record)
        ends = record.status, again.status
        now = told_counts(again.test.cells) if again.test else None
        if now is None or record.test is None:
            return Retrained(*ends, alike, now.accuracy if now else None, None, None)
        told = told_counts(record.test.cells)
        return Retrained(*ends, alike, now.accuracy, changed(told, now), p_value(told, now))


def _cohort(record: Record) -> tuple[Run, ...]:
    """Return the runs that trained as one program, in their order."""
    own = run_of(record)
    cohort = record.training.cohort if record.training else None
    if cohort is None:
        return (own,)
    return tuple(replace(own, learning_rate=m.learning_rate, seed=m.seed) for m in cohort)


def _conditions(record: Record) -> tuple[object, ...]:
    """Return what a run's last digits hang on, beside the run."""
    where, cohort = record.environment, record.training and record.training.cohort
    threads = where.threads if where.device == "cpu" else None
    return where.device, where.hardware, where.versions, threads, cohort


_SHARE, _LEAST = 1e-3, 1e-9
"""By how much of itself, or by how much, a margin or a cross-entropy may change elsewhere."""


@dataclass(frozen=True, slots=True)
class Reverified:
    """A verification, done again.

    Attributes:
        errors: how many strings were answered wrong.
        otherwise: what came out otherwise, one line each.
        judged: whether that speaks against the record. In double precision nothing hangs on the
            machine; how far a lower one goes does, unless device, hardware and versions are those
            that the record names.
    """

    errors: int
    otherwise: list[str]
    judged: bool


def verify_again(
    record: VerificationRecord, host: PluginHost, device: str, report: StringsReport
) -> Reverified:
    """Judge every string of a verification again.

    Args:
        record: one that `Admission` takes.
        host: the plugins.
        device: ``cpu`` or ``cuda:i``.
        report: told of its progress.
    """
    from formalbench.verification.verify import carry_out, record_of

    entry, _ = host.models.get(record.model.name)
    with host.blaming(entry.plugin):
        subject = subject_of(record, host)
        found = prepared(record, subject)
        carry_out(subject, found, device, report)
    return compared(record, record_of(found, device))


def compared(told: VerificationRecord, now: VerificationRecord) -> Reverified:
    """Hold a verification against its record."""
    counts, ranges = _counts(told, now), _ranges(told, now)
    alike = _verification_conditions(told) == _verification_conditions(now)
    if told.dtype == "fp64":
        figures = _figures(told, now)
        return Reverified(now.errors, counts + figures + ranges, bool(counts or figures) or alike)
    return Reverified(now.errors, counts + ranges, alike)


def _verification_conditions(record: VerificationRecord) -> tuple[object, ...]:
    where = record.environment
    return where.device, where.hardware, where.versions


def _counts(told: VerificationRecord, now: VerificationRecord) -> list[str]:
    """Return what was judged, and what of it was wrong, where that is otherwise."""
    pairs = {
        "exhaustive strings": (told.exhaustive, now.exhaustive),
        "adversarial strings": (told.adversarial, now.adversarial),
        "errors by length": (told.by_length.errors, now.by_length.errors),
        "first failure": (_failure(told), _failure(now)),
    }
    return [f"its {what} come out otherwise" for what, (a, b) in pairs.items() if a != b]


def _failure(record: VerificationRecord) -> tuple[object, ...]:
    failure = record.first_failure
    return () if failure is None else (failure.string, failure.expected)


def _ranges(told: VerificationRecord, now: VerificationRecord) -> list[str]:
    """Return how far each precision goes, where that is otherwise."""
    return [
        f"{dtype} goes up to length {(now.break_length or {}).get(dtype)}, not {length}"
        for dtype, length in (told.break_length or {}).items()
        if length != (now.break_length or {}).get(dtype)
    ]


def _figures(told: VerificationRecord, now: VerificationRecord) -> list[str]:
    """Return which margins and cross-entropies are otherwise."""
    return [
        f"its {name.replace('_', ' ')} come out otherwise"
        for name in ("min_margin", "mean_bits", "max_bits")
        if not _near(getattr(told.by_length, name), getattr(now.by_length, name))
    ]


def _near(told: Sequence[float | None], now: Sequence[float | None]) -> bool:
    return all(
        a is b
        or (
            (a is not None and b is not None) and math.isclose(a, b, rel_tol=_SHARE, abs_tol=_LEAST)
        )
        for a, b in zip(told, now, strict=True)
    )
