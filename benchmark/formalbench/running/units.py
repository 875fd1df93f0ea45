"""Units of work: runs that one process does together, and the file with their progress.

A worker writes one event per line to a file, which the submitter reads. So progress works with
every executor whose processes share the file system.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formalbench.cache import FORGOTTEN, SEAL, cache_folder
from formalbench.contracts.errors import PLUGIN_FAILURES, RequestError
from formalbench.contracts.hooks import Progress
from formalbench.contracts.record import Record
from formalbench.files import sweep
from formalbench.host import LocalPlugin, PluginHost
from formalbench.running.plan import ENDED, Run, key_of
from formalbench.store import read_record

if TYPE_CHECKING:
    from formalbench.contracts.protocol import Protocol
    from formalbench.contracts.specs import ModelSpec
    from formalbench.contracts.task import Task
    from formalbench.host.host import Selection


@dataclass(frozen=True)
class Unit:
    """A cohort of runs as plain data: names, parameters, paths; no objects.

    Attributes:
        runs: the runs, which differ only in learning rate or, under a protocol whose seeds share
            lengths, in seed.
        store: the folder for their records.
        plugins: the local plugins they need, with the contents that these must have.
        device: ``cpu``, ``cuda:i``, or ``cuda`` for the GPU that the process was given.
        threads: CPU threads to train with. Small networks gain little from more than one thread,
            lose much when cores are shared, and round differently.
        cores: number of parallel test batches, one thread each; it changes no result.
        progress: the file for progress events; None to write none.
    """

    runs: tuple[Run, ...]
    store: Path
    plugins: tuple[LocalPlugin, ...] = ()
    device: str = "cpu"
    threads: int = 1
    cores: int = 1
    progress: Path | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its runs, which are the same in every process."""
        return tuple(map(name_of, self.runs))

    @property
    def home(self) -> object:
        """The code that a process may have run before it does this unit; see `home_of`."""
        return home_of(self.runs[0], self.plugins)


def name_of(run: Run) -> str:
    """Return the name of a run, which is the same in every process."""
    return " ".join(key_of(run))


def home_of(run: Run, plugins: Sequence[LocalPlugin]) -> object:
    """Return the code, except formalbench's own, that a run's process loads."""
    return run.foreign_code, tuple(one for one in plugins if one.is_code)


def plugins_of(host: PluginHost, run: Run) -> tuple[LocalPlugin, ...]:
    """Return the local plugins that a run needs, in the order they were loaded."""
    return tuple(one for one in host.locals() if one.named.name in run.plugins)


def cohorts_of(runs: Sequence[Run]) -> list[tuple[Run, ...]]:
    """Return groups of runs that can train together, in order.

    The runs of a group share model, task and protocol. They also share the seed, since the lengths
    of a run's batches depend on it, unless the protocol's seeds share lengths.
    """
    cohorts: list[list[Run]] = []
    groups: dict[tuple[str, str, str, int | None], list[list[Run]]] = {}
    for run in runs:
        seed = None if run.protocol.shared_lengths else run.seed
        key = (run.info.model, run.info.task, run.protocol.title, seed)
        for cohort in groups.setdefault(key, []):
            if cohort[0].protocol == run.protocol:
                cohort.append(run)
                break
        else:
            cohorts.append([run])
            groups[key].append(cohorts[-1])
    return [tuple(cohort) for cohort in cohorts]


def divided(cohort: Sequence[Run], device: str, least: int | None) -> Iterator[tuple[Run, ...]]:
    """Yield the parts of a cohort that each go to one process.

    On a GPU all its runs train together. On a CPU every run is separate, so that each core has one
    run and a kill loses one, except for networks so small that they train faster together. The
    number of processes does not matter, because it would change the last digits of the results.
    `least` is the smallest number of runs that train faster together on a CPU; None for never.
    """
    alone = device == "cpu" and (least is None or len(cohort) < least)
    size = 1 if alone else len(cohort)
    for first in range(0, len(cohort), size):
        yield tuple(cohort[first : first + size])


@lru_cache(maxsize=8)
def _build_task(
    host: PluginHost, name: str, options: tuple[tuple[str, Any], ...], protocol: Protocol
) -> Task:
    return protocol.apply(host.task(name, dict(options)))


def task_of(host: PluginHost, run: Run) -> Task:
    """Return the task of a run under its protocol; the last ones are cached."""
    options = tuple(sorted(run.task.options.items()))
    task: Task = _build_task(host, run.task.name, options, run.protocol)
    return task


@lru_cache(maxsize=8)
def _select_model(
    host: PluginHost, name: str, options: tuple[tuple[str, Any], ...]
) -> Selection[ModelSpec]:
    return host.select_model(name, (), dict(options))


def model_of(host: PluginHost, run: Run) -> Selection[ModelSpec]:
    """Return the model of a run; the last ones are cached."""
    return _select_model(host, run.model.name, tuple(sorted(run.model.options.items())))


