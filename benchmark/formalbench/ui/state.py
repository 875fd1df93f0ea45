"""What a command finds in its Typer context."""

from __future__ import annotations

import typer

from formalbench.host import PluginHost


def host_of(ctx: typer.Context) -> PluginHost:
    """Return the plugin host of this call."""
    host = ctx.find_root().obj
    assert isinstance(host, PluginHost)
    return host
