"""Carrying out a plan: units of work go to an executor and come back as records."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import resource_tracker
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from formalbench.contracts.errors import PLUGIN_FAILURES, FormalbenchError, RequestError
from formalbench.contracts.hooks import Progress
from formalbench.device import usable_cores
from formalbench.host import LocalPlugin, PluginHost
from formalbench.plan import Plan, Run
from formalbench.precision import check_precision
from formalbench.store import Store
from formalbench.work import Outcome, RunResult, Unit, do_unit

if TYPE_CHECKING:
    from formalbench.contracts.protocol import Protocol
    from formalbench.contracts.record import Record

Pair = tuple[str, str, "Protocol"]
"""A model and a task, as shown to people, and the protocol."""

Message = tuple[str, Progress | None]
"""A run's identity, and how far it is; None when it starts."""


def default_jobs(device: str, units: int) -> int:
    """Return how many processes work at once: one per core on a CPU, one on a GPU."""
    return max(1, min(usable_cores(), units)) if device == "cpu" else 1


def execute(
    host: PluginHost,
    plan: Plan,
    store: Store,
    device: str,
    jobs: int | None = None,
    threads: int = 1,
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
        threads: CPU threads that each trains with.
    """
    done = {record.run_id: record for record in store.records() if record.status == "finished"}
    todo = [run for run in plan.runs if run.run_id not in done]
    for run in todo:
        check_precision(run.protocol, device)
    together = _look_at_pairs(host, todo, device)
    store.check_writable()
    runs = {run.run_id: run for run in todo}
    units = make_units(todo, device, together, jobs, threads)
    results: dict[str, Record] = {}

    def hear(message: Message) -> None:
        run_id, progress = message
        if run_id in results:
            return  # messages and results travel apart: this one was overtaken
        if progress is None:
            host.notify("formalbench_run_started", run=runs[run_id].info)
        else:
            host.notify("formalbench_run_progress", run=runs[run_id].info, progress=progress)

    for record, weights in _work_off(host, units, _jobs(device, len(units), jobs), hear):
        store.write(record, weights)
        results[record.run_id] = record
        host.notify("formalbench_run_finished", run=runs[record.run_id].info, record=record)
    every = done | results
    return [every[run.run_id] for run in plan.runs]


def _jobs(device: str, units: int, asked: int | None) -> int:
    return max(1, min(asked, units)) if asked else default_jobs(device, units)


def make_units(
    runs: Sequence[Run],
    device: str,
    together: Mapping[Pair, int] = MappingProxyType({}),
    jobs: int | None = None,
    threads: int = 1,
) -> list[Unit]:
    """Divide runs into units of work, and share the CPU's cores out among those at work.

    On a GPU the runs of one model on one task train together. On a CPU every run is a unit,
    so that a core is busy with one and a kill loses one, but for networks so small that they
    train faster together; those are divided only if cores would be idle else.

    Args:
        runs: all of them.
        device: ``cpu`` or ``cuda:i``.
        together: the pairs of model and task whose runs go together on a CPU, and from how many
            runs on.
        jobs: how many processes work at once; None for `default_jobs`.
        threads: CPU threads that each trains with.
    """
    cohorts: dict[Pair, list[Run]] = {}
    for run in runs:
        cohorts.setdefault(_pair(run), []).append(run)
    if device != "cpu":
        return [Unit(tuple(cohort), device) for cohort in cohorts.values()]
    parts: list[tuple[Run, ...]] = []
    for pair, cohort in cohorts.items():
        wanted = -(-_jobs(device, len(runs), jobs) // len(cohorts))
        size = -(-len(cohort) // wanted)
        if size < together.get(pair, size + 1):
            size = 1
        parts += [tuple(cohort[i : i + size]) for i in range(0, len(cohort), size)]
    cores = max(threads, usable_cores() // _jobs(device, len(parts), jobs))
    return [Unit(part, device, threads, cores) for part in parts]


def _pair(run: Run) -> Pair:
    return run.info.model, run.info.task, run.protocol


def _look_at_pairs(host: PluginHost, runs: Sequence[Run], device: str) -> dict[Pair, int]:
    """Build each network once, so that what a model or task refuses is told before any run.

    Returns:
        The pairs of model and task whose runs train faster together than one by one, and from
        how many runs on they do.

    Raises:
        RequestError: for options or pairings that are refused. Anything else that goes wrong
            is left to the run, whose record will tell.
    """
    import torch

    from formalbench.evaluation.cells import check_process, split_lengths
    from formalbench.training.programs import least_together
    from formalbench.training.watch import check_watch

    together = {}
    for pair, run in {_pair(run): run for run in runs}.items():
        with torch.random.fork_rng(devices=[]):
            try:
                task = run.protocol.apply(host.task(run.task.name, run.task.options))
                check_process(task, run.protocol)
                split_lengths(task, "train"), split_lengths(task, "test")
                network = host.network(run.model.name, task, run.model.options)
                if run.learning_rate is not None:
                    check_watch(network, run.info.model, task, run.protocol)
                least = least_together(network, device.partition(":")[0], run.protocol.batch)
            except RequestError:
                raise
            except PLUGIN_FAILURES:
                continue
        if least is not None:
            together[pair] = least
    return together


def _work_off(
    host: PluginHost, units: Sequence[Unit], jobs: int, hear: Callable[[Message], None]
) -> Iterator[Outcome]:
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
            yield RunResult(run, unit.device, "error", "the worker process died").outcome()


def _do(host: PluginHost, unit: Unit, hear: Callable[[Message], None]) -> list[Outcome]:
    for run in unit.runs:
        hear((run.run_id, None))
    return do_unit(host, unit, lambda run_id, progress: hear((run_id, progress)))


def _with_pool(
    plugins: Sequence[LocalPlugin],
    units: Sequence[Unit],
    jobs: int,
    hear: Callable[[Message], None],
    lost: list[Unit],
) -> Iterator[Outcome]:
    """Work units off in processes; those unfinished when a process died are put into `lost`."""
    context = multiprocessing.get_context("spawn")
    messages = context.Queue()
    arguments = (os.getpid(), tuple(plugins), messages)
    pool = ProcessPoolExecutor(jobs, context, _start_worker, arguments)
    waiting = list(units)
    running: dict[Future[list[Outcome]], Unit] = {}
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


def _submit(pool: Executor, unit: Unit, running: dict[Future[list[Outcome]], Unit]) -> None:
    try:
        with _interrupts_ignored():  # a process that starts now inherits it
            running[pool.submit(_work, unit)] = unit
    except BrokenProcessPool:
        future: Future[list[Outcome]] = Future()
        future.set_exception(BrokenProcessPool())
        running[future] = unit


@contextlib.contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Put Ctrl-C off for a moment, so that it is never a starting worker's to handle.

    A process that starts now inherits that; here it is heard afterwards.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set, and only it hears of Ctrl-C
        return
    if hasattr(signal, "pthread_sigmask"):
        resource_tracker.ensure_running()  # else it starts now, and lets interrupts through again
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


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

_host: PluginHost | FormalbenchError | None = None
_messages: Any = None


def _start_worker(parent: int, plugins: tuple[LocalPlugin, ...], messages: Any) -> None:
    global _host, _messages
    threading.Thread(target=_end_with_parent, args=(parent,), daemon=True).start()
    os.dup2(2, 1)  # standard output belongs to the parent's command
    _messages = messages
    host = PluginHost(warn=lambda line: None)  # the parent has told already
    try:
        host.load_installed()
        for plugin in plugins:
            host.load_local(plugin)
    except FormalbenchError as error:
        _host = error  # an initialiser that raises would hide why
    else:
        _host = host


def _end_with_parent(parent: int) -> None:
    # A parent that is killed cannot stop its workers; they would wait for work for ever.
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _work(unit: Unit) -> list[Outcome]:
    if isinstance(_host, FormalbenchError):
        raise _host
    assert _host is not None
    return _do(_host, unit, _messages.put)


def runs_of(plan: Plan, store: Store) -> tuple[list[Run], list[Run]]:
    """Split a plan's runs into those the store holds as finished and those to do."""
    finished = {r.run_id for r in store.records() if r.status == "finished"}
    done = [run for run in plan.runs if run.run_id in finished]
    return done, [run for run in plan.runs if run.run_id not in finished]
