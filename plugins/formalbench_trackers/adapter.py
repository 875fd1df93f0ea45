"""From the hooks of a session to a tracking library: what every tracker here has in common."""

from __future__ import annotations

import queue
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from formalbench.contracts.config import Value
from formalbench.contracts.errors import PLUGIN_FAILURES
from formalbench.contracts.hooks import Progress, RunInfo, hookimpl

from formalbench_trackers.told import by_length, config_of, facts_of, plain, results_of

if TYPE_CHECKING:
    from formalbench.contracts.record import Record

H = TypeVar("H")

Axis = Literal["step", "length"]
"""What numbers are over: optimiser steps, or the lengths of test strings."""

PATIENCE = 60.0
"""Seconds that a library has, once the session is done, to send what it has not sent yet."""

INTERRUPTED = "interrupted"
"""The status of a run that has no record."""


class Tracker(ABC, Generic[H]):
    """An observer that tells a library of runs.

    The library has a thread of its own, so that no run ever waits for a server. Once it has raised
    it is told nothing more, and whoever tells it next hears why.
    """

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._failure: BaseException | None = None
        self._open: dict[str, H] = {}
        self._thread = threading.Thread(target=self._tell_library, daemon=True)
        self._thread.start()

    # What a library is asked to do, in its thread.

    @abstractmethod
    def begin(self, run: RunInfo, facts: Mapping[str, Value]) -> H:
        """Open a run, and return what stands for it."""

    @abstractmethod
    def log(self, opened: H, axis: Axis, at: int, numbers: Mapping[str, float]) -> None:
        """Add a point to some of a run's curves."""

    @abstractmethod
    def conclude(
        self, opened: H, status: str, config: Mapping[str, Value], results: Mapping[str, float]
    ) -> None:
        """Close a run; without a record it is `INTERRUPTED`, and nothing else is known."""

    # What a session tells.

    @hookimpl
    def formalbench_run_started(self, run: RunInfo) -> None:
        """Open a run."""
        self._tell(partial(self._opened, run))

    @hookimpl
    def formalbench_run_progress(self, run: RunInfo, progress: Progress) -> None:
        """Add to its curves."""
        numbers = {plain(name): value for name, value in progress.metrics.items()}
        if numbers:
            self._tell(lambda: self.log(self._opened(run), "step", progress.step, numbers))

    @hookimpl
    def formalbench_run_finished(self, run: RunInfo, record: Record) -> None:
        """Add what it did at every length, and close it."""
        self._tell(partial(self._finish, run, record))

    def close(self) -> None:
        """Close what is open, and wait until all is told.

        Raises:
            TimeoutError: if that takes too long.
            Exception: what the library raised.
        """
        self._waiting.put(None)
        self._thread.join(PATIENCE)
        if self._failure is not None:
            raise self._failure
        if self._thread.is_alive():
            raise TimeoutError(f"not everything was sent within {PATIENCE:g} s")

    def _tell(self, what: Callable[[], object]) -> None:
        if self._failure is not None:
            raise self._failure
        self._waiting.put(what)

    def _tell_library(self) -> None:
        try:
            while (what := self._waiting.get()) is not None:
                what()
            for opened in self._open.values():
                self.conclude(opened, INTERRUPTED, {}, {})
        except PLUGIN_FAILURES as error:
            self._failure = error

    def _opened(self, run: RunInfo) -> H:
        if run.test_id not in self._open:  # one that nobody could do finishes without a start
            self._open[run.test_id] = self.begin(run, facts_of(run))
        return self._open[run.test_id]

    def _finish(self, run: RunInfo, record: Record) -> None:
        opened = self._opened(run)
        for length, numbers in by_length(record):
            self.log(opened, "length", length, numbers)
        del self._open[run.test_id]
        self.conclude(opened, record.status, config_of(record), results_of(record))
