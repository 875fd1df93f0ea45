"""Commands that plugins add; none can replace another's."""

from __future__ import annotations

import typer

from formalbench.contracts.errors import (
    PLUGIN_FAILURES,
    BrokenPluginError,
    FormalbenchError,
    RequestError,
)
from formalbench.host import Plugin, PluginHost
from formalbench.host.contained import contained
from formalbench.host.local import broken


def add_plugin_commands(host: PluginHost, app: typer.Typer) -> None:
    """Let every plugin add its commands.

    Raises:
        RequestError: if a local plugin's command has the name of another.
        BrokenPluginError: if a local plugin fails; an installed one is dropped with one line.
    """
    for plugin in list(host.plugins):
        commands, groups = len(app.registered_commands), len(app.registered_groups)
        try:
            with contained():
                host.call(plugin, "formalbench_commands", app=app)
            _refuse_twice(app, plugin)
        except PLUGIN_FAILURES as error:
            del app.registered_commands[commands:], app.registered_groups[groups:]
            if plugin.local and isinstance(error, FormalbenchError):
                raise
            if plugin.local:
                raise BrokenPluginError(broken(plugin.local.path, error)) from None
            host.drop(plugin, error, "added no commands")


def _refuse_twice(app: typer.Typer, plugin: Plugin) -> None:
    names = command_names(app)
    for name in names:
        if names.count(name) > 1:
            raise RequestError(f"plugin {plugin.name}: there is a command {name!r} already")


def command_names(app: typer.Typer) -> list[str]:
    """Return the names of an application's commands and groups."""
    commands = [
        info.name or getattr(info.callback, "__name__", "").replace("_", "-")
        for info in app.registered_commands
    ]
    groups = [
        info.name or (info.typer_instance.info.name if info.typer_instance else "")
        for info in app.registered_groups
    ]
    return [name for name in [*commands, *groups] if isinstance(name, str) and name]
