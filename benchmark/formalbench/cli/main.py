"""The application and its plugins' commands; from `sys.argv` to an exit code."""

from __future__ import annotations

import atexit
import os
import re
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from formalbench.cli import check, data, exchange, listing, new, run, show, verify
from formalbench.contracts.errors import (
    PLUGIN_FAILURES,
    BrokenPluginError,
    FormalbenchError,
    RequestError,
    nearest,
)
from formalbench.device import wait_passively
from formalbench.host import Plugin, PluginHost
from formalbench.host.loader import contained
from formalbench.host.plugin import broken
from formalbench.ui.terminal import plugins_print_to_stderr


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


HELP = """Which formal languages can a sequence model express, learn and extrapolate on?

\b
formalbench run --model regulargpt    train and test a model and print its rank
formalbench list tasks                list the tasks (also: models, suites, protocols)
formalbench new model my-network      write a working model to start from

`--plugin PATH` loads a plugin: a .py or .yaml file, or a folder. It is repeatable and works
before and after a command. FORMALBENCH_PLUGINS lists plugins that are always loaded.
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
            typer.Option(metavar="PATH", help="Load a plugin. Also works after the command."),
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


INTERRUPTED = 130


PATIENCE = 60.0
"""Seconds that a plugin's threads have, once the command is done: one may still send results."""


def main() -> None:
    """Run the command line and exit."""
    _open_closed_streams()
    leave(run_command_line(sys.argv[1:]))


def leave(code: int) -> NoReturn:
    """Exit, though a plugin left a thread that never ends; one that ends soon is waited for."""
    main = threading.main_thread()
    if any(not thread.daemon and thread is not main for thread in threading.enumerate()):
        timer = threading.Timer(PATIENCE, _give_up, (code,))
        timer.daemon = True
        timer.start()
        atexit.register(timer.cancel)  # then all threads have ended
    sys.exit(code)


def _give_up(code: int) -> None:
    print(
        "formalbench: a plugin's thread is still running and is now stopped",
        file=sys.stderr,
        flush=True,
    )
    os._exit(code)


def _open_closed_streams() -> None:
    """Let a standard stream that was closed (``>&-``) lead nowhere.

    Else the next file that is opened would be taken for it, by this process and its workers.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            os.set_inheritable(number, True)
            setattr(sys, name, os.fdopen(number, "w" if number else "r"))


def run_command_line(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code.

    0 done; 1 something in it failed; 2 bad request; 3 a requested Python plugin is broken;
    130 interrupted. Every error a user can cause is one line on standard error.
    """
    wait_passively()
    try:
        rest, paths = take_plugins(arguments)
        with plugins_print_to_stderr():
            host = PluginHost.load(paths, apart=check.tries_apart(rest))
            app = build_app(host)
        code = _invoke(app, rest, host)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except FormalbenchError as error:
        return _fail(str(error), error.exit_code)
    except typer.TyperException as error:
        return _fail(_told(error.format_message()), error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        return _fail("interrupted", INTERRUPTED)
    except MemoryError:
        return _fail("not enough memory for this request", RequestError.exit_code)
    except BrokenPipeError:
        # The reader left (`| head`); point stdout elsewhere so that Python's own flush at
        # exit does not complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        place = f"{os.fsdecode(error.filename)}: " if error.filename else ""
        return _fail(f"{place}{error.strerror or error}", RequestError.exit_code)
    except (UnicodeDecodeError, UnicodeEncodeError) as error:
        return _fail(f"not text in {error.encoding}: {error.reason}", RequestError.exit_code)


def _invoke(app: typer.Typer, arguments: Sequence[str], host: PluginHost) -> object:
    """Run a command; a group of commands alone shows its help, as `formalbench` alone does."""
    try:
        return app(args=arguments, prog_name="formalbench", standalone_mode=False, obj=host)
    except typer.TyperException as error:
        if type(error).__name__ != "NoArgsIsHelpError":  # which the library does not export
            raise
        print(error.format_message())
        return 0


def _told(message: str) -> str:
    """Return what the library says of an argument, with the nearest of what it could be."""
    line = " ".join(message.split()).replace("Value error, ", "")
    found = re.search(r"'([^']*)' is not one of ('.*')\.$", line)
    close = nearest(found[1], re.findall(r"'([^']*)'", found[2]), count=1) if found else []
    return f"{line[:-1]}: did you mean {close[0]}?" if close else line


def _fail(message: str, code: int) -> int:
    """Tell what is wrong in one line; only a broken plugin's frames take more."""
    kept = "\n" if code == BrokenPluginError.exit_code else ""
    # What the user or a file gave us may hold line breaks or terminal escapes.
    plain = (c if c.isprintable() or c in kept else ascii(c)[1:-1] for c in message)
    print(f"formalbench: {''.join(plain)}", file=sys.stderr)
    return code


def take_plugins(arguments: Sequence[str]) -> tuple[list[str], list[Path]]:
    """Take every ``--plugin PATH`` out of the arguments, wherever it stands.

    Plugins can add commands, so they are needed before the commands are known.

    Raises:
        RequestError: if the last ``--plugin`` has no path.
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
