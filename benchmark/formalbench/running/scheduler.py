"""Carrying out a plan: what is done already, what is refused, and then unit by unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from formalbench.contracts.execution import Workplace
from formalbench.device import usable_cores
from formalbench.host import PluginHost
from formalbench.precision import check_precision
from formalbench.running.dispatcher import Dispatcher, Execution
from formalbench.running.grouping import cohorts_of
from formalbench.running.plan import Run, RunKey, RunPlan, does_for, key_of
from formalbench.running.rates import due
from formalbench.running.scout import Scout
from formalbench.store import Store

if TYPE_CHECKING:
    from formalbench.contracts.config import Value
    from formalbench.contracts.record import Record


def default_jobs(devices: Sequence[str], runs: int) -> int:
    """Return how many units are worked on at once: one per core of a CPU, one per GPU."""
    return max(1, min(usable_cores() if devices[0] == "cpu" else len(devices), runs))


def finished(plan: RunPlan, store: Store) -> dict[RunKey, Record]:
    """Return the records of a plan's runs that the store holds as finished.

    What another protocol's run left counts for that protocol alone.
    """
    asked = {key_of(run): run for run in plan.runs}
    found: dict[RunKey, Record] = {}
    for record in store.records():
        run = asked.get(key_of(record))
        if run is not None and does_for(record, run):
            found[key_of(run)] = record
    return found


def execute(
    host: PluginHost,
    plan: RunPlan,
    store: Store,
    device: str | Sequence[str] = "cpu",
    jobs: int | None = None,
    threads: int = 1,
    *,
    executor: str = "",
    options: Mapping[str, Value] = MappingProxyType({}),
    fail_fast: bool = False,
    debug: bool = False,
    done: Mapping[RunKey, Record] | None = None,
) -> list[Record]:
    """Carry out a plan and return one record per run, in its order.

    Runs that the store holds as finished are not repeated, and weights that it holds are tested,
    not trained again. A record is on disk before any observer hears of it. Under a protocol with
    `fallback`, runs at a further learning rate follow where they are due.

    Args:
        host: the plugins; its observers are told.
        plan: what to do.
        store: where records are and go.
        device: ``cpu`` or ``cuda:i``, or several GPUs.
        jobs: how many units at a time; None for `default_jobs`.
        threads: CPU threads that each trains with.
        executor: the name of a registered one; empty for processes on this machine or, if there
            is only one thing to do at a time, this process.
        options: of the executor, those that differ from their defaults.
        fail_fast: whether to stop at the first run that does not finish.
        debug: whether the whole traceback of a run that fails goes to standard error.
        done: what `finished` says of plan and store, if that is known already.

    Returns:
        Fewer records if it stopped at a run that did not finish, or a rate was not tried.

    Raises:
        RequestError: for what a task or model refuses, before anything was run; later it becomes
            the record of its runs.
    """
    every = dict(finished(plan, store) if done is None else done)
    devices = (device,) if isinstance(device, str) else tuple(device)
    how = Execution(devices, 1, threads, executor, options, fail_fast, debug)
    while todo := due(plan.runs, every):
        asked = 1 if executor == "serial" else jobs or default_jobs(devices, len(todo))
        at_once = max(1, min(asked, len(todo)))
        results = _carry_out(host, todo, store, replace(how, jobs=at_once))
        every |= results
        if fail_fast and any(record.status != "finished" for record in results.values()):
            break
    return [every[key_of(run)] for run in plan.runs if key_of(run) in every]


def _carry_out(
    host: PluginHost, todo: Sequence[Run], store: Store, how: Execution
) -> dict[RunKey, Record]:
    """Do runs that do not wait for each other."""
    for run in {id(run.protocol): run for run in todo}.values():
        check_precision(run.protocol, how.devices[0])
    cohorts = cohorts_of(todo)
    with Scout(host, Workplace(how.devices, how.jobs)) as scout:
        for run in {(c[0].info.task, c[0].protocol.title): c[0] for c in cohorts}.values():
            scout.look_at_task(run)
        first = scout.least_of(todo[0])
        store.check_writable()
        return Dispatcher(host, store, how, cohorts, first, scout).run()
