"""Carry out one command, from its request to its records, and notify observers."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from formalbench.contracts.errors import PLUGIN_FAILURES, FormalbenchError, RequestError, unknown
from formalbench.contracts.hooks import Resources, Session
from formalbench.contracts.specs import display
from formalbench.device import check_precision, choose_devices, usable_cores
from formalbench.host import PluginHost
from formalbench.host.host import call
from formalbench.host.options import (
    Settings,
    changed_options,
    make_config,
    option_facts,
    parse_instance,
    settings_for,
)
from formalbench.running.dispatch import Dispatcher, Preflight
from formalbench.running.estimate import Estimate, due, estimate
from formalbench.running.plan import (
    Run,
    RunKey,
    RunOptions,
    RunPlan,
    RunRequest,
    does_for,
    key_of,
    make_plan,
)
from formalbench.running.units import clean_cache, cohorts_of
from formalbench.store import Store

if TYPE_CHECKING:
    from formalbench.contracts.config import Config, Value
    from formalbench.contracts.record import Record
    from formalbench.contracts.specs import ExecutorSpec, TrackerSpec
    from formalbench.host import Plugin


class TrackerChoice(NamedTuple):
    """A requested tracker and its options."""

    spec: TrackerSpec
    config: Config | None


def asked_trackers(
    host: PluginHost, names: Sequence[str], settings: Settings
) -> list[TrackerChoice]:
    """Return the requested trackers, without importing them yet."""
    requested: dict[str, dict[str, str]] = {}
    for text in dict.fromkeys(names):
        name, options = parse_instance(text)
        if name in requested:
            raise RequestError(f"--tracker {text}: {name} is given twice")
        requested[name] = options
    specs = [host.trackers.get(name)[0].spec for name in requested]
    choices = []
    for spec, common in zip(specs, chosen_of("tracker", specs, settings), strict=True):
        texts = requested[spec.name]
        for owner, key, text in settings:
            if owner == "tracker" and key in texts:
                where = f"as well in {display(spec.name, texts)}"
                raise RequestError(f"--set tracker.{key}={text}: {key} is set twice, {where}")
        choices.append(TrackerChoice(spec, make_config(spec, {**common, **texts})))
    return choices


def chosen_of(
    scope: str, specs: Sequence[ExecutorSpec | TrackerSpec], settings: Settings
) -> list[dict[str, Value]]:
    """Return the options of each executor or tracker that differ from their defaults."""
    tables = [option_facts(spec) for spec in specs]
    keys = {key for table in tables for key in table}
    names = ", ".join(spec.name for spec in specs)
    for setting in settings:
        if setting.scope == scope and not specs:
            raise RequestError(f"{setting}: this command uses no {scope}")
        if setting.scope == scope and setting.key not in keys:
            raise unknown(f"option of {scope} {names}", setting.key, keys)
    return [
        changed_options(spec, make_config(spec, settings_for(scope, settings, table)))
        for spec, table in zip(specs, tables, strict=True)
    ]


@contextlib.contextmanager
def tracked(host: PluginHost, asked: Sequence[TrackerChoice]) -> Iterator[None]:
    """Notify trackers of events inside this context; a failing tracker is dropped with one line.

    Raises:
        RequestError: if a tracker reports at its start that something is missing.
    """
    with contextlib.ExitStack() as stack:
        for spec, config in asked:
            try:
                observer = call(spec.factory, config)
                plugin = host.observe(observer, f"{spec.name} tracker")
            except FormalbenchError:
                raise
            except PLUGIN_FAILURES as error:
                _warn_failed(host, spec.name, error)
            else:
                stack.callback(_end, host, spec.name, plugin, observer)
        yield


def _end(host: PluginHost, name: str, plugin: Plugin, observer: Any) -> None:
    reported = bool(plugin.error)
    host.forget(plugin)
    try:
        getattr(observer, "close", lambda: None)()
    except PLUGIN_FAILURES as error:
        if not reported:
            _warn_failed(host, name, error)


def _warn_failed(host: PluginHost, name: str, error: BaseException) -> None:
    host.warn(f"the tracker {name} failed: {' '.join(f'{type(error).__name__}: {error}'.split())}")


def finished(plan: RunPlan, store: Store) -> dict[RunKey, Record]:
    """Return the records of a plan's runs that are finished in the store.

    A record counts only for the protocol of its own run.
    """
    requested = {key_of(run): run for run in plan.runs}
    done: dict[RunKey, Record] = {}
    for record in store.records():
        run = requested.get(key_of(record))
        if run is not None and does_for(record, run):
            done[key_of(run)] = record
    return done


def execute(
    host: PluginHost,
    plan: RunPlan,
    store: Store,
    options: RunOptions,
    done: Mapping[RunKey, Record] | None = None,
) -> list[Record]:
    """Carry out a plan and return one record per run, in the order of the plan.

    Runs that are finished in the store are not repeated, and stored weights are tested instead of
    trained again. A record is on disk before observers are notified. Under a protocol with
    `fallback`, runs at the next learning rate follow when they are due. `done` are the finished
    records, from any place; None for the result of `finished`.

    Returns:
        The records; fewer than runs if it stopped at a run that did not finish, or if a learning
        rate was not tried.

    Raises:
        RequestError: if a task or model refuses the request before any run; later such errors are
            written to the records of the runs.
    """
    clean_cache()
    records = dict(finished(plan, store) if done is None else done)
    while todo := due(plan.runs, records):
        default = usable_cores() if options.devices[0] == "cpu" else len(options.devices)
        jobs = options.jobs or default  # one per CPU core, or one per GPU
        jobs = 1 if options.executor == "serial" else max(1, min(jobs, len(todo)))
        results = _carry_out(host, todo, store, replace(options, jobs=jobs))
        records |= results
        if options.fail_fast and any(one.status != "finished" for one in results.values()):
            break
    return [records[key_of(run)] for run in plan.runs if key_of(run) in records]


def _carry_out(
    host: PluginHost, todo: Sequence[Run], store: Store, options: RunOptions
) -> dict[RunKey, Record]:
    """Do runs that do not depend on each other."""
    for run in {id(run.protocol): run for run in todo}.values():
        check_precision(run.protocol, options.devices[0])
    cohorts = cohorts_of(todo)
    with Preflight(host, Resources(options.devices, options.jobs or 1)) as preflight:
        _check_tasks(preflight, todo)
        first = preflight.least_of(todo[0])
        store.check_writable()
        return Dispatcher(host, store, options, cohorts, first, preflight).run()


def _check_tasks(preflight: Preflight, runs: Sequence[Run]) -> None:
    """Check once for each task and protocol that the task supports the protocol."""
    for run in {(run.info.task, run.protocol.title): run for run in runs}.values():
        preflight.look_at_task(run)


class _ResolvedRequest(NamedTuple):
    """A resolved request, and the options to carry it out."""

    plan: RunPlan
    trackers: list[TrackerChoice]
    options: RunOptions
    done: dict[RunKey, Record]


def estimate_session(
    host: PluginHost, request: RunRequest, store: Store, options: RunOptions
) -> Estimate:
    """Estimate the number of runs and the duration of a request from the records in a store."""
    resolved = _resolve(host, request, store, options)
    with Preflight(host, Resources(resolved.options.devices)) as preflight:
        _check_tasks(preflight, resolved.plan.runs)
    return estimate(resolved.plan, resolved.options.devices[0], resolved.done, store.records())


def run_session(
    host: PluginHost,
    request: RunRequest,
    store: Store,
    options: RunOptions,
    carry_out: Callable[..., list[Record]] = execute,
) -> Sequence[Record]:
    """Carry out a request, and return one record per run.

    `carry_out` is `execute` or a wrapper of it.
    """
    _check_outside(host, store)
    resolved = _resolve(host, request, store, options)
    todo = len(due(resolved.plan.runs, resolved.done))
    plugins = tuple(plugin.named for plugin in host.locals())
    session = Session(store.path, host, options.quiet, len(resolved.plan.runs), todo, plugins)
    stdout = contextlib.redirect_stdout(sys.stderr) if options.quiet else contextlib.nullcontext()
    with stdout, tracked(host, resolved.trackers):
        host.notify("formalbench_session_started", session=session)
        records = carry_out(host, resolved.plan, store, resolved.options, resolved.done)
        host.notify("formalbench_session_finished", session=session, records=records)
    return records


def _check_outside(host: PluginHost, store: Store) -> None:
    """Refuse a folder of results inside a package: each result would change the package's hash."""
    for plugin in host.locals():
        if plugin.path.is_dir() and store.path.resolve().is_relative_to(plugin.path):
            raise RequestError(
                f"--results {store.path}: it is inside the plugin {plugin.path.name}, whose "
                "version is the hash of its files: choose another folder"
            )


