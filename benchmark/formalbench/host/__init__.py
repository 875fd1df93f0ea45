"""The plugin host: finds plugins and resolves names to tasks, models and protocols."""

from formalbench.host.host import PluginHost, load_plugins
from formalbench.host.plugin import LocalPlugin, Plugin

__all__ = ["LocalPlugin", "Plugin", "PluginHost", "load_plugins"]
