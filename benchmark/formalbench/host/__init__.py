"""The plugin host: finds plugins, keeps what they announce, and turns names into things."""

from formalbench.host.host import PluginHost, load_plugins
from formalbench.host.plugin import LocalPlugin, Plugin

__all__ = ["LocalPlugin", "Plugin", "PluginHost", "load_plugins"]