def _resolve(
    host: PluginHost, request: RunRequest, store: Store, options: RunOptions
) -> _ResolvedRequest:
    plan = make_plan(host, request)  # before importing torch: report typing errors at once
    options = with_config(host, options, request.settings)
    trackers = asked_trackers(host, options.trackers, request.settings)
    return _ResolvedRequest(plan, trackers, on_devices(host, options), finished(plan, store))


def with_config(host: PluginHost, options: RunOptions, settings: Settings) -> RunOptions:
    """Return options that include the executor's settings."""
    spec = host.executors.get(options.executor or "local")[0].spec
    return replace(options, config=chosen_of("executor", [spec], settings)[0])


def on_devices(host: PluginHost, options: RunOptions) -> RunOptions:
    """Return options with the devices that units compute on; an executor may choose its own."""
    entry, _ = host.executors.get(options.executor or "local")
    if entry.spec.resources is None:
        return replace(options, devices=choose_devices(options.device))
    config = make_config(entry.spec, options.config)
    with host.blaming(entry.plugin):
        resources = call(entry.spec.resources, config)
    if options.device not in ("auto", "cpu", *resources.devices):
        raise RequestError(
            f"--device {options.device}: executor {entry.spec.name} computes on other machines, "
            f"as it is set on {', '.join(resources.devices)}"
        )
    devices = ("cpu",) if options.device == "cpu" else resources.devices
    return replace(options, devices=devices, jobs=options.jobs or resources.jobs)
