"""The commands ``formalbench leaderboard predictions`` and ``formalbench leaderboard papers``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from formalbench.contracts.errors import RequestError
from formalbench.ui.output import as_json, print_table, put
from formalbench.ui.state import host_of

if TYPE_CHECKING:
    from formalbench.analysis.columns import Datum, Sheet

    from formalbench_leaderboard.renderers.evidence import Evidence

Format = Literal["table", "markdown", "csv", "json"]

Folders = Annotated[
    list[Path] | None,
    typer.Option(
        "--results",
        metavar="DIR",
        help="Folder of records; repeatable. Default: your own results and the published ones, "
        "those of reproductions among them.",
    ),
]
Shown = Annotated[
    Format,
    typer.Option(
        "--format",
        help="table: for the terminal. markdown: the page of the repository. csv, json: for "
        "programs, shares as fractions of one.",
    ),
]
Into = Annotated[
    Path | None,
    typer.Option("--output", metavar="PATH", help="Write to this file instead of standard output."),
]


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this file."""

    @app.command()
    def predictions(
        ctx: typer.Context, results: Folders = None, format: Shown = "table", output: Into = None
    ) -> None:
        """Hold what theory predicts against what was measured.

        A theorem says what a kind of network can do at all, an experiment what training was seen
        to find; docs/theory.md names them. A result that did not learn its training lengths
        decides nothing.

        \b
        formalbench leaderboard predictions
        formalbench leaderboard predictions --results my-results --format csv
        """
        from formalbench.analysis.tables import agreement_table, predicted_table, taught_table

        from formalbench_leaderboard.renderers.evidence import predictions_page

        evidence = _evidence(ctx, results)
        cells, taught = evidence.predictions, taught_table(evidence.expected)
        shown, agreement = predicted_table(cells), agreement_table(cells)
        texts = {
            "markdown": lambda: predictions_page(evidence),
            "csv": lambda: _csv(shown),
            "json": lambda: _json(
                counts=agreement.data(), taught=taught.data(), predictions=shown.data()
            ),
        }
        _tell(format, texts, [agreement, shown.without("by", "validation"), taught], output)

    @app.command()
    def papers(
        ctx: typer.Context, results: Folders = None, format: Shown = "table", output: Into = None
    ) -> None:
        """Show published numbers beside ours, and what is not alike.

        Which of our models and tasks a number is about, the paper's own file says.

        \b
        formalbench leaderboard papers
        formalbench leaderboard papers --results my-results --format json
        """
        from formalbench.analysis.tables import beside_table

        from formalbench_leaderboard.renderers.evidence import papers_page

        found = _evidence(ctx, results).papers
        shown = beside_table(found)
        texts = {
            "markdown": lambda: papers_page(found),
            "csv": lambda: _csv(shown),
            "json": lambda: _json(papers=shown.data()),
        }
        _tell(format, texts, [shown.without("what differs")], output)


def _evidence(ctx: typer.Context, folders: Sequence[Path] | None) -> Evidence:
    from dataclasses import replace

    from formalbench.store.repository import repository_above

    from formalbench_leaderboard.evidence import evidence_of, kept_records
    from formalbench_leaderboard.sources import (
        DEFAULT_SUITE,
        check_folders,
        read_all,
        read_with_published,
        suite_view,
    )

    check_folders(folders or ())
    host = host_of(ctx)
    held = read_all(folders) if folders else read_with_published()
    repository = None if folders else repository_above(Path.cwd())
    kept = [] if repository is None else kept_records(repository)
    view = replace(suite_view(host, DEFAULT_SUITE), tasks=())
    return evidence_of([*held.records, *kept], view, host)


def _tell(format: Format, texts: Any, tables: Sequence[Sheet[Any]], output: Path | None) -> None:
    """Show tables where they were asked for, and as what."""
    if format != "table":
        put(texts[format](), output)
        return
    if output is not None:
        raise RequestError("--output needs a --format for files: markdown, csv or json")
    for shown in tables:
        print_table(shown.headings, shown.texts)


def _json(**data: list[dict[str, Datum]]) -> str:
    return as_json(data) + "\n"


def _csv(shown: Sheet[Any]) -> str:
    from formalbench_leaderboard.renderers.sheet import as_csv

    return as_csv(shown.data(), [name for column in shown.columns for name in column.data])
