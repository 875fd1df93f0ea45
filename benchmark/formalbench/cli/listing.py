"""``formalbench list`` and ``formalbench plugins``."""

from __future__ import annotations

import sys
from dataclasses import asdict
from enum import StrEnum
from typing import Annotated, Any

import typer

from formalbench.cli.output import print_json, print_table
from formalbench.cli.state import host_of
from formalbench.host import PluginHost
from formalbench.host.registry import Registry

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


class Kind(StrEnum):
    """What can be listed."""

    tasks = "tasks"
    models = "models"
    suites = "suites"
    protocols = "protocols"
    plugins = "plugins"


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this file."""

    @app.command("list")
    def list_things(
        ctx: typer.Context,
        kind: Annotated[Kind, typer.Argument(help="What to list.")],
        as_json: JsonFlag = False,
    ) -> None:
        """List tasks, models, suites, protocols or plugins."""
        _print(host_of(ctx), kind, as_json)

    @app.command("plugins")
    def plugins(ctx: typer.Context, as_json: JsonFlag = False) -> None:
        """List plugins: where each comes from, what it provides, what is wrong with it."""
        _print(host_of(ctx), Kind.plugins, as_json)


def _print(host: PluginHost, kind: Kind, as_json: bool) -> None:
    for registry in (host.tasks, host.models, host.suites, host.protocols):
        for line in registry.clashes():
            print(f"formalbench: {line}", file=sys.stderr)
    rows = _plugins(host) if kind is Kind.plugins else _specs(getattr(host, kind.value))
    if as_json:
        print_json(rows)
        return
    columns = {
        Kind.tasks: ("name", "objectives", "train", "test", "summary"),
        Kind.models: ("name", "kind", "objectives", "summary"),
        Kind.suites: ("name", "tasks", "summary"),
        Kind.protocols: ("name", "device", "summary"),
        Kind.plugins: ("name", "distribution", "version", "provides", "error"),
    }[kind]
    print_table(columns, [[_cell(row[column]) for column in columns] for row in rows])


def _specs(registry: Registry[Any]) -> list[dict[str, Any]]:
    rows = []
    for entry in registry.all():
        row = asdict(entry.spec)
        row.pop("factory", None)
        row |= row.pop("splits", {})
        if "path" in row:
            row["path"] = str(row["path"])
        row["plugin"] = entry.plugin.name
        rows.append(row)
    return rows


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
