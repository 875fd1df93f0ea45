"""Carry out a unit in a process: train, select and test its runs, and write their records.

Executors call only `work`. Its argument is plain data, and it returns the ids of records that are
in the store.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from formalbench.commit import own_commit
from formalbench.contracts.errors import PLUGIN_FAILURES, RequestError
from formalbench.contracts.hooks import Progress
from formalbench.device import keep_freed_memory
from formalbench.host import LocalPlugin, PluginHost
from formalbench.running.run_record import RunFailure, plain_line
from formalbench.running.units import ProgressFile, Unit, have_ended
from formalbench.store import Store

if TYPE_CHECKING:
    import torch

    from formalbench.running.run_record import RunResult, Written

_lock = threading.Lock()
"""Random numbers and the thread count are global to the process, so one unit runs at a time."""


def work(unit: Unit) -> list[str]:
    """Do a unit of work; every run gets a record, even if it fails.

    A run with stored weights is not trained again; the stored weights are tested.

    Returns:
        The `test_id` of each record, in the order of the runs.

    Raises:
        RequestError: if a plugin's file is not what the unit says, or the store cannot be written.
        BrokenPluginError: if a plugin cannot be loaded.
    """
    # The caller may use standard output, and a plugin can print.
    with _lock, contextlib.redirect_stdout(sys.stderr):
        host = _host_of(unit)
        with _computing(unit) as device:
            return _Work(host, unit, device).run()


_shared_host: PluginHost | None = None
"""The host of a session whose units run in this process."""


@contextlib.contextmanager
def sharing(host: PluginHost) -> Iterator[None]:
    """Let units in this process use a host that is already loaded."""
    global _shared_host  # executors pass plain data only
    before, _shared_host = _shared_host, host
    try:
        yield
    finally:
        _shared_host = before


def _host_of(unit: Unit) -> PluginHost:
    if _shared_host is not None and set(unit.plugins) <= set(_shared_host.locals()):
        return _shared_host
    return load_host(unit.plugins)


@lru_cache(maxsize=4)
def load_host(plugins: tuple[LocalPlugin, ...]) -> PluginHost:
    """Return a worker's host: the installed plugins and some local ones."""
    host = PluginHost(warn=lambda line: None)  # the submitting process has warned already
    host.load_installed()
    for plugin in plugins:
        host.load_local(plugin)
    return host


@contextlib.contextmanager
def _computing(unit: Unit) -> Iterator[torch.device]:
    """Prepare the process for a unit, and yield its device."""
    import torch

    from formalbench.device import own_numerics

    threads = torch.get_num_threads()
    device = torch.device(unit.device)
    if device.type == "cpu":
        torch.set_num_threads(unit.threads)
        keep_freed_memory()
    else:
        current = torch.cuda.current_device()  # initialises CUDA, which the reset needs
        device = torch.device("cuda", current if device.index is None else device.index)
        torch.cuda.reset_peak_memory_stats(device)
    try:
        with own_numerics():
            yield device
    finally:
        torch.set_num_threads(threads)


class _Work:
    def __init__(self, host: PluginHost, unit: Unit, device: torch.device) -> None:
        from formalbench.running.run_record import RunResult

        own_commit()  # before training: a later commit would not describe the running code
        self.host, self.unit, self.device = host, unit, device
        self.store = Store(unit.store)
        self.progress = ProgressFile(unit.progress)
        self.results = [RunResult(run, str(device)) for run in unit.runs]

    def run(self) -> list[str]:
        from formalbench.running.cohort import take_kept, train_runs

        for result in self.results:
            self.progress.started(result.run.test_id)
        untrained = [
            result
            for result in self.results
            if not take_kept(self.host, self.store, result, self.device)
        ]
        if untrained:
            report = self.progress.progress
            train_runs(self.host, self.store, untrained, self.device, report)
        for result in self.results:
            if result.status == "finished":
                self._test(result)
            self._write(result)
            self.progress.finished(result.run.test_id)
        for result in self.results:
            if result.saved is not None and have_ended(result.saved.records):
                result.saved.forget()
        return [result.run.test_id for result in self.results]

    def _write(self, result: RunResult) -> None:
        """Write the record of a run; a run whose weights cannot be written has failed."""
        record, weights = self._outcome(result)
        try:
            self.store.write(record, weights)
        except RequestError as error:
            if weights is None:
                raise
            result.fail(RunFailure("error", plain_line(f"the weights were not saved: {error}")))
            result.tested = None
            self.store.write(result.outcome()[0])

    def _outcome(self, result: RunResult) -> Written:
        from pydantic import ValidationError

        from formalbench.contracts.errors import one_line
        from formalbench.running.run_record import failure_of

        try:
            return result.outcome()
        except PLUGIN_FAILURES as error:  # a metric returned values that a record cannot hold
            failure = failure_of(error, self.host)
            if isinstance(error, ValidationError):
                message = f"the result does not fit into a record: {one_line(error)}"
                failure = failure._replace(message=plain_line(message))
            result.fail(failure)
            result.trained = result.tested = None
            return result.outcome()

    def _test(self, result: RunResult) -> None:
        from formalbench.running.cohort import test_run
        from formalbench.running.run_record import failure_of

        trained = result.kept[0].training if result.kept else result.trained
        steps, stage = (trained.steps, trained.stage) if trained else (0, 0)
        self.progress.progress(result.run.test_id, Progress("test", steps, stage))
        try:
            alive = partial(self.progress.alive, result.run.test_id)
            test_run(self.host, result, self.device, self.unit.cores, alive)
        except PLUGIN_FAILURES as error:
            result.fail(failure_of(error, self.host))
