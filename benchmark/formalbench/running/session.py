"""A session: one request, from its names to its records, and whoever observes it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from formalbench.contracts.errors import RequestError
from formalbench.contracts.hooks import Session
from formalbench.device import choose_devices
from formalbench.host.host import load
from formalbench.host.options import Settings, make_config
from formalbench.running.estimate import Estimate, estimate
from formalbench.running.plan import RunKey, RunPlan, RunRequest, check_names, make_plan
from formalbench.running.rates import due
from formalbench.running.scheduler import execute, finished
from formalbench.running.trackers import AskedTracker, asked_trackers, chosen_of, tracked

if TYPE_CHECKING:
    from formalbench.contracts.config import Value
    from formalbench.contracts.record import Record
    from formalbench.host import PluginHost
    from formalbench.store import Store


@dataclass(frozen=True, slots=True)
class Manner:
    """How a session is carried out; see `formalbench.running.scheduler.execute`.

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
    check_names(host, request)  # before torch is imported: a typing error should not wait
    options = executor_options(host, manner.executor, request.settings)
    trackers = asked_trackers(host, manner.trackers, request.settings)
    devices, jobs = workplace(host, manner, options)
    plan = make_plan(host, request)
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
