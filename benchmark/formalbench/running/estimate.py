"""Which runs are due next, and the estimated duration of a request."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Literal

from formalbench.contracts.specs import display
from formalbench.running.plan import ENDED, Run, RunKey, RunPlan, key_of
from formalbench.running.units import cohorts_of, divided

if TYPE_CHECKING:
    from formalbench.contracts.protocol import Protocol
    from formalbench.contracts.record import Record
    from formalbench.store import RunFacts


def due(runs: Iterable[Run], done: Mapping[RunKey, Record]) -> list[Run]:
    """Return the runs of a plan that are due next.

    Under a protocol with `fallback`, a learning rate after the first is due once the runs at all
    earlier rates have trained, unless all seeds of one rate learned. A run that failed for another
    reason than its training (a crash, no memory) does not count.
    """
    cells: dict[tuple[str, str, str], list[Run]] = {}
    for run in runs:
        cells.setdefault((run.info.model, run.info.task, run.protocol.title), []).append(run)
    candidates = (run for cell in cells.values() for run in _due_in_cell(cell, done))
    return [run for run in candidates if key_of(run) not in done]


def _due_in_cell(cell: Sequence[Run], done: Mapping[RunKey, Record]) -> list[Run]:
    """Return the runs of a model on a task at the rates that are due."""
    if not cell[0].protocol.fallback or cell[0].learning_rate is None:
        return list(cell)
    runs: list[Run] = []
    for rate in cell[0].protocol.learning_rates:
        at_rate = [run for run in cell if run.learning_rate == rate]
        if not at_rate:  # the caller left out what is finished
            continue
        runs += at_rate
        records = [done[key_of(run)] for run in at_rate if key_of(run) in done]
        trained = [record for record in records if record.status in ENDED]
        if len(trained) < len(at_rate) or all(map(learned, trained)):
            break
    return runs


def rates_wanted(protocol: Protocol, records: Iterable[Record]) -> tuple[float, ...]:
    """Return the rates at which a model must have been trained on a task."""
    if not protocol.fallback:
        return protocol.learning_rates
    by_rate: dict[float | None, list[Record]] = {}
    for record in records:
        by_rate.setdefault(record.learning_rate, []).append(record)
    rates: list[float] = []
    enough = False
    for rate in protocol.learning_rates:
        at_rate = by_rate.get(rate, [])
        if not enough or at_rate:
            rates.append(rate)
        enough = enough or all(map(learned, at_rate))
    return tuple(rates)


def learned(record: Record) -> bool:
    """Return whether a run finished its training and reached its protocol's `decay.validated`."""
    threshold = record.protocol.decay.validated or 0.0
    completed = record.training is not None and record.training.ended != "stopped"
    return completed and record.selected is not None and record.selected.accuracy >= threshold


Source = Literal["same task", "other tasks", "other models", "nothing"]
"""Basis of a run's estimate: its model on its task, its model on other tasks, or other models."""

SOURCES: tuple[Source, ...] = ("same task", "other tasks", "other models", "nothing")


@dataclass(frozen=True)
class Estimate:
    """The estimated duration of a request.

    Attributes:
        runs: number of requested runs, without those at a learning rate that is not due yet.
        finished: number of finished runs among them.
        units: estimated seconds of each remaining unit, in order.
        sources: number of remaining runs per basis of their estimate.
        records: number of records that the estimate uses.
    """

    runs: int
    finished: int
    units: tuple[float, ...]
    sources: Mapping[Source, int]
    records: int

    @property
    def seconds(self) -> float:
        """Estimated seconds for all remaining units, one at a time."""
        return sum(self.units)

    def at_once(self, jobs: int) -> float:
        """Return the estimated seconds with `jobs` parallel units, each as fast as alone."""
        ends = [0.0] * jobs
        for unit in self.units:
            heapq.heapreplace(ends, ends[0] + unit)
        return max(ends)


def estimate(
    plan: RunPlan, device: str, done: Mapping[RunKey, Record], records: Iterable[Record]
) -> Estimate:
    """Estimate how long the rest of a plan takes, without learning rates that may be tried later.

    Earlier records under another protocol, or on another kind of device, are ignored; those of runs
    that only test (an exact model is not trained) are not used for runs that train.
    """
    kind = device.partition(":")[0]
    todo = due(plan.runs, done)
    protocols = {_place(run)[0] for run in todo}
    similar = [
        record
        for record in records
        if record.test is not None
        and _place(record)[0] in protocols
        and record.environment.device.partition(":")[0] == kind
    ]
    times = _Times(similar)
    estimates = {key_of(run): times.of(run) for run in todo}
    units = (part for cohort in cohorts_of(todo) for part in divided(cohort, kind, None))
    return Estimate(
        runs=len(todo) + sum(key_of(run) in done for run in plan.runs),
        finished=sum(key_of(run) in done for run in plan.runs),
        units=tuple(sum(estimates[key_of(run)][0] for run in unit) for unit in units),
        sources=Counter(source for _, source in estimates.values()),
        records=len(similar),
    )


class _Times:
    """Mean seconds of a run, over the known runs that are most similar."""

    def __init__(self, records: Sequence[Record]) -> None:
        by_task: dict[tuple[str, ...], list[float]] = {}
        for record in records:
            seconds = sum(part.seconds for part in (record.training, record.test) if part)
            by_task.setdefault(_place(record), []).append(seconds)
        self._means: dict[tuple[str, ...], float] = {k: fmean(v) for k, v in by_task.items()}
        for size in (3, 2):  # means of tasks are averaged per model, and these per protocol
            groups: dict[tuple[str, ...], list[float]] = {}
            for place, mean in self._means.items():
                if len(place) == size:
                    groups.setdefault(place[:-1], []).append(mean)
            self._means |= {place: fmean(means) for place, means in groups.items()}

    def of(self, run: RunFacts) -> tuple[float, Source]:
        place = _place(run)
        for level, source in enumerate(SOURCES[:-1]):
            if (mean := self._means.get(place[: 3 - level])) is not None:
                return mean, source
        return 0.0, "nothing"


def _place(run: RunFacts) -> tuple[str, ...]:
    trained = "tested" if run.learning_rate is None else "trained"
    model = display(run.model.name, run.model.options)
    return f"{run.protocol.title} {trained}", model, display(run.task.name, run.task.options)
