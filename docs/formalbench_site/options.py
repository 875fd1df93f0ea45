"""The reference of options: what `--set` takes, from the configs themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from formalbench.contracts.config import Config
from formalbench.contracts.specs import show_value
from formalbench.host import PluginHost
from formalbench.host.options import OptionFacts, config_of, option_facts

from formalbench_site.markdown import code, pages_of, table

INTRODUCTION = """# Options

What can be set of models, tasks, optimisers, schedules, executors and trackers: `--set
model.width=32`, `--set task.p=0.3`, `--set executor.gpus=1`, `--set tracker.folder=events`, or
behind a name, as in `lstm[width=32]`. Those of optimisers and schedules stand in a
[protocol](protocols.md). What has no options is left out. `formalbench show model NAME` has the
same for one model."""

KINDS = ("models", "tasks", "optimisers", "schedules", "executors", "trackers")


def page() -> str:
    """Return the page."""
    host = PluginHost.load([])
    parts = [part for kind in KINDS for part in _kind(host, kind)]
    return pages_of(INTRODUCTION, *parts)


def _kind(host: PluginHost, kind: str) -> list[str]:
    families: dict[type[Config], list[Any]] = {}
    for entry in host.registries[kind].all():
        config = config_of(entry.spec)
        if config is not None:
            families.setdefault(config, []).append(entry.spec)
    sections = [_family(specs) for specs in families.values()]
    return [f"## {kind.capitalize()}", *sections]


def _family(specs: list[Any]) -> str:
    """Return the options that specs of one config share, and where their defaults differ."""
    facts = {spec.name: option_facts(spec) for spec in specs}
    first = facts[specs[0].name]
    rows = [
        (code(key), _defaults(key, facts), allowed(fact), fact["help"])
        for key, fact in first.items()
    ]
    return pages_of(
        f"### {', '.join(spec.name for spec in specs)}",
        table(("option", "default", "allowed", "meaning"), rows),
    ).rstrip()


def _defaults(key: str, facts: Mapping[str, Mapping[str, OptionFacts]]) -> str:
    """Return the default that most have, then those of the others."""
    by_name = {name: code(show_value(told[key]["default"])) for name, told in facts.items()}
    values = list(by_name.values())
    usual = max(dict.fromkeys(values), key=values.count)
    others = [f"{name}: {value or 'none'}" for name, value in by_name.items() if value != usual]
    return "; ".join([usual or "none", *others])


def allowed(fact: OptionFacts) -> str:
    """Return what an option may be, in words."""
    if fact["choices"]:
        return ", ".join(code(choice) for choice in fact["choices"])
    if isinstance(fact["default"], bool):
        return "`true`, `false`"
    low, high = fact["minimum"], fact["maximum"]
    kind = {int: "a whole number", float: "a number", tuple: "numbers"}
    said = kind.get(type(fact["default"]), "text")
    if low is not None and high is not None:
        return f"{said}, {low:g} to {high:g}"
    if low is not None:
        return f"{said}, at least {low:g}"
    return f"{said}, at most {high:g}" if high is not None else said
