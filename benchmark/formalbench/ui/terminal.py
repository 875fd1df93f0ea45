"""Shared by all commands: options, completion, JSON and tables."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from formalbench.contracts.errors import ReaderLeftError, RequestError
from formalbench.host import PluginHost


def host_of(ctx: typer.Context) -> PluginHost:
    """Return the plugin host of a command's context."""
    host = ctx.find_root().obj
    assert isinstance(host, PluginHost)
    return host


class Screen(Console):
    """A console that raises an error instead of ending the process if its reader is gone."""

    def on_broken_pipe(self) -> None:
        """Raise an error for standard output; ignore it for standard error."""
        self.quiet = True
        if not self.stderr:
            raise ReaderLeftError


Completer = Callable[[typer.Context, str], list[tuple[str, str]]]
"""Called with a context and the incomplete word; returns completions with descriptions."""


def names_of(kind: str) -> Completer:
    """Return a completer for one name of a kind of ``formalbench list``, such as ``models``."""

    def complete(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
        return offers(ctx, kind, incomplete)

    return complete


def lists_of(kind: str) -> Completer:
    """Return a completer for the last name of a comma list."""

    def complete(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
        if incomplete.count("[") > incomplete.count("]"):
            return []  # this comma separates options
        before, comma, last = incomplete.rpartition(",")
        return [(f"{before}{comma}{name}", summary) for name, summary in offers(ctx, kind, last)]

    return complete


def offers(ctx: typer.Context, kind: str, incomplete: str) -> list[tuple[str, str]]:
    """Return names of a kind with this beginning, each with its summary.

    Patterns (``dyck-{k}-{D}``) are left out.
    """
    specs = (entry.spec for entry in host_of(ctx).registries[kind].all())
    return [
        (spec.name, spec.summary)
        for spec in specs
        if spec.name.startswith(incomplete) and "{" not in spec.name
    ]


def _check_jobs(jobs: int | None) -> int | None:
    if jobs is not None and jobs < 1:
        raise RequestError(f"--jobs {jobs}: must be at least 1")
    return jobs


def results_folder(name: str) -> Path:
    """Return the folder that --results names; an empty name is refused."""
    if not name:  # Path("") would be the working directory
        raise RequestError("--results needs a folder")
    return Path(name)


def options_given(ctx: typer.Context) -> dict[str, str]:
    """Return the options that the user wrote, as written, by the names of their parameters."""
    given = {}
    for parameter in ctx.command.params:
        name = parameter.name or ""
        source = ctx.get_parameter_source(name)
        if parameter.param_type_name == "option" and source and source.name == "COMMANDLINE":
            negated = parameter.secondary_opts and not ctx.params[name]
            given[name] = (parameter.secondary_opts if negated else parameter.opts)[0]
    return given


JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]

DeviceOption = Annotated[
    str, typer.Option("--device", metavar="auto|cpu|cuda[:i]", help="Where to compute.")
]

JobsOption = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        metavar="N",
        help="Parallel jobs. Default: one per core or GPU.",
        callback=_check_jobs,
    ),
]

ExecutorOption = Annotated[
    str,
    typer.Option(
        "--executor",
        metavar="NAME",
        help="What runs the jobs (`formalbench list executors`). Default: this machine.",
        autocompletion=names_of("executors"),
    ),
]

ResultsOption = Annotated[
    Path | None,
    typer.Option(
        "--results",
        metavar="DIR",
        parser=results_folder,
        help="Folder for records and weights. Default: your own results ($FORMALBENCH_RESULTS, or "
        "formalbench/results among your user data).",
    ),
]

WIDE = 10_000
"""Columns in a pipe, so that no line is cut."""


@contextlib.contextmanager
def plugins_print_to_stderr() -> Iterator[None]:
    """Redirect output of plugins to standard error, because standard output is the command's."""
    with contextlib.redirect_stdout(sys.stderr):
        yield


PIPED_TABLE = 120
"""Maximum columns of a table in a pipe or file; longer cells are wrapped."""


def console(*, stderr: bool = False) -> Console:
    """Return a console that does not cut piped output."""
    target = Screen(stderr=stderr, highlight=False)
    if not target.is_terminal:
        target = Screen(stderr=stderr, highlight=False, width=WIDE)
    return target


def as_json(data: Any) -> str:
    """Format data as the JSON that commands print; paths have slashes."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False, default=Path.as_posix)


def print_json(data: Any) -> None:
    """Print JSON to standard output."""
    print(as_json(data))


def put(text: str, file: Path | None) -> None:
    """Write text to a file, or to standard output if it is None."""
    if file is None:
        print(text, end="")
    else:
        from formalbench.files import write_atomically

        write_atomically(file, text)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> None:
    """Print a table of plain-text cells.

    It is as wide as the terminal; in a pipe or a file at most `PIPED_TABLE` columns. Long cells
    are wrapped, but a name in the first column is kept whole.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, title=title or None, title_justify="left", pad_edge=False)
    screen = console()
    for index, column in enumerate(columns):
        no_wrap = index == 0 and not screen.is_terminal
        table.add_column(column, overflow="fold", no_wrap=no_wrap)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    screen.print(table, width=None if screen.is_terminal else PIPED_TABLE)
