"""``formalbench list`` and ``formalbench plugins``."""

from __future__ import annotations

import sys
from dataclasses import fields
from enum import StrEnum
from typing import Annotated, Any

import typer

from formalbench.contracts.errors import BrokenPluginError, RequestError
from formalbench.contracts.specs import MetricSpec, ModelSpec, Splits
from formalbench.contracts.theory import CLASSES
from formalbench.host import PluginHost
from formalbench.host.options import OptionTable, option_facts
from formalbench.host.registry import Entry
from formalbench.theory.lookup import check_class, in_class, theory_at_hand, theory_facts
from formalbench.ui.terminal import JsonFlag, host_of, print_json, print_table

CLASS_NAMES = ", ".join(CLASSES)


class ListKind(StrEnum):
    """Kinds that can be listed."""

    tasks = "tasks"
    models = "models"
    suites = "suites"
    protocols = "protocols"
    objectives = "objectives"
    metrics = "metrics"
    probes = "probes"
    optimisers = "optimisers"
    schedules = "schedules"
    samplers = "samplers"
    penalties = "penalties"
    executors = "executors"
    trackers = "trackers"
    tables = "tables"
    reproductions = "reproductions"
    plugins = "plugins"


_COLUMNS = {
    ListKind.tasks: ("name", "class", "objectives", "train", "test", "summary"),
    ListKind.models: ("name", "kind", "objectives", "summary"),
    ListKind.suites: ("name", "summary", "tasks"),
    ListKind.protocols: ("name", "summary"),
    ListKind.objectives: ("name", "summary"),
    ListKind.metrics: ("name", "objectives", "summary"),
    ListKind.probes: ("name", "summary"),
    ListKind.optimisers: ("name", "options", "summary"),
    ListKind.schedules: ("name", "options", "summary"),
    ListKind.samplers: ("name", "options", "summary"),
    ListKind.penalties: ("name", "summary"),
    ListKind.executors: ("name", "options", "summary"),
    ListKind.trackers: ("name", "options", "summary"),
    ListKind.tables: ("name", "summary"),
    ListKind.reproductions: ("name", "summary", "reference"),
    ListKind.plugins: ("name", "distribution", "version", "provides", "error"),
}


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this file."""

    @app.command("list")
    def list_things(
        ctx: typer.Context,
        kind: Annotated[
            ListKind | None,
            typer.Argument(help="What to list. Default: the kinds and their counts."),
        ] = None,
        within: Annotated[
            str | None,
            typer.Option("--class", help=f"Only tasks of this class of languages: {CLASS_NAMES}."),
        ] = None,
        search: Annotated[
            str,
            typer.Option(
                "--search",
                help="Only entries with these words in their name, summary or keywords: "
                "'state tracking', 'dyck'.",
            ),
        ] = "",
        as_json: JsonFlag = False,
    ) -> None:
        """List tasks, models, protocols, plugins and other components.

        \b
        formalbench list tasks --search 'state tracking'
        formalbench list tasks --class star-free --json
        """
        host = host_of(ctx)
        if within is not None and kind is not ListKind.tasks:
            raise RequestError("--class applies to tasks only: formalbench list tasks --class …")
        if search and kind in (None, ListKind.plugins):
            raise RequestError("--search needs a kind: formalbench list tasks --search …")
        if kind is None:
            _print_kinds(host, as_json)
            return
        entries = [entry for entry in _entries(host, kind) if _matches(entry.spec, search)]
        if within is not None:
            entries, unknown_of = in_class(host, entries, check_class(within))
            if unknown_of:
                names = ", ".join(unknown_of)
                print(f"formalbench: unknown whether in {within}: {names}", file=sys.stderr)
        if (search or within) and not entries and not as_json:
            filters = [f"--class {within}"] * bool(within) + [f"--search {search!r}"] * bool(search)
            print(f"formalbench: no {kind} match {' '.join(filters)}", file=sys.stderr)
            return
        _print(host, kind, entries, as_json)

    @app.command("plugins")
    def plugins(ctx: typer.Context, as_json: JsonFlag = False) -> None:
        """List plugins with their source, contents and errors."""
        _print(host_of(ctx), ListKind.plugins, [], as_json)


def _print_kinds(host: PluginHost, as_json: bool) -> None:
    """Print the kinds that can be listed, and the number of each."""
    counts = {
        kind.value: len(_plugins(host) if kind is ListKind.plugins else _entries(host, kind))
        for kind in ListKind
    }
    if as_json:
        print_json(counts)
        return
    rows = [[kind, str(count), f"formalbench list {kind}"] for kind, count in counts.items()]
    print_table(("kind", "count", "command"), rows)


def _entries(host: PluginHost, kind: ListKind) -> list[Entry[Any]]:
    return [] if kind is ListKind.plugins else host.registries[kind.value].all()


def _matches(spec: Any, search: str) -> bool:
    """Return whether all words occur in name, summary or keywords; hyphens count as spaces."""
    text = " ".join((spec.name, spec.summary, *getattr(spec, "keywords", ())))
    return all(word in _plain(text) for word in _plain(search).split())


def _plain(text: str) -> str:
    return text.replace("-", " ").casefold()


def _print(host: PluginHost, kind: ListKind, entries: list[Entry[Any]], as_json: bool) -> None:
    for registry in host.registries.values():
        for line in registry.clashes():
            print(f"formalbench: {line}", file=sys.stderr)
    if as_json:
        specs = [{**spec_facts(host, entry), "plugin": entry.plugin.name} for entry in entries]
        print_json(_plugins(host) if kind is ListKind.plugins else specs)
        return
    columns = _COLUMNS[kind]
    if kind is ListKind.plugins:
        rows = [[_cell(row[column]) for column in columns] for row in _plugins(host)]
    else:
        rows = [[_of_entry(host, entry, column) for column in columns] for entry in entries]
    print_table(columns, rows)


def spec_facts(host: PluginHost, entry: Entry[Any]) -> dict[str, Any]:
    """Return a spec as JSON data, with its options."""
    spec = entry.spec
    facts: dict[str, Any] = {}
    splits: dict[str, Any] = {}
    for field in fields(spec):
        value = getattr(spec, field.name)
        if field.name in ("factory", "defaults"):
            continue
        if field.name == "config":
            facts["options"] = _options(spec)
        elif field.name == "theory":
            facts["theory"] = theory_facts(theory_at_hand(entry))
        elif field.name == "named_by":
            facts["named_by"] = _named_by(host, spec)
        elif field.name == "earlier":
            facts["earlier"] = [str(path) for path in value]
        elif field.name == "resources":
            facts["workplace"] = value  # keys of JSON keep their names
        elif isinstance(value, Splits):
            splits = {"train": value.train, "test": value.test, "step": value.step}
        else:
            facts[field.name] = str(value) if field.name == "path" else value
    if isinstance(spec, ModelSpec):
        facts["objectives"] = objectives_of(host, spec)
    return {**facts, **splits}


def _options(spec: Any) -> OptionTable:
    try:
        return option_facts(spec)
    except BrokenPluginError as error:  # listing must work for the other specs
        print(f"formalbench: {error}", file=sys.stderr)
        return {}


def objectives_of(host: PluginHost, spec: ModelSpec) -> tuple[str, ...]:
    """Return the objectives of a model; all if it names none."""
    return spec.objectives or tuple(entry.spec.name for entry in host.objectives.all())


def _named_by(host: PluginHost, spec: MetricSpec) -> tuple[str, ...]:
    """Return the objectives that have a metric among their own."""
    others = (e.spec.name for e in host.objectives.all() if spec.name in e.spec.metrics)
    return (*spec.named_by, *others)


def _of_entry(host: PluginHost, entry: Entry[Any], column: str) -> str:
    spec = entry.spec
    if column == "class":
        theory = theory_at_hand(entry)
        return theory.label if theory else ""
    if column == "options":
        return ", ".join(_options(spec))
    if column in ("train", "test"):
        return _cell(getattr(spec.splits, column))
    if column == "objectives" and isinstance(spec, MetricSpec):
        return _cell((*_named_by(host, spec), *spec.objectives))
    if column == "objectives" and not spec.objectives:
        return "all"
    return _cell(getattr(spec, column))


def _plugins(host: PluginHost) -> list[dict[str, Any]]:
    return [
        {
            "name": plugin.name,
            "distribution": plugin.distribution,
            "version": plugin.version,
            "sha256": plugin.local.sha256 if plugin.local else "",
            "provides": plugin.provides,
            "error": plugin.error,
        }
        for plugin in host.plugins
    ]


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{count} {kind}" for kind, count in value.items())
    if isinstance(value, tuple) and value and isinstance(value[0], int):
        return f"{value[0]}–{value[1]}"
    return ", ".join(value) if isinstance(value, tuple | list) else str(value)
