"""The Typer application: its own commands, then those of plugins."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from formalbench.cli import check, data, exchange, listing, new, run, show, verify
from formalbench.cli.plugin_commands import add_plugin_commands
from formalbench.host import PluginHost

HELP = """Which formal languages can a sequence model express, learn and extrapolate on?

\b
formalbench run --model regulargpt    train and test a model, see it ranked
formalbench list tasks                what there is (also: models, suites, protocols)
formalbench new model my-network      start a model of your own

`--plugin PATH` (repeatable, before or after any command) loads a plugin: a .py or .yaml
file, or a folder. FORMALBENCH_PLUGINS names plugins that are always loaded.
"""


def build_app(host: PluginHost) -> typer.Typer:
    """Return the application with every plugin's commands."""
    app = typer.Typer(
        help=HELP,
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # its boxes would cut the help of a pipe
    )

    @app.callback(invoke_without_command=True)
    def root(
        ctx: typer.Context,
        plugin: Annotated[  # taken out of the arguments before this app is built; shown in help
            list[Path] | None,
            typer.Option(metavar="PATH", help="Load a plugin; works after the command, too."),
        ] = None,
        version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    ) -> None:
        if version:
            from formalbench import __version__

            print(f"formalbench {__version__}")
        elif ctx.invoked_subcommand is None:
            print(ctx.get_help())

    for module in (run, listing, show, data, exchange, verify, check, new):
        module.add_commands(app)
    add_plugin_commands(host, app)
    return app
