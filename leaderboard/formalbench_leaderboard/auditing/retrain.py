"""A run trained again by its own plan, and held against its record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from formalbench.analysis.keys import run_of
from formalbench.contracts.record import Record
from formalbench.device import usable_cores
from formalbench.running.plan import Run, RunPlan
from formalbench.store import Store
from formalbench.ui.live import execute_live

from formalbench_leaderboard.auditing.agreement import ALARM, changed, p_value
from formalbench_leaderboard.auditing.retested import told_counts

if TYPE_CHECKING:
    from formalbench.host.host import PluginHost

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
