"""One command from its request to its records, with its observers."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from formalbench.contracts.errors import PLUGIN_FAILURES, FormalbenchError, RequestError, unknown
from formalbench.contracts.hooks import Session, Workplace
from formalbench.contracts.specs import display
from formalbench.device import check_precision, choose_devices, usable_cores
from formalbench.host import PluginHost
from formalbench.host.host import load
from formalbench.host.options import (
    Settings,
    changed_options,
    make_config,
    option_facts,
    parse_instance,
    settings_for,
)
from formalbench.running.dispatch import Dispatcher, Execution
from formalbench.running.estimate import Estimate, due, estimate
from formalbench.running.plan import (
    Run,
    RunKey,
    RunPlan,
    RunRequest,
    does_for,
    key_of,
    make_plan,
)
from formalbench.running.sandbox import Preflight
from formalbench.running.units import clean_cache, cohorts_of
from formalbench.store import Store

if TYPE_CHECKING:
    from formalbench.contracts.config import Config, Value
    from formalbench.contracts.record import Record
    from formalbench.contracts.specs import ExecutorSpec, TrackerSpec
    from formalbench.host import Plugin


class AskedTracker(NamedTuple):
    """A tracker that was asked for, and its options."""

    spec: TrackerSpec
    config: Config | None


def asked_trackers(
    host: PluginHost, names: Sequence[str], settings: Settings
) -> list[AskedTracker]:
    """Return the trackers that were asked for; nothing is imported for them yet.

    Args:
        host: the plugins.
        names: each with its own options in brackets, if it has any.
        settings: what was set for all of them.

    Raises:
        RequestError: for an unknown name, one given in two ways, or options that cannot be.
    """
    own: dict[str, dict[str, str]] = {}
    for text in dict.fromkeys(names):
        name, options = parse_instance(text)
        if name in own:
            raise RequestError(f"--tracker {text}: {name} is given twice")
        own[name] = options
    specs = [host.trackers.get(name)[0].spec for name in own]
    asked = []
    for spec, common in zip(specs, chosen_of("tracker", specs, settings), strict=True):
        texts = own[spec.name]
        for owner, key, text in settings:
            if owner == "tracker" and key in texts:
                where = f"as well in {display(spec.name, texts)}"
                raise RequestError(f"--set tracker.{key}={text}: {key} is set twice, {where}")
        asked.append(AskedTracker(spec, make_config(spec, {**common, **texts})))
    return asked


def chosen_of(
    scope: str, specs: Sequence[ExecutorSpec | TrackerSpec], settings: Settings
) -> list[dict[str, Value]]:
    """Return the options set for each of some executors or trackers, but those at their default.

    Raises:
        RequestError: for options that cannot be, or that none of them has.
    """
    tables = [option_facts(spec) for spec in specs]
    known = {key for table in tables for key in table}
    names = ", ".join(spec.name for spec in specs)
    for setting in settings:
        if setting.scope == scope and not specs:
            raise RequestError(f"{setting}: this command uses no {scope}")
        if setting.scope == scope and setting.key not in known:
            raise unknown(f"option of {scope} {names}", setting.key, known)
    return [
        changed_options(spec, make_config(spec, settings_for(scope, settings, table)))
        for spec, table in zip(specs, tables, strict=True)
    ]


@contextlib.contextmanager
def tracked(host: PluginHost, asked: Sequence[AskedTracker]) -> Iterator[None]:
    """Have trackers hear of what is done inside; one that fails is dropped with one line.

    Raises:
        RequestError: if one says, before anything is done, what it lacks.
    """
    with contextlib.ExitStack() as stack:
        for spec, config in asked:
            try:
                observer = load(spec.factory)(*([] if config is None else [config]))
                plugin = host.observe(observer, f"{spec.name} tracker")
            except FormalbenchError:
                raise
            except PLUGIN_FAILURES as error:
                _dropped(host, spec.name, error)
            else:
                stack.callback(_end, host, spec.name, plugin, observer)
        yield


def _end(host: PluginHost, name: str, plugin: Plugin, observer: Any) -> None:
    told = bool(plugin.error)
    host.forget(plugin)
    try:
        getattr(observer, "close", lambda: None)()
    except PLUGIN_FAILURES as error:
        if not told:
            _dropped(host, name, error)


def _dropped(host: PluginHost, name: str, error: BaseException) -> None:
    host.warn(f"the tracker {name} failed: {' '.join(f'{type(error).__name__}: {error}'.split())}")


def default_jobs(devices: Sequence[str], runs: int) -> int:
    """Return how many units are worked on at once: one per core of a CPU, one per GPU."""
    return max(1, min(usable_cores() if devices[0] == "cpu" else len(devices), runs))


def finished(plan: RunPlan, store: Store) -> dict[RunKey, Record]:
    """Return the records of a plan's runs that the store holds as finished.

    What another protocol's run left counts for that protocol alone.
    """
    asked = {key_of(run): run for run in plan.runs}
    found: dict[RunKey, Record] = {}
    for record in store.records():
        run = asked.get(key_of(record))
        if run is not None and does_for(record, run):
            found[key_of(run)] = record
    return found


def execute(
    host: PluginHost,
    plan: RunPlan,
    store: Store,
    device: str | Sequence[str] = "cpu",
    jobs: int | None = None,
    threads: int = 1,
    *,
    executor: str = "",
    options: Mapping[str, Value] = MappingProxyType({}),
    fail_fast: bool = False,
    debug: bool = False,
    done: Mapping[RunKey, Record] | None = None,
) -> list[Record]:
    """Carry out a plan and return one record per run, in its order.

    Runs that the store holds as finished are not repeated, and weights that it holds are tested,
    not trained again. A record is on disk before any observer hears of it. Under a protocol with
    `fallback`, runs at a further learning rate follow where they are due.

    Args:
        host: the plugins; its observers are told.
        plan: what to do.
        store: where records are and go.
        device: ``cpu`` or ``cuda:i``, or several GPUs.
        jobs: how many units at a time; None for `default_jobs`.
        threads: CPU threads that each trains with.
        executor: the name of a registered one; empty for processes on this machine or, if there
            is only one thing to do at a time, this process.
        options: of the executor, those that differ from their defaults.
        fail_fast: whether to stop at the first run that does not finish.
        debug: whether the whole traceback of a run that fails goes to standard error.
        done: what `finished` says of plan and store, if that is known already.

    Returns:
        Fewer records if it stopped at a run that did not finish, or a rate was not tried.

    Raises:
        RequestError: for what a task or model refuses, before anything was run; later it becomes
            the record of its runs.
    """
    clean_cache()
    every = dict(finished(plan, store) if done is None else done)
    devices = (device,) if isinstance(device, str) else tuple(device)
    how = Execution(devices, 1, threads, executor, options, fail_fast, debug)
    while todo := due(plan.runs, every):
        asked = 1 if executor == "serial" else jobs or default_jobs(devices, len(todo))
        at_once = max(1, min(asked, len(todo)))
        results = _carry_out(host, todo, store, replace(how, jobs=at_once))
        every |= results
        if fail_fast and any(record.status != "finished" for record in results.values()):
            break
    return [every[key_of(run)] for run in plan.runs if key_of(run) in every]


def _carry_out(
    host: PluginHost, todo: Sequence[Run], store: Store, how: Execution
) -> dict[RunKey, Record]:
    """Do runs that do not wait for each other."""
    for run in {id(run.protocol): run for run in todo}.values():
        check_precision(run.protocol, how.devices[0])
    cohorts = cohorts_of(todo)
    with Preflight(host, Workplace(how.devices, how.jobs)) as preflight:
        _look_at_tasks(preflight, todo)
        first = preflight.least_of(todo[0])
        store.check_writable()
        return Dispatcher(host, store, how, cohorts, first, preflight).run()


def _look_at_tasks(preflight: Preflight, runs: Sequence[Run]) -> None:
    """Refuse what a task cannot be asked, for each task under each protocol once."""
    for run in {(run.info.task, run.protocol.title): run for run in runs}.values():
        preflight.look_at_task(run)


@dataclass(frozen=True, slots=True)
class Manner:
    """How a session is carried out; see `formalbench.running.session.execute`.

    Attributes:
        device: ``auto``, ``cpu``, ``cuda`` (every GPU there is) or ``cuda:i``.
        jobs, threads, executor, fail_fast, debug: as there.
        quiet: whether standard output belongs to someone else.
        trackers: the names of those that are to hear of it.
    """

    device: str = "auto"
    jobs: int | None = None
    threads: int = 1
    executor: str = ""
    fail_fast: bool = False
    debug: bool = False
    quiet: bool = False
    trackers: tuple[str, ...] = ()


class _Asked(NamedTuple):
    """A request whose names are right, and how it is to be carried out."""

    plan: RunPlan
    options: dict[str, Value]
    trackers: list[AskedTracker]
    devices: tuple[str, ...]
    jobs: int | None
    done: dict[RunKey, Record]


def estimate_session(
    host: PluginHost, request: RunRequest, store: Store, manner: Manner
) -> Estimate:
    """Say what a request means and how long it would take, from the records in a store.

    Raises:
        RequestError: for a bad request.
    """
    asked = _look_at(host, request, store, manner)
    with Preflight(host, Workplace(asked.devices, 1)) as preflight:
        _look_at_tasks(preflight, asked.plan.runs)
    return estimate(asked.plan, asked.devices[0], asked.done, store.records())


def run_session(
    host: PluginHost,
    request: RunRequest,
    store: Store,
    manner: Manner,
    carry_out: Callable[..., list[Record]] = execute,
) -> Sequence[Record]:
    """Do what is asked for, and return one record per run.

    Args:
        host: the plugins; its observers are told.
        request: what is asked for.
        store: where records are and go.
        manner: how.
        carry_out: `execute`, or something around it.

    Raises:
        RequestError: for a bad request.
    """
    asked = _look_at(host, request, store, manner)
    todo = len(due(asked.plan.runs, asked.done))
    plugins = tuple(plugin.named for plugin in host.locals())
    published = host.published()
    session = Session(store.path, manner.quiet, len(asked.plan.runs), todo, plugins, published)
    printed = contextlib.redirect_stdout(sys.stderr) if manner.quiet else contextlib.nullcontext()
    with printed, tracked(host, asked.trackers):
        host.notify("formalbench_session_started", session=session)
        records = carry_out(
            *(host, asked.plan, store, asked.devices, asked.jobs, manner.threads),
            executor=manner.executor,
            options=asked.options,
            fail_fast=manner.fail_fast,
            debug=manner.debug,
            done=asked.done,
        )
        host.notify("formalbench_session_finished", session=session, records=records)
    return records


def _look_at(host: PluginHost, request: RunRequest, store: Store, manner: Manner) -> _Asked:
    plan = make_plan(host, request)  # before torch is imported: a typing error should not wait
    options = executor_options(host, manner.executor, request.settings)
    trackers = asked_trackers(host, manner.trackers, request.settings)
    devices, jobs = workplace(host, manner, options)
    return _Asked(plan, options, trackers, devices, jobs, finished(plan, store))


def run_plan(
    host: PluginHost,
    plan: RunPlan,
    store: Store,
    manner: Manner,
    done: Mapping[RunKey, Record],
    carry_out: Callable[..., list[Record]] = execute,
    options: Mapping[str, Value] | None = None,
) -> Sequence[Record]:
    """Carry out the runs of a plan that have no record.

    No session is announced. Weights that the store holds are tested, not trained again.

    Args:
        host: the plugins.
        plan: may stand for several requests.
        store: where records go.
        manner: how; its trackers hear nothing.
        done: the records that count, wherever they are.
        carry_out: `execute`, or something around it.
        options: of the executor, those that differ from their defaults.

    Returns:
        One record per run, in order, learning rates aside that were not to be tried.

    Raises:
        RequestError: for an unknown executor, a device that is not there, or what a task or a
            model refuses.
    """
    devices, jobs = workplace(host, manner, options or {})
    return carry_out(
        *(host, plan, store, devices, jobs, manner.threads),
        executor=manner.executor,
        options=options or {},
        fail_fast=manner.fail_fast,
        debug=manner.debug,
        done=done,
    )


def workplace(
    host: PluginHost, manner: Manner, options: Mapping[str, Value]
) -> tuple[tuple[str, ...], int | None]:
    """Return the devices that units compute on, and how many units at a time.

    Args:
        host: the plugins.
        manner: names the executor and the device.
        options: of the executor, those that differ from their defaults.

    Raises:
        RequestError: for an unknown executor, or a device that is not there.
    """
    entry, _ = host.executors.get(manner.executor or "local")
    if entry.spec.workplace is None:
        return choose_devices(manner.device), manner.jobs
    config = make_config(entry.spec, options)
    with host.blaming(entry.plugin):
        there = load(entry.spec.workplace)(*([] if config is None else [config]))
    if manner.device not in ("auto", "cpu", *there.devices):
        raise RequestError(
            f"--device {manner.device}: executor {entry.spec.name} computes on other machines, "
            f"as it is set on {', '.join(there.devices)}"
        )
    return ("cpu",) if manner.device == "cpu" else there.devices, manner.jobs or there.jobs


def executor_options(host: PluginHost, name: str, settings: Settings) -> dict[str, Value]:
    """Return the options set for an executor that differ from their defaults.

    Args:
        host: the plugins.
        name: of the executor; empty for ``local``.
        settings: what was set.

    Raises:
        RequestError: for an unknown name, or options that cannot be.
    """
    spec = host.executors.get(name or "local")[0].spec
    return chosen_of("executor", [spec], settings)[0]
