"""Carrying out a plan: units of work go to an executor and come back as records."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING, Any

from formalbench.contracts.hooks import Progress
from formalbench.device import usable_cores
from formalbench.host import LocalPlugin, PluginHost
from formalbench.plan import Plan, Run
from formalbench.store import Store
from formalbench.work import Unit, do_unit, make_record

if TYPE_CHECKING:
    from formalbench.contracts.record import Record

Message = tuple[str, Progress | None]
"""A run's identity, and how far it is; None when it starts."""


def default_jobs(device: str, units: int) -> int:
    """Return how many processes work at once: one per core on a CPU, one on a GPU."""
    return max(1, min(usable_cores(), units)) if device == "cpu" else 1


def execute(
    host: PluginHost, plan: Plan, store: Store, device: str, jobs: int | None = None
) -> list[Record]:
    """Carry out a plan and return one record per run, in its order.

    Runs that the store holds as finished are not repeated. A record is on disk before any
    observer hears of it.

    Args:
        host: the plugins; its observers are told.
        plan: what to do.
        store: where records are and go.
        device: ``cpu`` or ``cuda:i``.
        jobs: how many processes; None for `default_jobs`.
    """
    store.check_writable()
    done = {record.run_id: record for record in store.records() if record.status == "finished"}
    todo = [run for run in plan.runs if run.run_id not in done]
    runs = {run.run_id: run for run in todo}
    units = [Unit((run,), device) for run in todo]
    results: dict[str, Record] = {}

    def hear(message: Message) -> None:
        run_id, progress = message
        if progress is None:
            host.notify("formalbench_run_started", run=runs[run_id].info)
        else:
            host.notify("formalbench_run_progress", run=runs[run_id].info, progress=progress)

    for record in _work_off(host, units, jobs or default_jobs(device, len(units)), hear):
        store.write(record)
        results[record.run_id] = record
        host.notify("formalbench_run_finished", run=runs[record.run_id].info, record=record)
    every = done | results
    return [every[run.run_id] for run in plan.runs]


def _work_off(
    host: PluginHost, units: Sequence[Unit], jobs: int, hear: Callable[[Message], None]
) -> Iterator[Record]:
    if jobs == 1 or len(units) <= 1:
        for unit in units:
            yield from _do(host, unit, hear)
        return
    lost: list[Unit] = []
    yield from _with_pool(host.locals(), units, jobs, hear, lost)
    # A worker that dies (a crash, or the system's memory killer) takes its pool down. Whoever
    # was unfinished then gets a process of its own, so that only the guilty one fails.
    for unit in lost:
        again: list[Unit] = []
        yield from _with_pool(host.locals(), [unit], 1, hear, again)
        for run in again[0].runs if again else ():
            yield make_record(run, unit.device, "error", "the worker process died")


def _do(host: PluginHost, unit: Unit, hear: Callable[[Message], None]) -> list[Record]:
    for run in unit.runs:
        hear((run.run_id, None))
    return do_unit(host, unit, lambda run_id, progress: hear((run_id, progress)))


def _with_pool(
    plugins: Sequence[LocalPlugin],
    units: Sequence[Unit],
    jobs: int,
    hear: Callable[[Message], None],
    lost: list[Unit],
) -> Iterator[Record]:
    """Work units off in processes; those unfinished when a process died are put into `lost`."""
    context = multiprocessing.get_context("spawn")
    messages = context.Queue()
    pool = ProcessPoolExecutor(jobs, context, _start_worker, (tuple(plugins), messages))
    waiting = list(units)
    running: dict[Future[list[Record]], Unit] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                _submit(pool, waiting.pop(0), running)
            finished, _ = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
            _drain(messages, hear)
            for future in finished:
                unit = running.pop(future)
                try:
                    yield from future.result()
                except BrokenProcessPool:
                    lost += [unit, *running.values(), *waiting]
                    return
    except BrokenProcessPool:
        lost += [*running.values(), *waiting]
    finally:
        _stop(pool)


def _submit(pool: Executor, unit: Unit, running: dict[Future[list[Record]], Unit]) -> None:
    try:
        running[pool.submit(_work, unit)] = unit
    except BrokenProcessPool:
        future: Future[list[Record]] = Future()
        future.set_exception(BrokenProcessPool())
        running[future] = unit


def _drain(messages: Any, hear: Callable[[Message], None]) -> None:
    while True:
        try:
            hear(messages.get_nowait())
        except queue.Empty:
            return


def _stop(pool: ProcessPoolExecutor) -> None:
    """End the workers at once: what is in flight is lost, as by any kill."""
    workers = list((pool._processes or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for worker in workers:
        worker.terminate()
    for worker in workers:
        worker.join()


# What follows runs in a worker process.

_host: PluginHost | None = None
_messages: Any = None


def _start_worker(plugins: tuple[LocalPlugin, ...], messages: Any) -> None:
    global _host, _messages
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    _host = PluginHost(warn=lambda line: None)  # the parent has told already
    _host.load_installed()
    for plugin in plugins:
        _host.load_local(plugin)
    _messages = messages


def _end_with_parent(parent: int) -> None:
    # A parent that is killed cannot stop its workers; they would wait for work for ever.
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _work(unit: Unit) -> list[Record]:
    assert _host is not None
    return _do(_host, unit, _messages.put)


def runs_of(plan: Plan, store: Store) -> tuple[list[Run], list[Run]]:
    """Split a plan's runs into those the store holds as finished and those to do."""
    finished = {r.run_id for r in store.records() if r.status == "finished"}
    done = [run for run in plan.runs if run.run_id in finished]
    return done, [run for run in plan.runs if run.run_id not in finished]
