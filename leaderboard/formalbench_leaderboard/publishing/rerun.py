"""Train a run again or repeat a verification, and compare the result with its record."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from formalbench.contracts.objective import Measure
from formalbench.contracts.record import MetricSum, Record
from formalbench.contracts.verification import VerificationRecord
from formalbench.device import usable_cores
from formalbench.host import PluginHost
from formalbench.running.plan import Run, RunOptions, RunPlan
from formalbench.statistics.records import run_of
from formalbench.store import Store
from formalbench.ui.live import execute_live
from formalbench.verification.verify import carry_out, record_of

from formalbench_leaderboard.publishing.agreement import ALARM, changed, p_value
from formalbench_leaderboard.publishing.evaluation_check import prepared
from formalbench_leaderboard.publishing.untrusted_plugins import PluginProcesses, plugins_needed

_CHANCE = ("timeout", "out-of-memory")
"""Final states that depend on the load of the machine."""


@dataclass(frozen=True, slots=True)
class RepeatedTraining:
    """A run that was trained again.

    Attributes:
        recorded: the recorded status.
        status: the new status.
        alike: whether the conditions were those of the record: the same kind and name of device,
            versions, number of threads, and cohort.
        accuracy: accuracy on the record's test strings; None if the run did not finish.
        changed: lower bound of the number of these strings with another answer.
        p: the p-value of the two counts under the hypothesis of one network (`p_value`).
        same_weights: whether the weights are those that the record names; None if there is nothing
            to compare, or if another machine or a GPU may have rounded differently.
        same_start: whether the first point of the learning curve is the recorded one; None if there
            is nothing to compare.
        metric: a metric that the same weights do not reproduce, if there is one.
    """

    recorded: str
    status: str
    alike: bool
    accuracy: float | None
    changed: int | None
    p: float | None
    same_weights: bool | None = None
    same_start: bool | None = None
    metric: str | None = None

    @property
    def mismatch(self) -> str | None:
        """The reason why the record cannot belong to this run; None if it can.

        Under the same conditions on a CPU, a run gives the same weights. Under other conditions it
        starts in the same way, but small rounding differences can grow, so its result can be that
        of any seed.
        """
        prefix = "trained again on the same kind of machine"
        by_chance = {self.recorded, self.status} & {*_CHANCE}
        if self.alike and self._result_differs and not by_chance:
            if self.p is None:
                return f"{prefix}, it ends as: {self.status}, not {self.recorded}"
            return f"{prefix}, it gives other counts"
        if self.same_weights is False:
            return f"{prefix}, it gives other weights"
        if self.metric is not None:
            return f"{prefix}, it gives another {self.metric}"
        if self.same_weights is None and self.same_start is False:
            return "trained again, its learning curve begins otherwise"
        return None

    @property
    def unlike(self) -> bool:
        """Whether the result differs but is not judged, as the conditions differ or may differ.

        The memory and time that were available to the recorded run are unknown.
        """
        return self._result_differs and self.mismatch is None

    @property
    def _result_differs(self) -> bool:
        if self.p is None:
            return self.status != self.recorded
        return self.p < ALARM


class Retrainer:
    """Trains runs again. A cohort is trained once for those of its records that are consecutive."""

    def __init__(self, host: PluginHost, device: str) -> None:
        self._host = host
        self._device = device
        self._request: tuple[tuple[Run, ...], int] | None = None
        self._records: dict[str, Record] = {}

    def retrain(self, record: Record) -> RepeatedTraining:
        """Train and test a run again with its cohort, in a temporary folder.

        Raises:
            RequestError: if the device does not support the protocol's precision.
        """
        threads = max(1, min(record.environment.threads, usable_cores()))
        plugins = tuple(one.named.name for one in plugins_needed(record, self._host))
        request = tuple(replace(run, plugins=plugins) for run in _cohort(record)), threads
        if request != self._request:
            with TemporaryDirectory(prefix="formalbench-audit-") as folder:
                plan, store = RunPlan(request[0]), Store(Path(folder))
                options = RunOptions(jobs=1, threads=threads, devices=(self._device,))
                done = execute_live(self._host, plan, store, options)
            self._request, self._records = request, {one.train_id: one for one in done}
        return retrained(record, self._records[record.train_id])


def retrained(record: Record, again: Record) -> RepeatedTraining:
    """Compare a run that was trained again with its record."""
    alike = _conditions(again) == _conditions(record)
    comparable = alike and again.environment.device == "cpu" and record.weights and again.weights
    now = again.test.cells if again.test else None
    then = record.test.cells if record.test else None
    return RepeatedTraining(
        record.status,
        again.status,
        alike,
        now.accuracy if now else None,
        changed(then, now) if then and now else None,
        p_value(then, now) if then and now else None,
        record.weights == again.weights if comparable else None,
        _same_start(record, again),
        _other_metric(record, again) if comparable and record.weights == again.weights else None,
    )


def _other_metric(record: Record, again: Record) -> str | None:
    """Return a metric of a record's test that the same weights do not reproduce, if any."""
    then, now = _metrics(record), _metrics(again)
    for name, (total, count) in sorted(then.items()):
        other_total, other_count = now.get(name, (math.nan, 0))
        if count != other_count or not math.isclose(total, other_total, rel_tol=1e-6, abs_tol=1e-6):
            return name
    return None


