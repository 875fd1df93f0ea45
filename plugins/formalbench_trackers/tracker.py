"""Base class of the trackers, and the conversion of runs to plain names and numbers."""

from __future__ import annotations

import json
import math
import queue
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from formalbench.contracts.config import Value
from formalbench.contracts.errors import PLUGIN_FAILURES
from formalbench.contracts.hooks import Progress, RunInfo, hookimpl

if TYPE_CHECKING:
    from formalbench.contracts.record import Record


LOSS = "train/loss"
"""The training loss, which progress reports in nats."""


LONGEST = 250
"""Maximum characters of a name or text, which is MLflow's limit for names."""


def title(run: RunInfo) -> str:
    """Return the display name of a run."""
    rate = "" if run.learning_rate is None else f", rate {run.learning_rate:g}"
    return f"{run.model} on {run.task}, seed {run.seed}{rate}"


def facts_of(run: RunInfo) -> dict[str, Value]:
    """Return the facts that are known when a run begins."""
    facts: dict[str, Value | None] = {
        **{"train_id": run.train_id, "test_id": run.test_id, "model": run.model, "task": run.task},
        **{"protocol": run.protocol, "learning_rate": run.learning_rate, "seed": run.seed},
        "steps": run.steps,
    }
    return {name: value for name, value in facts.items() if value is not None}


def config_of(record: Record) -> dict[str, Value]:
    """Return the configuration of a run from its record; nested keys are joined by dots."""
    whole: dict[str, Any] = {
        **{"model": record.model.options, "task": record.task.options},
        "protocol": record.protocol.model_dump(mode="json"),
        "environment": record.environment.model_dump(mode="json"),
        "command": record.command,
        "parameters": record.model.parameters,
    }
    return {plain(name): value for name, value in _flat("", whole)}


def _flat(prefix: str, value: Any) -> Iterator[tuple[str, Value]]:
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from _flat(f"{prefix}.{name}" if prefix else str(name), part)
    elif isinstance(value, bool | int | float):
        yield prefix, value
    elif value is not None:
        yield prefix, value if isinstance(value, str) else json.dumps(value)


def plain(name: str) -> str:
    """Return a name that every library accepts."""
    return re.sub(r"[^A-Za-z0-9_./ -]", "_", name)[:LONGEST]


def results_of(record: Record) -> dict[str, float]:
    """Return the final metrics of a run."""
    from formalbench.contracts.objective import CROSS_ENTROPY

    results: dict[str, float | None] = {}
    if selected := record.selected:
        results |= {"validation-accuracy": selected.accuracy, "selected-step": selected.step}
    if training := record.training:
        results |= {"steps": training.steps, "seconds": training.seconds}
    if test := record.test:
        results |= {
            test.metric: test.accuracy,
            "chance": test.chance_length,
            "scaled-accuracy": test.scaled_accuracy,
            **{
                name: whole.mean for name in test.cells.metrics if (whole := test.cells.whole(name))
            },
            CROSS_ENTROPY: test.cells.bits,
            **{f"{group}-{test.metric}": share for group, share in test.cells.by_group.items()},
        }
    return {plain(f"final/{name}"): value for name, value in results.items() if value is not None}


def by_length(record: Record) -> Iterator[tuple[int, dict[str, float]]]:
    """Yield the metrics of a test, by string length and by name.

    A metric that a record sums over several lengths is yielded at the largest of them.
    """
    from formalbench.contracts.objective import CROSS_ENTROPY

    if record.test is None:
        return
    cells, metric = record.test.cells, record.test.metric
    last = len(cells.length) - 1
    for index, (length, right, answers) in enumerate(
        zip(cells.length, cells.correct, cells.asked, strict=True)
    ):
        metrics = {metric: right / answers}
        whole = cells.window == 1 or (not cells.group and index % cells.window == cells.window - 1)
        if whole or (not cells.group and index == last):
            for name, sums in cells.metrics.items():
                total, count = sums.total[index // cells.window], sums.count[index // cells.window]
                if count:
                    metrics[name] = total / count / (1000 if name == CROSS_ENTROPY else 1)
        part = f"{cells.group[index]}/" if cells.group else ""
        yield length, {plain(f"test/{part}{name}"): value for name, value in metrics.items()}


H = TypeVar("H")

Axis = Literal["step", "length"]
"""The x axis of metrics: optimiser steps, or the lengths of test strings."""

PATIENCE = 60.0
"""Seconds that a library has after the session to send its remaining data."""

INTERRUPTED = "interrupted"
"""The status of a run that has no record."""


class Tracker(ABC, Generic[H]):
    """An observer that sends runs to a library.

    The library runs in its own thread, so that no run waits for a server. After an exception, the
    library is not called again, and the next notification raises this exception.
    """

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._failure: BaseException | None = None
        self._open: dict[str, H] = {}
        self._thread = threading.Thread(target=self._run_calls, daemon=True)
        self._thread.start()

    # Implemented by subclasses; called in the library's thread.

    @abstractmethod
    def begin(self, run: RunInfo, facts: Mapping[str, Value]) -> H:
        """Open a run, and return a handle for it."""

    @abstractmethod
    def log(self, opened: H, axis: Axis, at: int, numbers: Mapping[str, float]) -> None:
        """Add a point to some of a run's curves."""

    @abstractmethod
    def conclude(
        self, opened: H, status: str, config: Mapping[str, Value], results: Mapping[str, float]
    ) -> None:
        """Close a run; without a record its status is `INTERRUPTED`, and there are no results."""

    # Hooks that a session calls.

    @hookimpl
    def formalbench_run_started(self, run: RunInfo) -> None:
        """Open a run."""
        self._enqueue(partial(self._handle, run))

    @hookimpl
    def formalbench_run_progress(self, run: RunInfo, progress: Progress) -> None:
        """Add to its curves; the loss is in bits, like cross-entropy."""
        metrics = dict(progress.metrics)
        if LOSS in metrics:
            metrics[LOSS] /= math.log(2)
        numbers = {plain(name): value for name, value in metrics.items()}
        if numbers:
            self._enqueue(lambda: self.log(self._handle(run), "step", progress.step, numbers))

    @hookimpl
    def formalbench_run_finished(self, run: RunInfo, record: Record) -> None:
        """Add its metrics at every length, and close it."""
        self._enqueue(partial(self._finish, run, record))

    def close(self) -> None:
        """Close open runs, and wait until the library has received everything.

        Raises:
            TimeoutError: if that takes too long.
            Exception: the library's exception, if it raised one.
        """
        self._queue.put(None)
        self._thread.join(PATIENCE)
        if self._failure is not None:
            raise self._failure
        if self._thread.is_alive():
            raise TimeoutError(f"not all data was sent within {PATIENCE:g} s")

    def _enqueue(self, call: Callable[[], object]) -> None:
        if self._failure is not None:
            raise self._failure
        self._queue.put(call)

    def _run_calls(self) -> None:
        try:
            while (call := self._queue.get()) is not None:
                call()
            for handle in self._open.values():
                self.conclude(handle, INTERRUPTED, {}, {})
        except PLUGIN_FAILURES as error:
            self._failure = error

    def _handle(self, run: RunInfo) -> H:
        if run.test_id not in self._open:  # a run that no worker could do has no start event
            self._open[run.test_id] = self.begin(run, facts_of(run))
        return self._open[run.test_id]

    def _finish(self, run: RunInfo, record: Record) -> None:
        handle = self._handle(run)
        for length, numbers in by_length(record):
            self.log(handle, "length", length, numbers)
        del self._open[run.test_id]
        self.conclude(handle, record.status, config_of(record), results_of(record))
