"""The command ``formalbench reproduce``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from formalbench.analysis.reproduced import Document
    from formalbench.contracts.specs import ReproductionSpec
    from formalbench.host.host import PluginHost

    from formalbench_papers.framework.bench import Bench
    from formalbench_papers.framework.findings import Findings


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
                help="quick: what two CPU cores do in an hour or two. paper: as much as the paper."
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
        also: Annotated[
            list[str] | None,
            typer.Option(
                metavar="POINT",
                help="Measure a point of the figure that the scale leaves out, as "
                "'k = 32, D = 10'; may be repeated.",
            ),
        ] = None,
        from_records: Annotated[
            bool,
            typer.Option(
                "--from-records",
                help="Render the page again from the records kept beside it; measure nothing.",
            ),
        ] = False,
        as_json: Annotated[
            bool, typer.Option("--json", help="Print what came out as JSON, and nothing else.")
        ] = False,
    ) -> None:
        """Measure a paper's figure or table anew: its number, ours, and whether it holds.

        Writes a page (Markdown), the data (CSV), all of it for programs (JSON), the records of
        what was trained, and the figure (PNG and SVG) if there is one. Runs that have a record are
        not repeated. Exit code 1 if a claim does not hold.

        \b
        formalbench reproduce
        formalbench reproduce chiang-cholak-fig2 --scale paper
        """
        from formalbench.ui.state import host_of

        from formalbench_papers.framework.bench import Bench, asked_points

        host = host_of(ctx)
        if name is None:
            _list_all(host, as_json)
            return
        entry, _ = host.reproductions.get(name)
        chosen = entry.spec
        folder = find_folder(output)
        bench = Bench(
            host,
            scale,
            lambda line: typer.echo(line, err=True),
            results=results,
            device=device,
            jobs=jobs,
            training=training,
            also=asked_points(chosen, also or ()),
        )
        find = find_again if from_records else measure
        with host.blaming(entry.plugin):
            told, findings = find(bench, chosen, folder)
        if not _tell(told, findings, folder, as_json):
            raise typer.Exit(1)


def _list_all(host: PluginHost, as_json: bool) -> None:
    """Print what there is, what ``quick`` leaves out of it, and how long it takes."""
    from formalbench.ui.output import print_json

    every = [entry.spec for entry in host.reproductions.all()]
    if as_json:
        print_json(
            [
                {
                    "reproduction": one.name,
                    "title": one.summary,
                    "source": one.reference,
                    "scales": ["quick", "paper"],
                    "reduced": one.reduced,
                    "duration": one.duration,
                }
                for one in every
            ]
        )
        return
    for one in every:
        typer.echo(f"{one.name}\n    {one.summary}\n    {one.reference}")
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
    from formalbench.store.repository import REPRODUCTIONS, repository_above

    if output is not None:
        return output
    repository = repository_above(Path.cwd())
    if repository is None:
        raise RequestError(
            "name a folder with --output: neither this folder nor one above it has "
            "leaderboard/results"
        )
    return repository / REPRODUCTIONS


def measure(bench: Bench, chosen: ReproductionSpec, folder: Path) -> tuple[Document, Findings]:
    """Carry out a reproduction.

    Args:
        bench: what it works with.
        chosen: which.
        folder: where the files go.
    """
    import time

    from formalbench.ui.output import plugins_print_to_stderr

    from formalbench_papers.framework.bench import carry_out
    from formalbench_papers.framework.document import Circumstances, document

    draws = _can_draw(chosen)
    start = time.monotonic()
    with plugins_print_to_stderr():
        findings = carry_out(bench, chosen)
    if not draws:
        findings = replace(findings, draw=None)
    how = Circumstances.now(bench.scale, time.monotonic() - start)
    return document(chosen, findings, how), findings


def find_again(bench: Bench, chosen: ReproductionSpec, folder: Path) -> tuple[Document, Findings]:
    """Return what the records beside a page give, as it was measured then.

    Raises:
        RequestError: if there are none, or they do not give all of it.
    """
    from formalbench.analysis.reproduced import read_document

    from formalbench_papers.framework.document import Circumstances, document
    from formalbench_papers.framework.kept import found_again, kept_records

    before = read_document(folder / f"{chosen.name}.json")
    records = kept_records(folder, chosen.name)
    findings = found_again(chosen, before.scale, records, bench.host)
    if not _can_draw(chosen):
        findings = replace(findings, draw=None)
    how = Circumstances(before.scale, before.seconds, before.date, "")
    told = document(chosen, findings, how).model_copy(update={"notes": before.notes})
    return told, findings


def _can_draw(chosen: ReproductionSpec) -> bool:
    """Say whether a reproduction's figure can be drawn, if it has one; print why it cannot."""
    from formalbench.contracts.errors import MissingPackageError
    from formalbench.extras import need_package

    try:
        if chosen.figure:
            need_package("the figure", "matplotlib", "figures")
    except MissingPackageError as error:
        typer.echo(f"formalbench: no figure is written: {error}", err=True)
        return False
    return True


def _tell(told: Document, findings: Findings, folder: Path, as_json: bool) -> bool:
    """Write the files, print the verdicts, and say whether all hold."""
    from formalbench.ui.output import console

    from formalbench_papers.framework.document import document_text
    from formalbench_papers.framework.output import write_all
    from formalbench_papers.framework.terminal import print_findings

    paths = write_all(folder, told, findings)
    if as_json:
        typer.echo(document_text(told), nl=False)
    else:
        print_findings(told, findings, console())
    for path in paths:
        typer.echo(f"wrote {path}", err=as_json)
    return findings.holds
