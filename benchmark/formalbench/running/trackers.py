"""Trackers: observers that keep the numbers of a session elsewhere, if the user asks for them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from formalbench.contracts.errors import PLUGIN_FAILURES, FormalbenchError, RequestError, unknown
from formalbench.host.host import load
from formalbench.host.options import Settings, chosen_options, make_config, option_facts

if TYPE_CHECKING:
    from formalbench.contracts.config import Config, Value
    from formalbench.contracts.specs import ExecutorSpec, TrackerSpec
    from formalbench.host import Plugin, PluginHost


class AskedTracker(NamedTuple):
    """A tracker that was asked for, and its options."""

    spec: TrackerSpec
    config: Config | None


def asked_trackers(
    host: PluginHost, names: Sequence[str], settings: Settings
) -> list[AskedTracker]:
    """Return the trackers that were asked for; nothing is imported for them yet.

    Raises:
        RequestError: for an unknown name, or options that cannot be.
    """
    specs = [host.trackers.get(name)[0].spec for name in dict.fromkeys(names)]
    chosen = chosen_of("tracker", specs, settings)
    return [
        AskedTracker(spec, make_config(spec, of)) for spec, of in zip(specs, chosen, strict=True)
    ]


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
    for owner, key, text in settings:
        if owner == scope and not specs:
            raise RequestError(f"--set {scope}.{key}={text}: no {scope} is asked for")
        if owner == scope and key not in known:
            raise unknown(f"option of {scope} {names}", key, known)
    chosen = [
        chosen_options(scope, spec.name, settings, table)
        for spec, table in zip(specs, tables, strict=True)
    ]
    for spec, options in zip(specs, chosen, strict=True):
        make_config(spec, options)
    return chosen


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
