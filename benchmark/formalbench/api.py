"""formalbench from Python: what there is, runs, their records, comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from formalbench.contracts.config import Value
from formalbench.contracts.errors import RequestError
from formalbench.contracts.specs import show_value
from formalbench.device import check_threads, wait_passively
from formalbench.host import load_plugins
from formalbench.host.options import parse_settings
from formalbench.running.plan import RunRequest
from formalbench.running.scheduler import execute
from formalbench.running.seeds import Seeds
from formalbench.running.session import Manner, run_session
from formalbench.store import Store, default_results
from formalbench.store.repository import PUBLISHED_RESULTS, repository_above
from formalbench.ui.live import execute_live
from formalbench.ui.output import console

if TYPE_CHECKING:
    from formalbench.contracts.record import Record

COMPARED = ["protocol", "version", "task", "a", "b", "difference", "low", "high", "better"]
"""The columns of `compare`."""


def tasks(*, plugins: Sequence[Path | str] = ()) -> list[str]:
    """Return the names of all tasks; one with numbers in braces is a family, ``dyck-{k}-{D}``.

    Args:
        plugins: local plugins to load.
    """
    return [entry.spec.name for entry in load_plugins(plugins).tasks.all()]


def models(*, plugins: Sequence[Path | str] = ()) -> list[str]:
    """Return the names of all models, families likewise.

    Args:
        plugins: local plugins to load.
    """
    return [entry.spec.name for entry in load_plugins(plugins).models.all()]


def run(
    models: Sequence[str],
    tasks: Sequence[str] | None = None,
    *,
    suite: str = "",
    protocol: str = "",
    seeds: Seeds = None,
    device: str = "auto",
    settings: Mapping[str, Value | Sequence[Value]] | None = None,
    results: Path | str | None = None,
    jobs: int = 1,
    threads: int = 1,
    executor: str = "",
    trackers: Sequence[str] = (),
    fail_fast: bool = False,
    debug: bool = False,
    progress: bool | None = None,
    plugins: Sequence[Path | str] = (),
) -> pd.DataFrame:
    """Train and test models on tasks; the same as ``formalbench run``.

    Args:
        models: model names, with options as in ``lstm[width=32]``.
        tasks: task names, likewise; None for those of `suite`, and that empty for the default
            suite.
        suite: a suite's name.
        protocol: a protocol's name; empty for the suite's, or `quick`.
        seeds: how many seeds, or which; None for the protocol's number.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:i``.
        settings: options, as ``{"model.chunk": 3, "protocol.steps": 400}``; of several values,
            each in turn.
        results: where records go; None for the per-user folder.
        jobs: units of work at once. More than one, and plugins' code, run in processes of
            their own, which import nothing of the caller's module.
        threads: CPU threads a process trains with.
        executor: what does the work, by its name.
        trackers: where else curves and results go, by their names.
        fail_fast: whether to stop at the first run that fails.
        debug: whether to print the whole traceback of a run that fails.
        progress: whether to show how it goes, in a notebook below the cell, elsewhere on standard
            error; None for notebooks only.
        plugins: local plugins to load.

    Returns:
        One row per run: model, task, learning_rate, seed, status, accuracy, chance,
        scaled_accuracy, parameters, steps, seconds, test_id. Names are without options, which
        `results` has.

    Raises:
        RequestError: for a bad request.
        BrokenPluginError: if a requested plugin is broken.

    Example:
        >>> frame = formalbench.run(models=["lstm"], tasks=["parity"])  # doctest: +SKIP
    """
    for names in (models, tasks, trackers):
        if isinstance(names, str):
            raise RequestError(f"models, tasks, trackers are lists of names: write [{names!r}]")
    if tasks is not None and not len(tasks):
        raise RequestError("tasks=[]: name a task, or leave tasks out for those of a suite")
    wait_passively()
    check_threads(threads)
    host = load_plugins(plugins)
    texts = [f"{key}={show_value(value)}" for key, value in (settings or {}).items()]
    settings_ = parse_settings(texts)
    request = RunRequest(tuple(models), tuple(tasks or ()), suite, protocol, seeds, settings_)
    store = Store(Path(results) if results else default_results())
    manner = Manner(
        *(device, jobs, threads, executor, fail_fast, debug), quiet=True, trackers=tuple(trackers)
    )
    shown = console(stderr=True).is_jupyter if progress is None else progress
    records = run_session(host, request, store, manner, execute_live if shown else execute)
    return pd.DataFrame([_row(record) for record in records])


def results(path: Path | str | None = None, *, plugins: Sequence[Path | str] = ()) -> pd.DataFrame:
    """Return the records of a folder as a tidy table: a row a cell, that is a test length of a run.

    Args:
        path: the folder; None for the per-user one, which has no records before the first run.
        plugins: local plugins to load: of a task that is at hand the chance level is known at
            each length.

    Returns:
        The columns of `formalbench.analysis.frame.RUN_COLUMNS` and `CELL_COLUMNS`, where each is
        explained. A run that did not finish has one row, without a length.

    Raises:
        RequestError: if the folder does not exist, or a line for each file that is no record.

    Example:
        >>> frame = formalbench.results("runs")  # doctest: +SKIP
        >>> learned = frame[
        ...     frame.learned & frame.selected_rate & (frame.status == "finished")
        ... ]  # doctest: +SKIP
        >>> learned.pivot_table("accuracy", ["model", "task"], "length")  # doctest: +SKIP
    """
    from formalbench.analysis.chances import known_chances
    from formalbench.analysis.frame import cells_frame

    host = load_plugins(plugins)
    return cells_frame(_records(path), known_chances(host))


def compare(
    a: str,
    b: str,
    *,
    results: Path | str | None = None,
    tasks: Sequence[str] | None = None,
    protocols: Sequence[str] | None = None,
    plugins: Sequence[Path | str] = (),
) -> pd.DataFrame:
    """Compare two models task by task; the numbers of ``formalbench compare``.

    Args:
        a: a model of the records, options behind its name.
        b: another one.
        results: a folder of records; None for the per-user one and, inside a clone of the
            repository, the published ones.
        tasks: on which; None for all that both have.
        protocols: one for both, or one for each; None for all that both have.
        plugins: local plugins to load.

    Returns:
        One row per protocol and task: protocol, version, task, a and b (mean test accuracies),
        difference (a - b) with its 95 % interval low to high over seeds and test strings, better
        (the model whose lead holds if all tasks are looked at together, or None).

    Raises:
        RequestError: if there is no such model, protocol or folder, or the two share no protocol.

    Example:
        >>> frame = formalbench.compare("lstm", "gru", results="runs")  # doctest: +SKIP
    """
    from formalbench.analysis.compare import comparisons
    from formalbench.analysis.current import current_of

    host = load_plugins(plugins)
    records = _records(results)
    clone = repository_above(Path.cwd()) if results is None else None
    if clone is not None:
        records += Store(clone / PUBLISHED_RESULTS).records()
    found = comparisons(records, (a, b), tasks, protocols, current_of(host))
    names = {"a": a, "b": b, None: None}
    rows = [
        {
            "protocol": one.a.board.protocol,
            "version": one.a.board.version,
            "task": on.task,
            "a": on.a.mean,
            "b": on.b.mean,
            "difference": on.accuracy.value,
            "low": on.accuracy.low,
            "high": on.accuracy.high,
            "better": names[on.accuracy.better],
        }
        for one in found
        for on in one.tasks
    ]
    return pd.DataFrame(rows, columns=COMPARED)


def _records(path: Path | str | None) -> list[Record]:
    """Return the records of a folder.

    Raises:
        RequestError: if it was named and does not exist, or a file is no record.
    """
    if path is not None and not Path(path).is_dir():
        raise RequestError(f"results folder {path} does not exist")
    return Store(Path(path) if path else default_results()).records()


def _row(record: Record) -> dict[str, object]:
    test, training = record.test, record.training
    return {
        "model": record.model.name,
        "task": record.task.name,
        "learning_rate": record.learning_rate,
        "seed": record.seed,
        "status": record.status,
        "accuracy": test.accuracy if test else None,
        "chance": test.chance_length if test else None,
        "scaled_accuracy": test.scaled_accuracy if test else None,
        "parameters": record.model.parameters,
        "steps": training.steps if training else 0,
        "seconds": training.seconds if training else 0.0,
        "test_id": record.test_id,
    }
