"""The Python interface: listings, runs, records, comparisons."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pandas as pd

from formalbench.contracts.config import Value
from formalbench.contracts.errors import RequestError, check_text, unknown
from formalbench.device import check_threads, wait_passively
from formalbench.host import load_plugins
from formalbench.host.options import settings_of
from formalbench.host.plugin import SESSION
from formalbench.running.plan import RunOptions, RunRequest, Seeds
from formalbench.running.session import execute, run_session
from formalbench.store import PUBLISHED_RESULTS, Store, default_results, repository_above
from formalbench.task_handle import STANDARD, whole_number
from formalbench.ui.live import execute_live
from formalbench.ui.terminal import console

if TYPE_CHECKING:
    import torch
    from torch import nn

    from formalbench.contracts.record import Record
    from formalbench.host import PluginHost

N = TypeVar("N", bound=str | type)

COMPARED = ["protocol", "version", "task", "a", "b", "difference", "low", "high", "better"]
"""Columns of `compare`."""


def tasks(*, plugins: Sequence[Path | str] = ()) -> list[str]:
    """Return the names of all tasks; a name with braces is a family, ``dyck-{k}-{D}``.

    Args:
        plugins: local plugins to load.
    """
    return [entry.spec.name for entry in load_plugins(plugins).tasks.all()]


def models(*, plugins: Sequence[Path | str] = ()) -> list[str]:
    """Return the names of all models; a name with braces is a family.

    Args:
        plugins: local plugins to load.
    """
    return [entry.spec.name for entry in load_plugins(plugins).models.all()]


def run(
    models: Sequence[str | type],
    tasks: Sequence[str] | None = None,
    *,
    suite: str = "",
    protocol: str = "",
    seeds: Seeds = None,
    device: str | torch.device = "auto",
    settings: Mapping[str, Value | Sequence[Value]] | None = None,
    results: Path | str | None = None,
    jobs: int = 1,
    threads: int = 1,
    executor: str = "",
    trackers: Sequence[str] = (),
    fail_fast: bool = False,
    progress: bool | None = None,
    plugins: Sequence[Path | str] = (),
) -> pd.DataFrame:
    """Train and test models on tasks, like ``formalbench run``.

    Args:
        models: model names, with options as in ``lstm[width=32]``; plain classes, as
            ``"mine.py:Mine"`` or the class itself. A class without a file (in a notebook) runs in
            this process, and its records cannot be published.
        tasks: task names with options; None for all of `suite`.
        suite: a suite's name; empty for the default suite.
        protocol: a protocol's name; empty for the suite's, else `quick`.
        seeds: number of seeds, or a list of seeds; None for the protocol's number.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:i``.
        settings: options, as in ``{"model.chunk": 3, "protocol.steps": 400}``; a list of values is
            a sweep.
        results: folder for records; None for the per-user folder.
        jobs: parallel jobs. With more than one, and for plugins, work runs in separate processes,
            which do not import the caller's module.
        threads: CPU threads per process.
        executor: an executor's name.
        trackers: names of trackers.
        fail_fast: whether to stop at the first failed run.
        progress: whether to show progress, in a notebook below the cell, elsewhere on standard
            error; None for notebooks only.
        plugins: local plugins to load.

    Returns:
        One row per run: model, task, learning_rate, seed, status, accuracy, chance,
        scaled_accuracy, parameters, steps, seconds, test_id. Names are without options; `results`
        includes them.

    Raises:
        RequestError: for a bad request.
        BrokenPluginError: if a requested plugin is broken.

    Example:
        >>> frame = formalbench.run(models=["lstm"], tasks=["parity"])  # doctest: +SKIP
    """
    models, trackers = _listed(models), _listed(trackers)
    if tasks is not None and not (tasks := _listed(tasks)):
        raise RequestError(
            "tasks=[]: name at least one task, or omit tasks to use those of a suite"
        )
    for task in tasks or ():
        check_text("a task", task)
    jobs, threads = whole_number("jobs", jobs, 1), whole_number("threads", threads)
    wait_passively()
    check_threads(threads)
    host = load_plugins(plugins)
    names = host.models_named(models)
    _check_session(host, jobs, executor)
    if settings is not None and not isinstance(settings, Mapping):
        raise RequestError('settings is a dict of options: write {"protocol.steps": 40}')
    for option in settings or ():
        check_text("a key of settings", option)
    chosen = settings_of(list((settings or {}).items()))
    request = RunRequest(names, tuple(tasks or ()), suite, protocol, seeds, chosen)
    store = Store(Path(results) if results else default_results())
    device = str(device)
    options = RunOptions(device, jobs, threads, executor, fail_fast, quiet=True, trackers=trackers)
    live = console(stderr=True).is_jupyter if progress is None else progress
    records = run_session(host, request, store, options, execute_live if live else execute)
    return pd.DataFrame([_row(record) for record in records])


def results(path: Path | str | None = None, *, plugins: Sequence[Path | str] = ()) -> pd.DataFrame:
    """Return the records of a folder as a tidy table, with one row per run and test length.

    Args:
        path: the folder; None for the per-user one, which is empty before the first run.
        plugins: local plugins to load, for the chance levels of their tasks.

    Returns:
        A table with the columns of `formalbench.statistics.frame.RUN_COLUMNS` and
        `CELL_COLUMNS`, which explain them. A run that did not finish has one row without a length.

    Raises:
        RequestError: if the folder does not exist or has invalid records (one line each).

    Example:
        >>> frame = formalbench.results("runs")  # doctest: +SKIP
        >>> learned = frame[
        ...     frame.learned & frame.selected_rate & (frame.status == "finished")
        ... ]  # doctest: +SKIP
        >>> learned.pivot_table("accuracy", ["model", "task"], "length")  # doctest: +SKIP
    """
    from formalbench.statistics.aggregate import known_chances
    from formalbench.statistics.frame import cells_frame

    if path is not None and not isinstance(path, Path):
        check_text("path", path)
    host = load_plugins(plugins)
    records = _records([Path(path)] if path else _folders(None)[:1])
    return cells_frame(records, known_chances(host))


def compare(
    a: str,
    b: str,
    *,
    results: Path | str | None = None,
    tasks: Sequence[str] | None = None,
    protocols: Sequence[str] | None = None,
    plugins: Sequence[Path | str] = (),
) -> pd.DataFrame:
    """Compare two models task by task, like ``formalbench compare``.

    Args:
        a: a model of the records, with options.
        b: another one.
        results: a folder of records; None for the per-user one and the published records: those of
            the clone around the working folder, otherwise those that came with the package.
        tasks: task names; None for all that both have.
        protocols: one protocol for both, or one for each; None for all that both have.
        plugins: local plugins to load.

    Returns:
        One row per protocol and task: protocol, version, task, a and b (mean test accuracies),
        difference (a - b) with its 95 % interval low to high over seeds and test strings, better
        (the significantly better model after correction for the number of tasks, or None).
        ``attrs["notes"]`` lists tasks that are not compared, with the reasons.

    Raises:
        RequestError: for an unknown model, protocol or folder, or if both share no protocol or no
            comparable results.

    Example:
        >>> frame = formalbench.compare("lstm", "gru", results="runs")  # doctest: +SKIP
    """
    from formalbench.contracts.record import Record
    from formalbench.statistics.comparison import check_tasks, comparisons
    from formalbench.statistics.records import model_key, title_of
    from formalbench.statistics.selection import current_of
    from formalbench.store.snapshot import read_snapshot

    for argument, name in (("a", a), ("b", b)):
        check_text(argument, name)
    tasks = None if tasks is None else _listed(tasks)
    protocols = None if protocols is None else _listed(protocols)
    host = load_plugins(plugins)
    records = _records(_folders(results))
    if results is None and repository_above(Path.cwd()) is None:
        records += [record for record in read_snapshot() if isinstance(record, Record)]
    recorded = {model_key(record)[0] for record in records} | {*map(title_of, records)}
    if tasks is not None:
        tasks = [task if task in recorded else host.task_title(task) for task in tasks]
    check_tasks(records, tasks or ())
    of_a, of_b = (name if name in recorded else host.model_title(name) for name in (a, b))
    compared = comparisons(records, (of_a, of_b), tasks, protocols, current_of(host))
    names = {"a": a, "b": b, None: None}
    rows = [
        {
            "protocol": pair.a.board.protocol,
            "version": pair.a.board.version,
            "task": row.task,
            "a": row.a.mean,
            "b": row.b.mean,
            "difference": row.accuracy.value,
            "low": row.accuracy.low,
            "high": row.accuracy.high,
            "better": names[row.accuracy.better],
        }
        for pair in compared
        for row in pair.tasks
    ]
    notes = list(dict.fromkeys(note for pair in compared for note in pair.notes))
    if notes and not rows:
        raise RequestError(f"{a} and {b} have no comparable results: {' '.join(notes)}")
    frame = pd.DataFrame(rows, columns=COMPARED)
    frame.attrs["notes"] = notes
    return frame


def trained(
    model: str | type,
    task: str,
    seed: int = 0,
    *,
    protocol: str = "",
    results: Path | str | None = None,
    weights: Path | str | None = None,
    plugins: Sequence[Path | str] = (),
) -> nn.Module:
    """Return the trained network of a run, on the CPU, as it was tested.

    Of several learning rates, the one selected by validation.

    Args:
        model: model name with options, or a plain class, as for `run`.
        task: task name with options.
        seed: of the run.
        protocol: its protocol; by default ``standard`` or, without such a run, any.
        results: a folder of records, or a clone of the repository; None for the per-user folder
            and, inside a clone, its published records.
        weights: an archive or folder of weights; by default the records' folder.
        plugins: local plugins to load.

    Returns:
        A network that takes a `formalbench.Batch` and answers in the task's layout; can be
        passed to `evaluate`.

    Raises:
        RequestError: if there is no such run, if the model, task or protocol has changed since,
            or if its weights are missing or do not fit.

    Example:
        >>> network = formalbench.trained("lstm", "parity", seed=0)  # doctest: +SKIP
        >>> formalbench.evaluate(network, "parity").accuracy  # doctest: +SKIP
    """
    from formalbench.statistics.aggregate import selected_rate
    from formalbench.statistics.records import model_key, title_of
    from formalbench.statistics.selection import current_of
    from formalbench.store.archive import WeightLookup
    from formalbench.store.weights import network_from

    if not isinstance(model, type):
        check_text("model", model)
    check_text("task", task)
    host = load_plugins(plugins)
    (model,) = host.models_named([model])
    folders = _folders(results)
    records = [record for record in _records(folders) if record.weights]
    for kind, name, title_here, name_of in (
        ("model", model, host.model_title, lambda record: model_key(record)[0]),
        ("task", task, host.task_title, title_of),
    ):
        names = {name_of(record) for record in records}
        value = name if name in names else title_here(name)
        records = [record for record in records if name_of(record) == value]
        if not records:
            raise unknown(f"{kind} among the trained runs", value, names)
    origin = host.select_model(model).plugin.source.distribution
    origins = {record.model.source.distribution for record in records}
    if origin not in origins:
        raise RequestError(
            f"{model} is here of {origin}, and the runs on {task} are of "
            f"{' and '.join(sorted(origins))}: train it again"
        )
    records = [record for record in records if record.model.source.distribution == origin]
    if protocol:
        records = [record for record in records if record.protocol.title == protocol] or records
    current = current_of(host)
    records = [record for record in records if current.standing(record) != "stale"]
    if not records:
        raise RequestError(
            f"the model, task or protocol has changed since every run of {model} on {task}: "
            "train it again"
        )
    names = {record.protocol.title for record in records}
    chosen = protocol or (STANDARD if STANDARD in names else sorted(names)[0])
    records = [record for record in records if record.protocol.title == chosen]
    if not records:
        raise unknown(f"protocol of {model} on {task}", chosen, names)
    newest = max(record.protocol.version for record in records)
    records = [record for record in records if record.protocol.version == newest]
    runs = [record for record in records if record.seed == seed]
    if not runs:
        seeds = ", ".join(map(str, sorted({record.seed for record in records})))
        raise RequestError(f"no run of {model} on {task} has seed {seed}: there are {seeds}")
    rate = selected_rate(records)
    run = next((record for record in runs if record.learning_rate == rate), runs[0])
    places = [Path(weights)] if weights is not None else []
    lookup = WeightLookup([*places, *(folder for folder in folders if folder.is_dir())])
    if run not in lookup:
        raise RequestError(
            f"the weights of run {run.test_id} ({model} on {task}) are not beside its record: "
            "pass an archive of weights (weights=…)"
        )
    return network_from(host, run, lookup.read(run), f"run {run.test_id}", run.protocol)


def _listed(names: Iterable[N]) -> tuple[N, ...]:
    """Check a list of names and return it as a tuple, because a generator can be read once only."""
    lists = "models, tasks, trackers, protocols are lists of names"
    if isinstance(names, str) or inspect.isclass(names):
        text = names.__name__ if inspect.isclass(names) else repr(names)
        raise RequestError(f"{lists}: write [{text}]")
    if not isinstance(names, Iterable):
        raise RequestError(f"{lists}, and one is of type {type(names).__name__}")
    listed = tuple(names)
    for name in listed:
        if not isinstance(name, str | type):
            raise RequestError(f"{lists}, and one has an element of type {type(name).__name__}")
    return listed


def _check_session(host: PluginHost, jobs: int, executor: str) -> None:
    """Check that a class without a file is not needed in another process."""
    for local in host.locals():
        elsewhere = jobs != 1 or executor not in ("", "serial") or host.runs_local_code()
        if local.path == SESSION and elsewhere:
            raise RequestError(
                f"class {local.attribute} is not in a file, so only this process can run it: put "
                "it in a file, or omit jobs, executor and other plugins"
            )


def _folders(path: Path | str | None) -> list[Path]:
    """Return the folders of records: the given one, or the user's and the clone's."""
    if path is not None:
        clone = Path(path) / PUBLISHED_RESULTS
        return [clone if clone.is_dir() else Path(path)]
    clone_here = repository_above(Path.cwd())
    published = [] if clone_here is None else [clone_here / PUBLISHED_RESULTS]
    return [default_results(), *published]


def _records(folders: Sequence[Path]) -> list[Record]:
    """Return the records of folders; the user's folder may not exist yet.

    Raises:
        RequestError: if another folder does not exist, or a file is no record.
    """
    for folder in folders:
        if not folder.is_dir() and folder != default_results():
            problem = "is no folder" if folder.exists() else "does not exist"
            raise RequestError(f"results folder {folder} {problem}")
    return [record for folder in folders for record in Store(folder).records()]


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
