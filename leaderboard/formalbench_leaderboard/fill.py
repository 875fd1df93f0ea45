"""Filling the leaderboard: find the plan's missing runs, estimate their time, and train them."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from formalbench.contracts.errors import RequestError
from formalbench.contracts.record import Record
from formalbench.documents.reproduction import UNFINISHED, Document, Scale, read_document
from formalbench.documents.text import plural
from formalbench.running.estimate import due, estimate
from formalbench.running.plan import ENDED, Run, RunKey, RunOptions, RunPlan, ends, key_of
from formalbench.running.session import on_devices
from formalbench.statistics.selection import current_of
from formalbench.store import PUBLISHED_RESULTS, REPRODUCTIONS, Store
from formalbench.store.record_file import read_packed
from formalbench.ui.live import execute_live

from formalbench_leaderboard.plan import CLAIM_DIFFERS, Plan, PlanEntry, runs_of

if TYPE_CHECKING:
    from formalbench.host.host import PluginHost

HOUR = 3600

GRACE = 60.0
"""Seconds in which a reproduction must end after an interrupt."""


@dataclass(frozen=True)
class ResultFolders:
    """Where to look for the runs of a plan, and where to write new ones.

    Attributes:
        results: the folder for new records.
        repository: the root of the clone; None outside of one.
    """

    results: Path
    repository: Path | None

    def records(self) -> list[Record]:
        """Read the records of both folders."""
        records = Store(self.results).records()
        if self.repository is not None:
            records += Store(self.repository / PUBLISHED_RESULTS).records()
        return records

    @property
    def pages(self) -> Path:
        """The folder for the pages of reproductions.

        Raises:
            RequestError: outside of a clone.
        """
        if self.repository is None:
            raise RequestError(
                "a plan with reproductions is filled inside a clone of the formalbench "
                "repository, where their pages go"
            )
        return self.repository / REPRODUCTIONS


def results_of(runs: Sequence[Run], records: Sequence[Record]) -> dict[RunKey, Record]:
    """Return the records that are results of these runs."""
    by_key = {key_of(run): run for run in runs}
    return {
        key: record
        for record in records
        if (key := key_of(record)) in by_key and ends(record, by_key[key])
    }


@dataclass(frozen=True)
class MissingEntry:
    """The missing part of an entry of a plan.

    Attributes:
        entry: the entry.
        count: number of missing runs, without those counted in earlier entries. Runs at a second
            learning rate are counted only after the first rate has failed. A reproduction counts
            as one.
        core_hours: estimated time of these runs, one after another; None if there is no record to
            estimate from.
    """

    entry: PlanEntry
    count: int
    core_hours: float | None


def missing(
    host: PluginHost, plan: Plan, place: ResultFolders, device: str = "cpu"
) -> list[MissingEntry]:
    """Return the missing part of each entry of a plan, in order.

    Raises:
        RequestError: if a file among the records is not a record.
    """
    records = place.records()
    done = results_of(runs_of(plan.entries), records)
    counted: set[RunKey] = set()
    entries = []
    for entry in plan.entries:
        if entry.reproduction is not None:
            entries.append(_missing_page(host, entry, place.pages))
            continue
        runs = tuple(run for run in due(entry.runs, done) if key_of(run) not in counted)
        counted |= {key_of(run) for run in runs}
        cost = estimate(RunPlan(runs), device, {}, records)
        # A protocol without any record gives no estimate; any other gives one for every run.
        seconds = _upper_bound(runs, device, records) if cost.sources["nothing"] else cost.seconds
        hours = None if seconds is None else seconds / HOUR
        entries.append(MissingEntry(entry, len(runs), hours))
    return entries


def _upper_bound(runs: Sequence[Run], device: str, records: Sequence[Record]) -> float | None:
    """Return the seconds that runs take if each uses up its budget of training strings.

    The speed of a model is estimated from its runs under any protocol or, if there are none, from
    those of other models; None if there is no record.
    """
    kind = device.partition(":")[0]
    speeds: dict[str, list[float]] = {}
    for record in records:
        if record.training and record.environment.device == kind and record.training.strings:
            for name in (record.model.name, ""):
                speeds.setdefault(name, []).append(record.training.strings_per_second)
    if not speeds:
        return None
    means = {name: fmean(values) for name, values in speeds.items()}
    return sum(
        run.info.steps
        * run.protocol.batch
        * run.protocol.accumulate
        / means.get(run.model.name, means[""])
        for run in runs
    )


def _missing_page(host: PluginHost, entry: PlanEntry, pages: Path) -> MissingEntry:
    """Return whether the page of a reproduction is missing, and how long the reproduction takes."""
    assert entry.reproduction is not None
    file = pages / f"{entry.reproduction.name}.json"
    hours = entry.reproduction.core_hours[entry.scale == "paper"]
    if not file.exists():
        return MissingEntry(entry, 1, hours)
    page = read_document(file)
    if page.scale == "quick" and entry.scale == "paper":
        return MissingEntry(entry, 1, hours)
    if _is_complete(page, entry.scale) and not _is_stale(host, page, file):
        return MissingEntry(entry, 0, 0.0)
    return MissingEntry(entry, 1, page.seconds / HOUR if hours is None else hours)


def _is_complete(page: Document, scale: Scale) -> bool:
    """Whether a page has every run of a scale; at the scale paper nothing may be left out."""
    if any(UNFINISHED in remark for remark in page.remarks):
        return False
    verdicts = {one.verdict for one in (*page.cells, *page.claims)}
    return scale == "quick" or "not run at this scale" not in verdicts


def _is_stale(host: PluginHost, page: Document, file: Path) -> bool:
    """Whether a page has a note that it is stale, or its records are of other versions."""
    if page.notes:
        return True
    records = file.with_suffix(".records.jsonl")
    if not records.exists():
        return False
    current = current_of(host)
    return any(
        isinstance(record, Record) and current.standing(record) == "stale"
        for record in read_packed(records)
    )


def fill(
    host: PluginHost,
    lacking: Sequence[MissingEntry],
    place: ResultFolders,
    options: RunOptions,
    hours: float | None = None,
) -> list[str]:
    """Train the missing runs of a plan in order; interrupted runs continue from their checkpoint.

    Args:
        host: the plugins.
        lacking: the result of `missing`.
        place: where to write records.
        options: the options of the runs.
        hours: time limit; None for no limit.

    Returns:
        A line with the number of failed runs, if there are any, and one for each failed
        reproduction.

    Raises:
        RequestError: if a task or a model refuses a run; nothing is trained then.
        KeyboardInterrupt: at Ctrl-C.
    """
    end = None if hours is None else time.monotonic() + hours * HOUR
    failed: list[str] = []
    left = [one.entry for one in lacking if one.count]
    store = Store(place.results)
    before = {key_of(record): record for record in store.records()}
    try:
        with _interrupted_at(end):
            for is_page, entries in groupby(left, lambda one: one.reproduction is not None):
                if not is_page:
                    _train(host, runs_of([*entries]), place, options)
                    continue
                for entry in entries:
                    if line := _reproduce(host, entry, place, options):
                        failed.append(line)
    except KeyboardInterrupt:
        if end is None or time.monotonic() < end:
            raise
    keys = {key_of(run) for run in runs_of(left)}
    new = [
        record
        for record in store.records()
        if key_of(record) in keys and record != before.get(key_of(record))
    ]
    count = sum(record.status not in ENDED for record in new)
    lines = [f"{count} of {plural(len(new), 'run')} failed: their records say why"]
    return (lines if count else []) + failed


@contextlib.contextmanager
def _interrupted_at(end: float | None) -> Iterator[None]:
    """Raise `KeyboardInterrupt` when `time.monotonic()` reaches a time."""
    # A shell may have started this process with interrupts ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = None
    if end is not None:
        # A real signal also ends the wait for a child, which `_thread.interrupt_main` does not.
        interrupt = partial(signal.pthread_kill, threading.get_ident(), signal.SIGINT)
        timer = threading.Timer(max(end - time.monotonic(), 0.0), interrupt)
        timer.daemon = True
        timer.start()
    try:
        yield
    finally:
        if timer is not None:
            timer.cancel()
        signal.signal(signal.SIGINT, before)


def _train(
    host: PluginHost,
    runs: Sequence[Run],
    place: ResultFolders,
    options: RunOptions,
) -> None:
    """Train the runs of entries as one plan, so that no core waits for the last run of an entry."""
    done = results_of(runs, place.records())
    plan = RunPlan(tuple({key_of(run): run for run in runs}.values()))
    execute_live(host, plan, Store(place.results), on_devices(host, options), done)


def _reproduce(
    host: PluginHost, entry: PlanEntry, place: ResultFolders, options: RunOptions
) -> str:
    """Run a reproduction in a separate process; return a line if it fails."""
    assert entry.reproduction is not None
    name = entry.reproduction.name
    words = [sys.executable, "-m", "formalbench", "reproduce", name, "--scale", entry.scale]
    words += ["--results", str(place.results), "--output", str(place.pages)]
    words += ["--device", options.device]
    words += ["--jobs", str(options.jobs)] if options.jobs is not None else []
    words += [word for plugin in host.locals() for word in ("--plugin", str(plugin.named))]
    print(f"entry {entry.number}: {entry.title}", file=sys.stderr, flush=True)
    # Ctrl-C reaches it once, from here. It inherits the lock of `make evidence`, if that started
    # this process, so that nobody else trains there if this process is killed.
    process = subprocess.Popen(  # noqa: S603  # a program of ours
        words, stdout=sys.stderr, start_new_session=True, close_fds=False
    )
    try:
        code = process.wait()
    except KeyboardInterrupt:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        raise
    if code in (0, CLAIM_DIFFERS):
        return ""
    return f"entry {entry.number}: reproduce {name} exited with {code}"
