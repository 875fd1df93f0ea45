"""The command ``formalbench reproduce``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from formalbench_leaderboard.reproductions.framework import Bench, Reproduction


def add_command(app: typer.Typer) -> None:
    """Add the command of this file."""

    @app.command()
    def reproduce(
        ctx: typer.Context,
        name: Annotated[
            str | None,
            typer.Argument(
                metavar="[TABLE]", help="What to reproduce; without it, all are listed."
            ),
        ] = None,
        scale: Annotated[
            Literal["quick", "paper"],
            typer.Option(
                help="quick: what two CPU cores do in an hour at most. paper: as much as the paper."
            ),
        ] = "quick",
        output: Annotated[
            Path | None,
            typer.Option(
                metavar="DIR",
                help="Where the files go. Default: leaderboard/reproductions of the repository "
                "you are in.",
            ),
        ] = None,
        results: Annotated[
            Path | None, typer.Option(metavar="DIR", help="Where records are and go.")
        ] = None,
        device: Annotated[
            str, typer.Option(metavar="auto|cpu|cuda[:i]", help="Where to train.")
        ] = "auto",
        jobs: Annotated[
            int | None, typer.Option(metavar="N", min=1, help="Processes at once.")
        ] = None,
        training: Annotated[
            bool,
            typer.Option(
                "--training/--no-training",
                help="Whether to train what has no record; a table goes without it.",
            ),
        ] = True,
        as_json: Annotated[
            bool, typer.Option("--json", help="Print what came out as JSON, and nothing else.")
        ] = False,
    ) -> None:
        """Measure a paper's figure or table anew: its number, ours, and whether it holds.

        Writes a page (Markdown), the data (CSV), all of it for programs (JSON), and the figure
        (PNG and SVG) if there is one. Runs that have a record are not repeated. Exit code 1 if a
        claim does not hold.

        \b
        formalbench reproduce
        formalbench reproduce chiang-cholak-fig2 --scale paper
        """
        from formalbench.ui.state import host_of

        from formalbench_leaderboard.reproductions import get_reproduction
        from formalbench_leaderboard.reproductions.framework import Bench

        if name is None:
            _list_all(as_json)
            return
        chosen = get_reproduction(name)
        folder = find_folder(output)
        bench = Bench(
            host_of(ctx),
            scale,
            lambda line: typer.echo(line, err=True),
            results=results,
            device=device,
            jobs=jobs,
            training=training,
        )
        if not carry_out(bench, chosen, folder, as_json):
            raise typer.Exit(1)


def _list_all(as_json: bool) -> None:
    """Print what there is, what ``quick`` leaves out of it, and how long it takes."""
    from formalbench.ui.output import print_json

    from formalbench_leaderboard.reproductions import REPRODUCTIONS, get_reproduction

    every = [get_reproduction(known) for known in REPRODUCTIONS]
    if as_json:
        print_json(
            [
                {
                    "reproduction": one.name,
                    "title": one.title,
                    "source": one.source,
                    "scales": ["quick", "paper"],
                    "reduced": one.reduced,
                    "duration": one.duration,
                }
                for one in every
            ]
        )
        return
    for one in every:
        typer.echo(f"{one.name}\n    {one.title}\n    {one.source}")
        if one.reduced:
            typer.echo(f"    reduced at quick: {one.reduced}")
        if one.duration:
            typer.echo(f"    time: {one.duration}")
    typer.echo("\nEach at --scale quick (the default) or --scale paper.")


def find_folder(output: Path | None) -> Path:
    """Return the folder that files go to.

    Raises:
        RequestError: if none is named and this is no clone of the repository.
    """
    from formalbench.contracts.errors import RequestError

    from formalbench_leaderboard.reproductions.output import FOLDER
    from formalbench_leaderboard.sources import repository_above

    if output is not None:
        return output
    repository = repository_above(Path.cwd())
    if repository is None:
        raise RequestError(
            "name a folder with --output: neither this folder nor one above it has "
            "leaderboard/results"
        )
    return repository / FOLDER


def carry_out(bench: Bench, chosen: Reproduction, folder: Path, as_json: bool) -> bool:
    """Carry out a reproduction, write its files, print its verdicts; say whether all hold.

    Args:
        bench: what it works with.
        chosen: which.
        folder: where the files go.
        as_json: whether standard output is for programs.
    """
    import time

    from formalbench.ui.output import console, plugins_print_to_stderr

    from formalbench_leaderboard.reproductions.output import (
        Circumstances,
        check_figures,
        json_text,
        write_all,
    )
    from formalbench_leaderboard.reproductions.terminal import print_findings

    if chosen.figure:
        check_figures()
    start = time.monotonic()
    with plugins_print_to_stderr():
        findings = chosen.carry_out(bench)
    how = Circumstances.now(bench.scale, time.monotonic() - start)
    paths = write_all(folder, chosen, findings, how)
    if as_json:
        typer.echo(json_text(chosen, findings, how), nl=False)
    else:
        print_findings(chosen, findings, how, console())
    for path in paths:
        typer.echo(f"wrote {path}", err=as_json)
    return findings.holds