def look_at_task(host: PluginHost, run: Run) -> None:
    """Check before training that a task supports its options and protocol.

    Raises:
        RequestError: for options, lengths or a protocol that the task refuses. Other errors are
            ignored here; the record of the run will contain them.
    """
    from formalbench.evaluation.cells import cell_lengths, check_process, is_window, split_lengths

    try:
        task = task_of(host, run)
        check_process(task, run.protocol)
        split_lengths(task, "train"), split_lengths(task, "test")
        if not is_window(task, run.protocol):
            cell_lengths(task, run.protocol)
        if run.protocol.splits is None:  # the protocol has lengths of its own
            host.warn_of_overlap(task)
    except RequestError:
        raise
    except PLUGIN_FAILURES:
        return


def least_of(host: PluginHost, run: Run, device: str) -> int | None:
    """Build a run's network, and return the smallest number of such runs that train together.

    Raises:
        RequestError: for options, or a combination with the task, that the model refuses. Other
            errors are ignored here; the record of the run will contain them.
    """
    import torch

    from formalbench.contracts.network import traits_of
    from formalbench.evaluation.cells import check_lengths
    from formalbench.training.gradients import check_penalties, least_together
    from formalbench.training.trainer import resolve_protocol
    from formalbench.training.validation import check_watch

    with torch.random.fork_rng(devices=[]):
        try:
            task = task_of(host, run)
            network = host.build_network(model_of(host, run), task)
            if run.learning_rate is not None:
                check_lengths(run.info.model, traits_of(network).lengths, task, run.protocol)
                resolved = resolve_protocol(host, run.protocol)
                check_watch(network, run.info.model, task, run.protocol, resolved.probes)
                check_penalties(network, run.info.model, resolved.penalties)
            return least_together(network, device.partition(":")[0], run.protocol.batch)
        except RequestError:
            raise
        except PLUGIN_FAILURES:
            return None


def have_ended(records: Sequence[Path | str]) -> bool:
    """Return whether each file is the record of a run whose training and test have ended.

    A run whose test failed has not ended: its saved training is kept and not repeated.
    """
    return all(map(_has_ended, map(Path, records)))


def _has_ended(file: Path) -> bool:
    try:
        record = read_record(file)
    except RequestError:
        return False
    return isinstance(record, Record) and record.status in ENDED


MAX_HEADER = 1 << 20
"""Maximum bytes of the line in a saved training that names its runs."""


def clean_cache() -> None:
    """Delete leftovers of killed processes: unfinished files, and saved training of ended runs."""
    sweep(cache_folder(), age=FORGOTTEN)
    for file in (cache_folder() / "training").glob("*/*"):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            with file.open("rb") as handle:
                handle.seek(SEAL)
                records = json.loads(handle.readline(MAX_HEADER))["records"]
            if records and have_ended(records):
                file.unlink()
                file.parent.rmdir()  # fails if other cohorts are saved there


Hear = Callable[[str, str, Progress | None], None]
"""Called with an event (``started``, ``progress``, ``alive``, ``finished``), a run's `test_id`, and
its progress."""

BEAT = 1.0
"""Seconds between two ``alive`` events."""


class ProgressFile:
    """Writes events; if the file cannot be written, only the events are lost.

    Args:
        path: the file; None to write no events.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._last = 0.0

    def started(self, run: str) -> None:
        """Report that a run begins."""
        self._write({"event": "started", "run": run})

    def progress(self, run: str, progress: Progress) -> None:
        """Report the progress of a run."""
        self._write({"event": "progress", "run": run, "progress": asdict(progress)})

    def alive(self, run: str) -> None:
        """Report that a long computation is still going on; may be called any number of times."""
        if time.monotonic() - self._last >= BEAT:
            self._last = time.monotonic()
            self._write({"event": "alive", "run": run})

    def finished(self, run: str) -> None:
        """Report that a run's record is in the store."""
        self._write({"event": "finished", "run": run})

    def _write(self, event: dict[str, Any]) -> None:
        if self._path is None:
            return
        with contextlib.suppress(OSError), self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(event) + "\n")
        follower = _followers.get(self._path)
        if follower is not None and follower.thread == threading.get_ident():
            follower.read()  # the reader waits for this thread and cannot read the file itself


class Follower:
    """Reads the events of a unit as they are written."""

    def __init__(self, path: Path, hear: Hear) -> None:
        self.thread = threading.get_ident()
        self._path, self._hear = path, hear
        self._read = 0
        _followers[path] = self

    def read(self) -> None:
        """Pass on the new events."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._read)
                lines, newline, _ = file.read().rpartition(b"\n")
        except OSError:
            return
        self._read += len(lines) + len(newline)
        for line in lines.splitlines():
            try:
                event = json.loads(line)
                progress = event.get("progress")
                arguments = event["event"], event["run"], Progress(**progress) if progress else None
            except (ValueError, KeyError, TypeError, AttributeError):
                continue  # half written, or damaged by a plugin
            self._hear(*arguments)

    def close(self) -> None:
        """Read the remaining events, and stop following the file."""
        self.read()
        _followers.pop(self._path, None)


_followers: dict[Path, Follower] = {}
