"""Calling hooks plugin by plugin, so that one that fails takes nothing down with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pluggy

from formalbench.contracts import hooks
from formalbench.host.plugins import Plugin

PROJECT = "formalbench"


class HookCalls:
    """Pluggy's manager, one plugin at a time."""

    def __init__(self) -> None:
        self._manager = pluggy.PluginManager(PROJECT)
        self._manager.add_hookspecs(hooks)

    def register(self, plugin: Plugin, module: Any) -> None:
        """Register what a plugin implements.

        Raises:
            pluggy.PluginValidationError: if a hook is misspelt or has unknown arguments.
        """
        plugin.module = module
        self._manager.register(module, name=f"{plugin.name}@{plugin.describe()}")
        self._manager.check_pending()  # a misspelt hook is an error, not a silence

    def unregister(self, plugin: Plugin) -> None:
        """Forget what a plugin implements."""
        if self._manager.is_registered(plugin.module):
            self._manager.unregister(plugin.module)

    def drop(self, plugin: Plugin, error: BaseException) -> None:
        """Forget what a plugin implements, and remember why."""
        self.unregister(plugin)
        plugin.module = None
        plugin.error = " ".join(f"{type(error).__name__}: {error}".split())

    def implements_any(self, plugin: Plugin) -> bool:
        """Say whether a plugin implements any hook."""
        return bool(self._manager.get_hookcallers(plugin.module))

    def call(self, plugin: Plugin, hook: str, arguments: Mapping[str, Any]) -> Iterator[Any]:
        """Call one plugin's implementations of a hook and yield what they return."""
        for caller in self._manager.get_hookcallers(plugin.module) or ():
            if caller.name == hook:
                for implementation in caller.get_hookimpls():
                    if implementation.plugin is plugin.module:
                        names = implementation.argnames
                        yield implementation.function(*(arguments[name] for name in names))
