"""The plugin host: finds plugins, keeps what they announce, and turns names into things."""

from formalbench.host.host import PluginHost
from formalbench.host.plugins import LocalPlugin, Plugin

__all__ = ["LocalPlugin", "Plugin", "PluginHost"]
