"""The command-line application: commands, plugins' commands, exit codes."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from formalbench.contracts.errors import (
    PLUGIN_FAILURES,
    BrokenPluginError,
    FormalbenchError,
    RequestError,
    nearest,
    plainer,
)
from formalbench.device import wait_passively
from formalbench.host import Plugin, PluginHost
from formalbench.host.loader import as_failures
from formalbench.host.plugin import broken
from formalbench.ui.terminal import plugins_print_to_stderr


def add_plugin_commands(host: PluginHost, app: typer.Typer) -> None:
    """Let every plugin add its commands.

    Raises:
        RequestError: if the name of a local plugin's command is taken.
        BrokenPluginError: if a local plugin fails; an installed one is dropped with one line.
    """
    for plugin in list(host.plugins):
        commands, groups = len(app.registered_commands), len(app.registered_groups)
        try:
            with as_failures():
                host.call(plugin, "formalbench_commands", app=app)
            _check_duplicates(app, plugin)
        except PLUGIN_FAILURES as error:
            del app.registered_commands[commands:], app.registered_groups[groups:]
            if plugin.local and isinstance(error, FormalbenchError):
                raise
            if plugin.local:
                raise BrokenPluginError(broken(plugin.local.path, error)) from None
            host.drop(plugin, error, "added no commands")


def _check_duplicates(app: typer.Typer, plugin: Plugin) -> None:
    names = command_names(app)
    for name in names:
        if names.count(name) > 1:
            raise RequestError(f"plugin {plugin.name}: the command {name!r} already exists")


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


COMMANDS = {
    "run": "run",
    **{"list": "listing", "plugins": "listing"},
    "show": "show",
    **dict.fromkeys(("sample", "label", "export", "score"), "data"),
    **{"verify": "verify", "check": "check", "new": "new"},
}
"""The engine's commands and their modules in this folder."""


APART = ("check",)
"""Commands that load the code of local plugins in another process."""


HELP = """Which formal languages can a sequence model express, learn and extrapolate on?

\b
formalbench run --model regulargpt    train and test a model and print its rank
formalbench list tasks                list the tasks (also: models, suites, protocols)
formalbench new model my-network      write a working model to start from

`--plugin PATH` loads a plugin: a .py or .yaml file, or a folder. It is repeatable and works
before and after a command. FORMALBENCH_PLUGINS lists plugins that are always loaded.
"""


def build_app(host: PluginHost, asked: str = "") -> typer.Typer:
    """Build the application.

    Args:
        host: the plugins, which may add commands.
        asked: the requested command. If it is one of `COMMANDS` and no local plugin could replace
            it, only its module is imported.
    """
    app = typer.Typer(
        help=HELP,
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # rich's boxes would cut the help in a pipe
    )

    @app.callback(invoke_without_command=True)
    def root(
        ctx: typer.Context,
        plugin: Annotated[  # taken out of the arguments before this app is built; shown in help
            list[Path] | None,
            typer.Option(metavar="PATH", help="Load a plugin. Also works after the command."),
        ] = None,
        version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    ) -> None:
        if version:
            from formalbench import __version__

            print(f"formalbench {__version__}")
        elif ctx.invoked_subcommand is None:
            print(ctx.get_help())

    alone = asked in COMMANDS and not host.locals()
    for file in [COMMANDS[asked]] if alone else dict.fromkeys(COMMANDS.values()):
        import_module(f"formalbench.cli.{file}").add_commands(app)
    if not alone:
        add_plugin_commands(host, app)
    return app


INTERRUPTED = 130


JUDGING = {("leaderboard", command) for command in ("publish", "check", "audit")}
"""Commands that check results of plugins, so they must not import plugin code."""


def main() -> None:
    """Run the command line and exit."""
    sys.exit(run_command_line(sys.argv[1:]))


def run_command_line(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code.

    0 success; 1 a run or check failed; 2 bad request; 3 a requested Python plugin is broken; 130
    interrupted. Every error that a user can cause is one line on standard error.
    """
    wait_passively()
    try:
        rest, paths = take_plugins(arguments)
        with plugins_print_to_stderr():
            command = rest[0] if rest else ""
            own_code = tuple(rest[:2]) in JUDGING
            host = PluginHost.load(paths, apart=command in APART, own_code=own_code)
            app = build_app(host, command)
        code = _invoke(app, rest, host)
        if code == INTERRUPTED:  # typer's answer to a KeyboardInterrupt
            raise KeyboardInterrupt
        if sys.stdout is not None:  # None if it was closed: `>&-`
            sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except FormalbenchError as error:
        return _fail(str(error), error.exit_code)
    except typer.TyperException as error:
        return _fail(_with_suggestion(plainer(error.format_message())), error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        return _fail("interrupted", INTERRUPTED)
    except MemoryError:
        return _fail("not enough memory for this request", RequestError.exit_code)
    except BrokenPipeError:
        # The reader is gone (`| head`); redirect stdout so that Python's flush at exit does not
        # fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        place = f"{os.fsdecode(error.filename)}: " if error.filename else ""
        return _fail(f"{place}{error.strerror or error}", RequestError.exit_code)
    except (UnicodeDecodeError, UnicodeEncodeError) as error:
        return _fail(f"not text in {error.encoding}: {error.reason}", RequestError.exit_code)


def _invoke(app: typer.Typer, arguments: Sequence[str], host: PluginHost) -> object:
    """Run a command; without a subcommand, a group shows its help."""
    try:
        return app(args=arguments, prog_name="formalbench", standalone_mode=False, obj=host)
    except typer.TyperException as error:
        if type(error).__name__ != "NoArgsIsHelpError":  # typer does not export it
            raise
        print(error.format_message())
        return 0


def _with_suggestion(message: str) -> str:
    """Return typer's error message, with the nearest valid argument."""
    line = " ".join(message.split()).replace("Value error, ", "")
    match = re.search(r"'([^']*)' is not one of ('.*')\.$", line)
    close = nearest(match[1], re.findall(r"'([^']*)'", match[2]), count=1) if match else []
    return f"{line[:-1]}: did you mean {close[0]}?" if close else line


def _fail(message: str, code: int) -> int:
    """Print an error as one line; only a broken plugin's frames take more."""
    allowed = "\n" if code == BrokenPluginError.exit_code else ""
    # Input of the user or from a file may contain line breaks or terminal escapes.
    plain = (c if c.isprintable() or c in allowed else ascii(c)[1:-1] for c in message)
    print(f"formalbench: {''.join(plain)}", file=sys.stderr)
    return code


def take_plugins(arguments: Sequence[str]) -> tuple[list[str], list[Path]]:
    """Remove every ``--plugin PATH`` from the arguments, at any position.

    Plugins can add commands, so they must be loaded before commands are parsed.
    """
    rest: list[str] = []
    paths: list[Path] = []
    words = iter(arguments)
    for word in words:
        if word == "--":
            rest += [word, *words]
        elif word == "--plugin":
            path = next(words, "")
            if not path:
                raise RequestError("--plugin needs a path")
            paths.append(Path(path))
        elif word.startswith("--plugin="):
            if word == "--plugin=":  # Path("") would be the working directory
                raise RequestError("--plugin needs a path")
            paths.append(Path(word.removeprefix("--plugin=")))
        else:
            rest.append(word)
    return rest, paths
