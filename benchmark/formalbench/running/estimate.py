"""Which runs are due next, and how long a request would take."""

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
    """Return the runs of a plan that are to be done next.

    Under a protocol with `fallback`, the runs of a model on a task at a rate after the first are
    due once those at the rates before it have trained, unless all seeds of one rate learned. One
    that failed for another reason than its training (a crash, no memory) says nothing of its rate.
    """
    cells: dict[tuple[str, str, str], list[Run]] = {}
    for run in runs:
        cells.setdefault((run.info.model, run.info.task, run.protocol.title), []).append(run)
    left = (run for cell in cells.values() for run in _tried(cell, done))
    return [run for run in left if key_of(run) not in done]


def _tried(cell: Sequence[Run], done: Mapping[RunKey, Record]) -> list[Run]:
    """Return the runs of a model on a task without those at rates that are not tried yet."""
    if not cell[0].protocol.fallback or cell[0].learning_rate is None:
        return list(cell)
    tried: list[Run] = []
    for rate in cell[0].protocol.learning_rates:
        at_rate = [run for run in cell if run.learning_rate == rate]
        tried += at_rate
        records = [done[key_of(run)] for run in at_rate if key_of(run) in done]
        trained = [record for record in records if record.status in ENDED]
        if len(trained) < len(at_rate) or all(map(learned, trained)):
            break
    return tried


def rates_wanted(protocol: Protocol, records: Iterable[Record]) -> tuple[float, ...]:
    """Return the rates at which a model must have been trained on a task.

    Args:
        protocol: of the runs.
        records: all there are of the model on the task under it.
    """
    if not protocol.fallback:
        return protocol.learning_rates
    by_rate: dict[float | None, list[Record]] = {}
    for record in records:
        by_rate.setdefault(record.learning_rate, []).append(record)
    wanted: list[float] = []
    enough = False
    for rate in protocol.learning_rates:
        held = by_rate.get(rate, [])
        if not enough or held:
            wanted.append(rate)
        enough = enough or all(map(learned, held))
    return tuple(wanted)


def learned(record: Record) -> bool:
    """Say whether a run trained to its end and reached its protocol's `decay.validated`."""
    needed = record.protocol.decay.validated or 0.0
    whole = record.training is not None and record.training.ended != "stopped"
    return whole and record.selected is not None and record.selected.accuracy >= needed


Source = Literal["same task", "other tasks", "other models", "nothing"]
"""What tells of a run: runs of its model on its task, else its model's other runs, else others'."""

SOURCES: tuple[Source, ...] = ("same task", "other tasks", "other models", "nothing")


@dataclass(frozen=True)
class Estimate:
    """What a request would take.

    Attributes:
        runs: how many are asked for, without those at a learning rate that is not due yet.
        finished: how many of them have been done.
        units: seconds that each unit left would take, in the order of their turns.
        sources: how many of the runs left are known from what.
        records: how many records tell.
    """

    runs: int
    finished: int
    units: tuple[float, ...]
    sources: Mapping[Source, int]
    records: int

    @property
    def seconds(self) -> float:
        """How long all that is left would take, one unit at a time."""
        return sum(self.units)

    def at_once(self, jobs: int) -> float:
        """Return the seconds it would take with so many units at a time, each as fast as alone."""
        ends = [0.0] * jobs
        for unit in self.units:
            heapq.heapreplace(ends, ends[0] + unit)
        return max(ends)


def estimate(
    plan: RunPlan, device: str, done: Mapping[RunKey, Record], records: Iterable[Record]
) -> Estimate:
    """Say how long the rest of a plan would take, learning rates that may be tried later aside.

    Args:
        plan: what is asked for.
        device: ``cpu``, ``cuda`` or ``cuda:i``; runs on another kind of device tell nothing.
        done: the records of runs that will not be repeated.
        records: what was done before. Runs under another protocol tell nothing, and runs that
            only test (an exact model has nothing to train) tell nothing of runs that train.
    """
    kind = device.partition(":")[0]
    todo = due(plan.runs, done)
    asked = {_place(run)[0] for run in todo}
    told = [
        record
        for record in records
        if record.test is not None
        and _place(record)[0] in asked
        and record.environment.device.partition(":")[0] == kind
    ]
    times = _Times(told)
    found = {key_of(run): times.of(run) for run in todo}
    units = (part for cohort in cohorts_of(todo) for part in divided(cohort, kind, None))
    return Estimate(
        runs=len(todo) + sum(key_of(run) in done for run in plan.runs),
        finished=sum(key_of(run) in done for run in plan.runs),
        units=tuple(sum(found[key_of(run)][0] for run in unit) for unit in units),
        sources=Counter(source for _, source in found.values()),
        records=len(told),
    )


class _Times:
    """Mean seconds of a run, by what it has in common with those that are known."""

    def __init__(self, records: Sequence[Record]) -> None:
        by_task: dict[tuple[str, ...], list[float]] = {}
        for record in records:
            by_task.setdefault(_place(record), []).append(_seconds(record))
        self._means: dict[tuple[str, ...], float] = {k: fmean(v) for k, v in by_task.items()}
        for known in (3, 2):  # the means of tasks become those of models, and these the protocol's
            above: dict[tuple[str, ...], list[float]] = {}
            for place, mean in self._means.items():
                if len(place) == known:
                    above.setdefault(place[:-1], []).append(mean)
            self._means |= {place: fmean(means) for place, means in above.items()}

    def of(self, run: RunFacts) -> tuple[float, Source]:
        place = _place(run)
        for shorter, source in enumerate(SOURCES[:-1]):
            if (mean := self._means.get(place[: 3 - shorter])) is not None:
                return mean, source
        return 0.0, "nothing"


def _place(run: RunFacts) -> tuple[str, ...]:
    trained = "tested" if run.learning_rate is None else "trained"
    model = display(run.model.name, run.model.options)
    return f"{run.protocol.title} {trained}", model, display(run.task.name, run.task.options)


def _seconds(record: Record) -> float:
    parts = (record.training, record.test)
    return sum(part.seconds for part in parts if part is not None)
