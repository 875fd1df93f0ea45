"""Runs that one process does together."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formalbench.cache import FORGOTTEN, SEAL, cache_folder
from formalbench.contracts.errors import PLUGIN_FAILURES, RequestError
from formalbench.contracts.record import Record
from formalbench.files import sweep
from formalbench.host import LocalPlugin, PluginHost
from formalbench.running.plan import ENDED, Run, key_of
from formalbench.store import read_record

if TYPE_CHECKING:
    from formalbench.contracts.protocol import Protocol
    from formalbench.contracts.task import Task


@dataclass(frozen=True)
class Unit:
    """A cohort of runs as plain data: names, parameters, paths; no objects.

    Attributes:
        runs: they differ in learning rate only or, under a protocol whose seeds share lengths, in
            seed.
        store: the folder their records go to.
        plugins: the local plugins they need, with the contents these must have.
        device: ``cpu``, ``cuda:i``, or ``cuda`` for the GPU that the process was given.
        threads: CPU threads to train with. Networks this small gain little from more than
            one, lose much when cores are shared, and round differently.
        cores: how many batches to test at a time, each by one thread; it changes no result.
        progress: the file that is told how far it is; None to tell nobody.
        debug: whether the whole traceback of a run that fails goes to standard error.
    """

    runs: tuple[Run, ...]
    store: Path
    plugins: tuple[LocalPlugin, ...] = ()
    device: str = "cpu"
    threads: int = 1
    cores: int = 1
    progress: Path | None = None
    debug: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """What its runs are known by in every process."""
        return tuple(map(name_of, self.runs))

    @property
    def home(self) -> object:
        """What has run in a process that may do it: no other stranger's code than its own."""
        return home_of(self.runs[0], self.plugins)


def name_of(run: Run) -> str:
    """Return what a run is known by in every process."""
    return " ".join(key_of(run))


def home_of(run: Run, plugins: Sequence[LocalPlugin]) -> object:
    """Return the code, formalbench's own aside, that a run's process has in it."""
    return run.strangers, tuple(one for one in plugins if one.is_code)


def plugins_of(host: PluginHost, run: Run) -> tuple[LocalPlugin, ...]:
    """Return the local plugins that a run needs, in the order they were loaded."""
    return tuple(one for one in host.locals() if one.named.name in run.plugins)


def cohorts_of(runs: Sequence[Run]) -> list[tuple[Run, ...]]:
    """Return the runs that can train together, in order.

    They are of one model on one task under one protocol and, since the lengths of a run's batches
    depend on its seed, of one seed; of several under a protocol whose seeds share them.
    """
    found: list[list[Run]] = []
    places: dict[tuple[str, str, str, int | None], list[list[Run]]] = {}
    for run in runs:
        seed = None if run.protocol.shared_lengths else run.seed
        pair = (run.info.model, run.info.task, run.protocol.title, seed)
        for cohort in places.setdefault(pair, []):
            if cohort[0].protocol == run.protocol:
                cohort.append(run)
                break
        else:
            found.append([run])
            places[pair].append(found[-1])
    return [tuple(cohort) for cohort in found]


def divided(cohort: Sequence[Run], device: str, least: int | None) -> Iterator[tuple[Run, ...]]:
    """Divide a cohort into what goes to one process.

    On a GPU its runs train together. On a CPU every run is by itself, so that a core is busy with
    one and a kill loses one, but for networks so small that they train faster together. How many
    processes there are has no say: it would have one in the last digits.

    Args:
        cohort: the runs.
        device: ``cpu``, ``cuda`` or ``cuda:i``.
        least: from how many runs on they train faster together on a CPU; None for never.
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
    """Return the task of a run, as its protocol has it; the last ones are kept."""
    options = tuple(sorted(run.task.options.items()))
    task: Task = _build_task(host, run.task.name, options, run.protocol)
    return task


def look_at_task(host: PluginHost, run: Run) -> None:
    """Refuse what a task cannot be asked under a protocol, before anything is trained.

    Raises:
        RequestError: for options, lengths or a protocol that the task refuses. Anything else that
            goes wrong is left to the run, whose record will tell.
    """
    from formalbench.evaluation.cells import cell_lengths, check_process, is_window, split_lengths

    try:
        task = task_of(host, run)
        check_process(task, run.protocol)
        split_lengths(task, "train"), split_lengths(task, "test")
        if not is_window(task, run.protocol):
            cell_lengths(task, run.protocol)
        if run.protocol.splits is None:  # lengths of its own are meant
            host.warn_of_overlap(task)
    except RequestError:
        raise
    except PLUGIN_FAILURES:
        return


def least_of(host: PluginHost, run: Run, device: str) -> int | None:
    """Build a run's network once, and say from how many such runs on they train together.

    Raises:
        RequestError: for options or pairings that the model refuses. Anything else that goes
            wrong is left to the run, whose record will tell.
    """
    import torch

    from formalbench.contracts.network import traits_of
    from formalbench.evaluation.cells import check_lengths
    from formalbench.training.gradients import check_penalties, least_together
    from formalbench.training.resolved_protocol import make_recipe
    from formalbench.training.validation import check_watch

    with torch.random.fork_rng(devices=[]):
        try:
            task = task_of(host, run)
            network = host.network(run.model.name, task, run.model.options)
            if run.learning_rate is not None:
                check_lengths(run.info.model, traits_of(network).lengths, task, run.protocol)
                recipe = make_recipe(host, run.protocol)
                check_watch(network, run.info.model, task, run.protocol, recipe.probes)
                check_penalties(network, run.info.model, recipe.penalties)
            return least_together(network, device.partition(":")[0], run.protocol.batch)
        except RequestError:
            raise
        except PLUGIN_FAILURES:
            return None


def have_ended(records: Sequence[Path | str]) -> bool:
    """Return whether each file is the record of a run whose training and test have ended.

    A run whose test failed has not: its training is not repeated.
    """
    return all(map(_has_ended, map(Path, records)))


def _has_ended(file: Path) -> bool:
    try:
        record = read_record(file)
    except RequestError:
        return False
    return isinstance(record, Record) and record.status in ENDED


MAX_HEADER = 1 << 20
"""Bytes of the line of a saved training that names its runs."""


def clean_cache() -> None:
    """Delete what killed processes left: unfinished files, and saved training of ended runs."""
    sweep(cache_folder(), age=FORGOTTEN)
    for file in (cache_folder() / "training").glob("*/*"):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            with file.open("rb") as opened:
                opened.seek(SEAL)
                records = json.loads(opened.readline(MAX_HEADER))["records"]
            if records and have_ended(records):
                file.unlink()
                file.parent.rmdir()  # unless other cohorts are saved there
