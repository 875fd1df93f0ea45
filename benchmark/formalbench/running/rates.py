"""Which learning rates are tried: all of a grid or, with `fallback`, the next where one failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from formalbench.running.plan import ENDED, Run, RunKey, key_of

if TYPE_CHECKING:
    from formalbench.contracts.protocol import Protocol
    from formalbench.contracts.record import Record


def due(runs: Iterable[Run], done: Mapping[RunKey, Record]) -> list[Run]:
    """Return the runs of a plan that are to be done next.

    Under a protocol with `fallback`, the runs of a model on a task at a rate after the first are
    due once those at the rates before it have trained, unless all seeds of one rate learned. One
    that failed for another reason than its training (a crash, no memory) says nothing of its rate.

    Args:
        runs: of a plan, in its order.
        done: records of some of them.
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
