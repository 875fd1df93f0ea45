"""A run trained again by its own plan, and held against its record."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from formalbench.cli.live import execute_live
from formalbench.contracts.record import Record
from formalbench.plan import Plan
from formalbench.store import Store

from formalbench_leaderboard.auditing.agreement import ALARM, Counts, changed, p_value
from formalbench_leaderboard.keys import run_of

if TYPE_CHECKING:
    from formalbench.host.host import PluginHost


@dataclass(frozen=True, slots=True)
class Retrained:
    """A run, done again.

    Attributes:
        status: how it ended.
        alike: whether the kind of device, its name, all versions and the number of runs that
            trained together are the record's.
        accuracy: on the record's test strings; None if it did not finish.
        changed: how many of them are answered otherwise, at least.
        p: how likely one network gives both counts.
    """

    status: str
    alike: bool
    accuracy: float | None
    changed: int | None
    p: float | None

    @property
    def mismatch(self) -> str | None:
        """Why the record cannot be of this run; None if it can.

        On the same kind of machine a run gives the same numbers, or nearly: other counts than
        one network gives are a mismatch. On another one, or if the run was one of a cohort,
        training can make much of a little rounding, and end anywhere that a seed can: nothing
        follows from that.
        """
        if not self.alike:
            return None
        if self.p is None:
            return f"trained again on the same kind of machine, it ends as: {self.status}"
        if self.p < ALARM:
            return "trained again on the same kind of machine, it gives other counts"
        return None


def retrain(host: PluginHost, record: Record, device: str) -> Retrained:
    """Train and test a run again, in a folder that is gone afterwards.

    Args:
        host: the plugins.
        record: of a finished run that `Admission` takes.
        device: ``cpu`` or ``cuda:i``.

    Raises:
        RequestError: if the protocol's precision is not to be had on the device.
    """
    plan = Plan((run_of(record),), record.protocol)
    with TemporaryDirectory(prefix="formalbench-audit-") as folder:
        (again,) = execute_live(host, plan, Store(Path(folder)), device, jobs=1)
    there, here = record.environment, again.environment
    alike = (there.device, there.hardware, there.versions, there.cohort) == (
        here.device,
        here.hardware,
        here.versions,
        here.cohort,
    )
    if again.test is None or record.test is None:
        return Retrained(again.status, alike, None, None, None)
    told, now = (
        Counts(test.cells.strings, test.cells.correct) for test in (record.test, again.test)
    )
    return Retrained(again.status, alike, now.accuracy, changed(told, now), p_value(told, now))
