"""The commands ``formalbench leaderboard``, ``… publish`` and ``… check``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from formalbench_leaderboard.board import Page

Format = Literal["table", "markdown", "latex", "csv", "json", "figures"]

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
            metavar="S", help="Rank by the tasks of this suite (`formalbench list suites`)."
        ),
    ] = "default",
    protocol: Annotated[
        str | None,
        typer.Option(
            metavar="P", help="Show this protocol only. Different protocols are never compared."
        ),
    ] = None,
    format: Annotated[
        Format,
        typer.Option(
            help="table: for the terminal. markdown: the full page, with every task. latex: to "
            "paste into a paper. csv, json: for programs, shares as fractions of one. figures: "
            "SVG and PNG files, into the folder that --output names."
        ),
    ] = "table",
    output: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Write to this file instead of standard output."),
    ] = None,
) -> None:
    """Rank models by what their records say.

    A score is the mean over a suite's tasks of (accuracy − chance) / (1 − chance), each
    task the mean over all seeds; its interval is a bootstrap over seeds and test strings.
    Neighbours that cannot be told apart share a rank. Numbers from papers come below, never
    mixed with measured ones.

    \b
    formalbench leaderboard
    formalbench leaderboard --results my-results --protocol quick
    formalbench leaderboard --format latex --output board.tex
    """
    if ctx.invoked_subcommand is not None:
        _refuse_lost_options(ctx)
        return
    from formalbench.cli.state import host_of

    from formalbench_leaderboard.build import build_page
    from formalbench_leaderboard.faces import face
    from formalbench_leaderboard.sources import (
        check_folders,
        read_all,
        read_with_published,
        suite_view,
    )

    check_folders(results or ())
    view = suite_view(host_of(ctx), suite, None if protocol is None else [protocol])
    records, verifications = read_all(results) if results else read_with_published()
    if protocol is not None:
        _check_protocol(protocol, {record.protocol.name for record in records})
        verifications = []  # they are made under no protocol
    page = build_page(records, view, verifications)
    if format == "figures":
        _write_figures(page, suite, output)
    elif output is not None:
        from formalbench.store import write_atomically

        write_atomically(output, face(format)(page))
    elif format == "table":
        from rich.console import Console

        from formalbench_leaderboard.faces.terminal import print_page

        print_page(page, Console())
    else:
        typer.echo(face(format)(page), nl=False)


@leaderboard.command()
def publish(
    ctx: typer.Context,
    results: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Folder of records to publish. Default: your own results."
        ),
    ] = None,
) -> None:
    """Add records to this repository's leaderboard.

    Run it inside a clone of the repository: it copies the records into leaderboard/results
    and renders leaderboard/README.md anew. Then commit what it changed and open a pull
    request.

    Every record is checked first: its task, model and protocol must be the ones at hand
    (a local plugin is named with --plugin), its test strings, chance level and run_id are
    worked out again, and no seed or learning rate of the protocol may be missing. If one
    is refused, nothing is written, and the exit code is 1.

    \b
    formalbench leaderboard publish --results my-results
    """
    from formalbench.cli.state import host_of
    from formalbench.store import default_results

    from formalbench_leaderboard import publish as publishing
    from formalbench_leaderboard.text import harmless, plural

    repository = publishing.find_repository()
    try:
        done = publishing.publish(results or default_results(), repository, host_of(ctx))
    except publishing.RefusedError as error:
        for line in [*error.lines, str(error)]:
            typer.echo(line, err=True)
        raise typer.Exit(1) from None
    for (model, task), times in done.added.items():
        typer.echo(f"added {harmless(model)} on {harmless(task)}: {plural(times, 'record')}")
    if done.already:
        typer.echo(f"{plural(done.already, 'record')} published already")
    typer.echo("every face is up to date")


@leaderboard.command()
def check(ctx: typer.Context) -> None:
    """Check that every face is what the records give.

    Writes nothing. Exit code 1 if a rendered file differs by a byte from what
    leaderboard/results gives.

    \b
    formalbench leaderboard check
    """
    from formalbench.cli.state import host_of

    from formalbench_leaderboard.faces.figures import installed_version
    from formalbench_leaderboard.publish import find_repository
    from formalbench_leaderboard.rendered import stale_faces, uncompared_figures
    from formalbench_leaderboard.text import harmless, plural

    repository = find_repository()
    stale = stale_faces(repository, host_of(ctx))
    if other := uncompared_figures(repository):
        by = ", ".join(sorted({version or "an unknown version" for version in other.values()}))
        here = installed_version() or "not installed"
        line = f"{plural(len(other), 'figure')} not compared: matplotlib {by} drew, here is {here}"
        typer.echo(harmless(line), err=True)
    for path in stale:
        typer.echo(f"{path.as_posix()} is not what leaderboard/results gives", err=True)
    if stale:
        again = "`formalbench leaderboard publish --results leaderboard/results` renders it"
        typer.echo(again, err=True)
        raise typer.Exit(1)
    typer.echo("every face is up to date")


def _refuse_lost_options(ctx: typer.Context) -> None:
    """Refuse options before a subcommand's name: they would be lost without a word."""
    from formalbench.contracts.errors import RequestError

    defaults = {"suite": "default", "format": "table"}
    lost = [name for name, value in ctx.params.items() if value and value != defaults.get(name)]
    if lost:
        raise RequestError(f"--{lost[0]} does nothing before {ctx.invoked_subcommand}")


def _write_figures(page: Page, suite: str, output: Path | None) -> None:
    from formalbench.contracts.errors import RequestError

    from formalbench_leaderboard.faces.figures import write_figures

    if output is None:
        raise RequestError("--format figures writes files: name their folder by --output")
    for path in write_figures(page, suite, output):
        typer.echo(path)


def _check_protocol(protocol: str, known: set[str]) -> None:
    from formalbench.contracts.errors import unknown

    if protocol not in known:
        raise unknown("protocol among the records", protocol, known)