def _metrics(record: Record) -> dict[str, tuple[float, float]]:
    """Return the total and count of every metric over a whole test, including plugins' metrics."""
    if record.test is None:
        return {}
    cells = record.test.cells
    sums: dict[str, Measure | MetricSum | None] = {
        name: cells.whole(name) for name in cells.metrics
    }
    sums |= record.test.pooled or {}
    return {name: (one.total, one.count) for name, one in sums.items() if one}


START = 0.005
"""Absolute and relative tolerance of the loss at the first point of a learning curve on another
machine, and absolute tolerance of the error. Among 285 pairs of seeds of published runs, 17 % are
within it. Other vector instructions changed none of the three digits (measured).
"""


def _same_start(record: Record, again: Record) -> bool | None:
    """Whether two learning curves have the same first point; None if they share none."""
    curves = [one.training.curve if one.training else None for one in (record, again)]
    points = [
        dict(zip(curve.steps, zip(curve.loss, curve.error, strict=True), strict=True))
        for curve in curves
        if curve is not None
    ]
    if len(points) < 2 or not (common := points[0].keys() & points[1].keys()):
        return None
    (loss, error), (other_loss, other_error) = (one[min(common)] for one in points)
    near = abs(loss - other_loss) <= START * (1 + max(loss, other_loss))
    return near and abs(error - other_error) <= START


def _cohort(record: Record) -> tuple[Run, ...]:
    """Return the runs that were trained as one program, in their order."""
    own = run_of(record)
    cohort = record.training.cohort if record.training else None
    if cohort is None:
        return (own,)
    return tuple(replace(own, learning_rate=m.learning_rate, seed=m.seed) for m in cohort)


def _conditions(record: Record) -> tuple[object, ...]:
    """Return the conditions that affect a run's last digits, apart from the run itself."""
    environment, cohort = record.environment, record.training and record.training.cohort
    threads = environment.threads if environment.device == "cpu" else None
    return environment.device, environment.hardware, environment.versions, threads, cohort


_SHARE, _LEAST = 1e-3, 1e-9
"""Relative and absolute tolerance of a margin or a cross-entropy on another machine."""


@dataclass(frozen=True, slots=True)
class RepeatedVerification:
    """A verification that was repeated.

    Attributes:
        errors: number of strings with a wrong answer.
        otherwise: the results that differ, one line each.
        judged: whether a difference contradicts the record. This is so in double precision, where
            results do not depend on the machine; in lower precision only if device, hardware and
            versions are those of the record.
    """

    errors: int
    otherwise: list[str]
    judged: bool


def verify_again(
    record: VerificationRecord,
    host: PluginHost,
    device: str,
    processes: PluginProcesses | None = None,
) -> RepeatedVerification:
    """Judge every string of a verification again."""
    entry, _ = host.models.get(record.model.name)
    with host.blaming(entry.plugin):
        subject, verification = prepared(record, host, processes, device)
        carry_out(subject, verification, device, lambda *_: None)
    return compare_verifications(record, record_of(verification, device))


def compare_verifications(
    recorded: VerificationRecord, now: VerificationRecord
) -> RepeatedVerification:
    """Compare a verification that was repeated with its record."""

    def machine(record: VerificationRecord) -> tuple[object, ...]:
        environment = record.environment
        return environment.device, environment.hardware, environment.versions

    def failure(record: VerificationRecord) -> object:
        first = record.first_failure
        return first and (first.string, first.expected)

    pairs = {
        "exhaustive strings": (recorded.exhaustive, now.exhaustive),
        "adversarial strings": (recorded.adversarial, now.adversarial),
        "errors by length": (recorded.by_length.errors, now.by_length.errors),
        "first failure": (failure(recorded), failure(now)),
    }
    names = [name for name, (then, again) in pairs.items() if then != again]
    exact = recorded.dtype == "fp64"
    if exact:
        names += [
            name.replace("_", " ")
            for name in ("min_margin", "mean_bits", "max_bits")
            if not _near(getattr(recorded.by_length, name), getattr(now.by_length, name))
        ]
    otherwise = [f"its {name} come out otherwise" for name in names]
    judged = machine(recorded) == machine(now) or (exact and bool(names))
    for dtype, length in (recorded.break_length or {}).items():
        if (again := (now.break_length or {}).get(dtype)) != length:
            otherwise.append(f"{dtype} goes up to length {again}, not {length}")
    return RepeatedVerification(now.errors, otherwise, judged)


def _near(recorded: Sequence[float | None], now: Sequence[float | None]) -> bool:
    return all(
        a is b
        or (
            (a is not None and b is not None) and math.isclose(a, b, rel_tol=_SHARE, abs_tol=_LEAST)
        )
        for a, b in zip(recorded, now, strict=True)
    )
