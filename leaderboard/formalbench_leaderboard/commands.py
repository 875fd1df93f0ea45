"""The command ``formalbench leaderboard``; its subcommands are in files of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from formalbench.contracts.theory import CLASSES
from formalbench.ui.completion import names_of

from formalbench_leaderboard.auditing.command import add_command as add_audit
from formalbench_leaderboard.publishing.commands import add_commands as add_publishing

if TYPE_CHECKING:
    from formalbench.contracts.verification import AnyRecord
    from formalbench.host import PluginHost

    from formalbench_leaderboard.board import Page

Format = Literal["table", "markdown", "latex", "csv", "json", "html", "figures"]

CLASS_NAMES = ", ".join(CLASSES)

_FOLDERS = ("html", "figures")
"""The formats that are several files."""

leaderboard = typer.Typer(
    invoke_without_command=True,
    no_args_is_help=False,
    rich_markup_mode=None,  # as the engine's own commands: its boxes would cut the help of a pipe
)


@leaderboard.callback()
def show(
    ctx: typer.Context,
    results: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR",
            help="Folder of records; repeatable. Default: your own results, and the "
            "published ones: of the repository you are in, or those that came with formalbench.",
        ),
    ] = None,
    suite: Annotated[
        str,
        typer.Option(
            metavar="S",
            help="Rank by the tasks of this suite (`formalbench list suites`).",
            autocompletion=names_of("suites"),
        ),
    ] = "default",
    protocol: Annotated[
        str | None,
        typer.Option(
            metavar="P",
            help="Show this protocol only. Different protocols are never compared.",
            autocompletion=names_of("protocols"),
        ),
    ] = None,
    within: Annotated[
        str | None,
        typer.Option(
            "--class", metavar="C", help=f"Only tasks in a class of languages: {CLASS_NAMES}."
        ),
    ] = None,
    format: Annotated[
        Format,
        typer.Option(
            help="table: for the terminal. markdown: the full page, with every task. latex: to "
            "paste into a paper. csv, json: for programs, shares as fractions of one. html: a "
            "folder with a page to open from disk. figures: SVG and PNG files, into a folder."
        ),
    ] = "table",
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Write to this file (of html and figures: folder) instead of standard output.",
        ),
    ] = None,
) -> None:
    """Rank models by what their records say.

    A score is the mean over a suite's tasks of (accuracy − chance) / (1 − chance), each
    task the mean over all seeds; its interval is over seeds and test strings.
    Neighbours that cannot be told apart share a rank. Numbers from papers come below, never
    mixed with measured ones.

    A result of your own goes in with `publish`. `check` holds what is published to the rules,
    `audit` its numbers to the truth: each has its own --help.

    \b
    formalbench leaderboard
    formalbench leaderboard --results my-results --protocol quick
    formalbench leaderboard --class star-free
    formalbench leaderboard --format latex --output board.tex
    """
    if ctx.invoked_subcommand is not None:
        _refuse_lost_options(ctx)
        return
    from formalbench.contracts.errors import RequestError
    from formalbench.theory.lookup import check_class
    from formalbench.ui.state import host_of

    from formalbench_leaderboard.build import build_page
    from formalbench_leaderboard.sources import (
        check_folders,
        read_all,
        read_with_published,
        suite_view,
    )
    from formalbench_leaderboard.theory import in_class, predicted

    check_folders(results or ())
    if format in _FOLDERS and output is None:
        raise RequestError(f"--format {format} needs --output DIR, the folder to write to")
    shown = None if protocol is None else [protocol]
    view = suite_view(host_of(ctx), suite, shown, ranks_unchecked=False)
    held = read_all(results) if results else read_with_published()
    if protocol is not None:
        _check_protocol(protocol, {record.protocol.title for record in held.records})
        held = held._replace(verifications=[])  # they are made under no protocol
    if within is not None:
        held, view = in_class(held, view, check_class(within))
    if format == "json":
        view = replace(view, predicted=cache(partial(predicted, host_of(ctx))))
    page = build_page(held.records, view, held.verifications)
    _show(page, [*held.records, *held.verifications], host_of(ctx), suite, format, output)
    if held.invalid:
        _tell_invalid(held.invalid)
        raise typer.Exit(1)


def _show(
    page: Page,
    records: Sequence[AnyRecord],
    host: PluginHost,
    suite: str,
    format: Format,
    output: Path | None,
) -> None:
    """Show a page where it was asked for, and as what."""
    from formalbench_leaderboard.renderers import renderer

    if format == "html" and output is not None:
        _write_web_page(page, records, host, output)
    elif format == "figures" and output is not None:
        _write_figures(page, suite, output)
    elif output is not None:
        from formalbench.store import write_atomically

        write_atomically(output, renderer(format)(page))
    elif format == "table":
        from formalbench.ui.screen import Screen

        from formalbench_leaderboard.renderers.terminal import print_page

        print_page(page, Screen())
    else:
        typer.echo(renderer(format)(page), nl=False)


def _tell_invalid(lines: Sequence[str]) -> None:
    """Say which files are no records, and what is wrong with them: all at once."""
    from formalbench.analysis.text import harmless, plural

    for line in lines:
        typer.echo(harmless(line), err=True)
    typer.echo(f"{plural(len(lines), 'file')} left out: no valid record", err=True)


def _write_web_page(
    page: Page, records: Sequence[AnyRecord], host: PluginHost, folder: Path
) -> None:
    """Write the page file by file, and say where to open it."""
    from formalbench.store import write_atomically

    from formalbench_leaderboard.web.assemble import render
    from formalbench_leaderboard.web.definitions import definitions

    for name, text in render(page, definitions(host, records)).items():
        write_atomically(folder / name, text)
    typer.echo(f"open {folder / 'index.html'}")


def _refuse_lost_options(ctx: typer.Context) -> None:
    """Refuse options before a subcommand's name: they would be lost without a word."""
    from formalbench.contracts.errors import RequestError

    defaults = {"suite": "default", "format": "table"}
    given = {name.replace("within", "class"): value for name, value in ctx.params.items()}
    lost = [name for name, value in given.items() if value and value != defaults.get(name)]
    if lost:
        raise RequestError(f"--{lost[0]} does nothing before {ctx.invoked_subcommand}")


def _write_figures(page: Page, suite: str, folder: Path) -> None:
    """Write the figures of every board, and say where they are."""
    from formalbench_leaderboard.renderers.figures import write_figures

    for path in write_figures(page, suite, folder):
        typer.echo(path)


def _check_protocol(protocol: str, known: set[str]) -> None:
    from formalbench.contracts.errors import unknown

    if protocol not in known:
        raise unknown("protocol among the records", protocol, known)


add_publishing(leaderboard)
add_audit(leaderboard)
