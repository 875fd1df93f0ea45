"""The command ``formalbench reproduce``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from formalbench.contracts.specs import ReproductionSpec
    from formalbench.documents.reproduction import Document
    from formalbench.host.host import PluginHost

    from formalbench_papers.framework.bench import Bench


def add_command(app: typer.Typer) -> None:
    """Add the command of this file."""

    @app.command()
    def reproduce(
        ctx: typer.Context,
        name: Annotated[
            str | None,
            typer.Argument(metavar="[TABLE]", help="Reproduction to run (default: list all)."),
        ] = None,
        scale: Annotated[
            Literal["quick", "paper"],
            typer.Option(
                help="quick: seconds to hours on two CPU cores (see the list). paper: as many runs "
                "and steps as the paper."
            ),
        ] = "quick",
        output: Annotated[
            Path | None,
            typer.Option(
                metavar="DIR",
                help="Folder for the written files (default: leaderboard/reproductions of the "
                "current repository).",
            ),
        ] = None,
        results: Annotated[
            Path | None, typer.Option(metavar="DIR", help="Folder of the records.")
        ] = None,
        device: Annotated[
            str, typer.Option(metavar="auto|cpu|cuda[:i]", help="Where to train.")
        ] = "auto",
        jobs: Annotated[int | None, typer.Option(metavar="N", min=1, help="Parallel jobs.")] = None,
        training: Annotated[
            bool,
            typer.Option(
                "--training/--no-training",
                help="Train runs that have no record; otherwise the page omits them.",
            ),
        ] = True,
        only: Annotated[
            list[str] | None,
            typer.Option(
                metavar="POINT",
                help="Train only this row or column, even if the scale omits it, such as 'k = 32, "
                "D = 10'. Repeatable; a row and a column select their cell.",
            ),
        ] = None,
        from_records: Annotated[
            bool,
            typer.Option(
                "--from-records",
                help="Render the page again from the records in its folder; train and measure "
                "nothing.",
            ),
        ] = False,
        as_json: Annotated[
            bool, typer.Option("--json", help="Print the result as JSON only.")
        ] = False,
    ) -> None:
        """Reproduce a figure or table of a paper.

        The page compares the paper's numbers with ours and judges its claims. The command uses the
        records in the page's folder and trains runs that have no record. It writes the page
        (Markdown), the data (CSV and JSON), the records, and the figure (PNG and SVG) if there is
        one. Exit code 1 if a claim differs.

        \b
        formalbench reproduce
        formalbench reproduce chiang-cholak-fig2 --scale paper
        formalbench reproduce yao-fig5 --only 'k = 128, D = 15'
        """
        from formalbench.files import sweep
        from formalbench.ui.terminal import host_of

        from formalbench_papers.framework.bench import Bench
        from formalbench_papers.framework.measurements import Measurements
        from formalbench_papers.framework.report import MEASURED, write_overview

        host = host_of(ctx)
        _refuse_lost_options(ctx)
        if name is None:
            _list_all(host, as_json)
            return
        entry, _ = host.reproductions.get(name)
        chosen = entry.spec
        folder = find_folder(output)
        sweep(folder, below=False)
        with host.blaming(entry.plugin):
            if from_records:
                page, paths = find_again(chosen, folder, host)
            else:
                bench = Bench(
                    host,
                    scale,
                    lambda line: typer.echo(line, err=True),
                    results=results,
                    device=device,
                    jobs=jobs,
                    training=training,
                    only=tuple(only or ()),
                    measurements=Measurements(folder / f"{name}{MEASURED}"),
                )
                page, paths = measure(bench, chosen, folder)
        write_overview(folder)
        _show(page, paths, as_json)
        if any(claim.verdict == "differs" for claim in page.claims):
            raise typer.Exit(1)


def _refuse_lost_options(ctx: typer.Context) -> None:
    """Refuse options that the command would ignore."""
    from formalbench.contracts.errors import RequestError
    from formalbench.ui.terminal import options_given

    for name, option in options_given(ctx).items():
        if ctx.params["name"] is None and name != "as_json":
            raise RequestError(f"{option} needs the name of a reproduction")
        if ctx.params["from_records"] and name in ("scale", "only", "training"):
            raise RequestError(f"{option} does nothing with --from-records")


def _list_all(host: PluginHost, as_json: bool) -> None:
    """List all reproductions with what ``quick`` reduces and the core hours."""
    from formalbench.ui.terminal import print_json

    from formalbench_papers.framework.report import hours_note

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
                    "core_hours": dict(zip(("quick", "paper"), one.core_hours, strict=True)),
                }
                for one in every
            ]
        )
        return
    for one in every:
        typer.echo(f"{one.name}\n    {one.summary}\n    {one.reference}")
        if one.reduced:
            typer.echo(f"    reduced at quick: {one.reduced}")
        if hours := hours_note(one.core_hours):
            typer.echo(f"    {hours}")
    typer.echo("\nEach at --scale quick (the default) or --scale paper.")


def find_folder(output: Path | None) -> Path:
    """Return the folder that files go to.

    Raises:
        RequestError: if none is named and this is no clone of the repository.
    """
    from formalbench.contracts.errors import RequestError
    from formalbench.store import REPRODUCTIONS, repository_above

    if output is not None:
        return output
    repository = repository_above(Path.cwd())
    if repository is None:
        raise RequestError(
            "name a folder with --output: neither this folder nor one above it has "
            "leaderboard/results"
        )
    return repository / REPRODUCTIONS


Outcome = tuple["Document", "list[Path]"]
"""The document of a page, and the written files."""


def measure(bench: Bench, chosen: ReproductionSpec, folder: Path) -> Outcome:
    """Run a reproduction, using its stored records, and write its files."""
    import time

    from formalbench.store import Store
    from formalbench.ui.terminal import plugins_print_to_stderr

    from formalbench_papers.framework.bench import carry_out
    from formalbench_papers.framework.checks import (
        PageRecords,
        in_use,
        on_nothing_kept,
        take_records,
    )
    from formalbench_papers.framework.report import Circumstances, document, write_all
    from formalbench_papers.framework.runs import run_key

    draws = _can_draw(chosen)
    stored = PageRecords.beside(folder, chosen.name)
    if copied := take_records(stored, chosen, Store(bench.folder), bench.host):
        bench.report(f"{copied} records were copied from the page's folder to {bench.folder}")
    start = time.monotonic()
    with plugins_print_to_stderr():
        findings = carry_out(bench, chosen)
    if not draws:
        findings = replace(findings, draw=None)
    how = Circumstances.now(bench.scale, time.monotonic() - start)
    # Keep records of the other scale, so that they need not be trained again.
    keys = {run_key(one) for one in findings.records}
    stored = replace(stored, records=stored.not_stale(bench.host))
    others = [one for one in in_use(chosen, stored, bench.host) if run_key(one) not in keys]
    records = [*findings.records, *others]
    bench.measurements.keep_used({one.test_id for one in others})
    steps = len(bench.measurements)
    page = document(chosen, findings, how, len(records), steps)
    page = page.model_copy(update={"notes": on_nothing_kept(page, len(records), steps > 0)})
    return page, write_all(folder, page, findings, records)


def find_again(chosen: ReproductionSpec, folder: Path, host: PluginHost) -> Outcome:
    """Render a page again from its stored records, and mark it if it is stale.

    Raises:
        RequestError: if there is no page.
    """
    from formalbench.documents.reproduction import all_hold, read_document

    from formalbench_papers.framework.checks import PageRecords, in_use, judge
    from formalbench_papers.framework.measurements import Measurements
    from formalbench_papers.framework.report import Circumstances, document, write_all, write_page

    before = read_document(folder / f"{chosen.name}.json")
    draws = _can_draw(chosen)
    stored = PageRecords.beside(folder, chosen.name)
    findings, notes = judge(chosen, before, stored, host)
    if findings is None:
        update = {
            "notes": notes,
            "holds": all_hold(claim.verdict for claim in before.claims),
            "core_hours": chosen.core_hours,
        }
        page = before.model_copy(update=update)
        return page, write_page(folder, page)
    if not draws:
        findings = replace(findings, draw=None)
    how = Circumstances(before.scale, before.seconds, before.date, *before.environments[:1])
    steps = len(Measurements(stored.measurements))
    records = in_use(chosen, stored, host)
    page = document(chosen, findings, how, len(records), steps)
    return page, write_all(folder, page, findings, records)


def _can_draw(chosen: ReproductionSpec) -> bool:
    """Return whether a reproduction's figure can be drawn, if it has one; print why it cannot."""
    from formalbench.contracts.errors import MissingPackageError, need_package

    try:
        if chosen.figure:
            need_package("the figure", "altair", "figures")
    except MissingPackageError as error:
        typer.echo(f"formalbench: no figure is written: {error}", err=True)
        return False
    return True


LINE = 160
"""Greatest width of a printed page: its headings are centred, also in a pipe."""


def _show(page: Document, paths: Sequence[Path], as_json: bool) -> None:
    """Print the verdicts, and which files were written."""
    from formalbench.documents.text import harmless
    from formalbench.ui.terminal import console
    from rich.markdown import Markdown

    from formalbench_papers.framework.report import as_markdown, document_text

    if as_json:
        typer.echo(document_text(page), nl=False)
    else:
        lines = (line for line in as_markdown(page).splitlines() if not line.startswith("!["))
        text = "\n".join(map(harmless, lines))
        screen = console()
        screen.print(Markdown(text, hyperlinks=False), width=min(screen.width, LINE))
    for path in paths:
        typer.echo(f"wrote {path}", err=as_json)
