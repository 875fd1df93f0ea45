"""The reference of the command line, from the commands themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import typer
from formalbench.cli.main import build_app
from formalbench.host import PluginHost

from formalbench_site.markdown import fenced, pages_of, table

INTRODUCTION = """# Command line

Every command, as `--help` has it. `--plugin PATH` works before and after the name of any command,
and may be repeated. With `--json` standard output holds only JSON; progress and messages go to
standard error.

`formalbench --install-completion` teaches your shell (bash, zsh, fish) to complete commands,
options and the names of models, tasks, suites, protocols, executors and trackers;
`--show-completion` prints what it would install.

| exit code | means |
| --- | --- |
| 0 | done |
| 1 | something in it failed: a run, whose record says why, a verification, a check |
| 2 | a bad request, told in one line |
| 3 | a plugin that was asked for is broken |
| 130 | interrupted |"""


def page() -> str:
    """Return the page."""
    root = typer.main.get_command(build_app(PluginHost.load([])))
    context = typer.Context(root, info_name="formalbench")
    sections = [_section(command, inner) for command, inner in _every(root, context)]
    return pages_of(INTRODUCTION, *sections)


def _every(command: Any, context: typer.Context) -> Iterator[tuple[Any, typer.Context]]:
    """Return a command and all below it, each with its context."""
    yield command, context
    for name, inner in getattr(command, "commands", {}).items():
        if not inner.hidden:
            yield from _every(inner, typer.Context(inner, info_name=name, parent=context))


def _section(command: Any, context: typer.Context) -> str:
    usage = command.get_usage(context).removeprefix("Usage: ")
    arguments, options = [], []
    for parameter in command.get_params(context):
        told = parameter.get_help_record(context)
        if told is not None:
            row = (f"`{told[0]}`", told[1])
            (arguments if parameter.param_type_name == "argument" else options).append(row)
    return pages_of(
        f"## {context.command_path}",
        fenced(" ".join(usage.split())),
        *_help(command.help or ""),
        table(("argument", "meaning"), arguments) if arguments else "",
        table(("option", "meaning"), options),
    ).rstrip()


def _help(text: str) -> Iterator[str]:
    """Return the paragraphs of a help text; those that keep their lines are examples."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.startswith("\b\n"):
            yield fenced(paragraph.removeprefix("\b\n"), "console")
        else:
            yield " ".join(paragraph.split())
