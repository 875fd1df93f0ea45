"""Objectives, metrics, optimisers and the like: is each made by its factory what it should be?"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from formalbench.checks.promises import Check, keep
from formalbench.checks.steps import optimiser_promises, sampler_promises, schedule_promises
from formalbench.contracts.promises import demand

if TYPE_CHECKING:
    from formalbench.contracts.objective import Promise
    from formalbench.host import Plugin, PluginHost

BUILT = {
    "objective": "contracts.objective:Objective",
    "metric": "contracts.metric:Metric",
    "optimiser": "contracts.optimiser:Optimiser",
    "schedule": "contracts.optimiser:Schedule",
    "sampler": "contracts.sampler:Sampler",
    "penalty": "contracts.penalty:Penalty",
}
"""What a factory makes, by kind."""

CALLED = ("probe", "executor", "reproduction")
"""Kinds whose factory is only called while something runs."""


def check_parts(host: PluginHost, plugin: Plugin) -> Iterator[Check]:
    """Check what a plugin announces beside tasks, models, suites and protocols."""
    for registry in host.registries.values():
        kind = registry.kind
        for entry in registry.all() if kind in (*BUILT, *CALLED) else ():
            if entry.plugin is plugin:
                yield from keep(f"{kind} {entry.spec.name}", _promises(kind, entry.spec))


def _promises(kind: str, spec: Any) -> Iterator[Promise]:
    made: list[Any] = []
    yield "is made by its factory", lambda: made.extend(_make(kind, spec))
    for one in made:
        if kind == "optimiser":
            yield from optimiser_promises(one)
        elif kind == "schedule":
            yield from schedule_promises(one)
        elif kind == "sampler":
            yield from sampler_promises(one)


def _make(kind: str, spec: Any) -> list[Any]:
    """Return what a factory makes, as far as it is called here."""
    from formalbench.host.host import load
    from formalbench.host.options import make_config

    factory = load(spec.factory)
    demand(callable(factory), f"the factory is a {type(factory).__name__}")
    config = make_config(spec) if hasattr(spec, "config") else None
    if kind in CALLED or (kind == "metric" and not spec.objectives):
        return []
    made = factory() if config is None else factory(config)
    module, _, name = BUILT[kind].partition(":")
    wanted = getattr(import_module(f"formalbench.{module}"), name)
    demand(isinstance(made, wanted), f"the factory gave a {type(made).__name__}, no {name}")
    if kind in ("objective", "metric"):
        demand(made.name == spec.name, f"its name is {made.name!r}, not {spec.name!r}")
    return [made]
