"""The command `formalbench leaderboard` and its subcommands `predictions` and `papers`."""

from __future__ import annotations

import contextlib
import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from formalbench.contracts.errors import RequestError, unknown
from formalbench.contracts.theory import CLASSES
from formalbench.documents.text import harmless, plural
from formalbench.ui.terminal import (
    as_json,
    host_of,
    lists_of,
    names_of,
    options_given,
    print_table,
    put,
    results_folder,
)

from formalbench_leaderboard.commands.audit import audit
from formalbench_leaderboard.commands.fill import fill
from formalbench_leaderboard.commands.publish import check, publish, render, weights

if TYPE_CHECKING:
    from formalbench.contracts.verification import AnyRecord
    from formalbench.documents.table import Datum, Sheet
    from formalbench.host import PluginHost
    from formalbench.statistics.board import Page

    from formalbench_leaderboard.renderers.evidence_pages import Evidence


EvidenceFormat = Literal["table", "markdown", "csv", "json"]


Folders = Annotated[
    list[Path] | None,
    typer.Option(
        "--results",
        metavar="DIR",
        parser=results_folder,
        help="Folder of records; repeatable. Default: your own results and the published ones, "
        "including reproductions.",
    ),
]


FormatOption = Annotated[
    EvidenceFormat,
    typer.Option(
        "--format",
        help="table: for the terminal. markdown: the page of the repository. csv, json: for "
        "programs, with accuracies from 0 to 1.",
    ),
]


Into = Annotated[
    Path | None,
    typer.Option("--output", metavar="PATH", help="Write to this file instead of standard output."),
]


def predictions(
    ctx: typer.Context, results: Folders = None, format: FormatOption = "table", output: Into = None
) -> None:
    """Compare the predictions of theory with the measurements.

    A theorem says which languages a kind of network can express. A published experiment says
    what training found. docs/theory.md lists both. A model that did not learn the training
    lengths neither confirms nor contradicts a prediction.

    \b
    formalbench leaderboard predictions
    formalbench leaderboard predictions --results my-results --format csv
    """
    from formalbench_leaderboard.board.predictions import (
        agreement_table,
        learned_table,
        predicted_table,
    )
    from formalbench_leaderboard.renderers.evidence_pages import predictions_page

    evidence, invalid = _evidence(ctx, results)
    cells, taught = evidence.predictions, learned_table(evidence.expected_learning)
    table, agreement = predicted_table(cells), agreement_table(cells)
    texts = {
        "markdown": lambda: predictions_page(evidence),
        "csv": lambda: _csv(table),
        "json": lambda: _json(
            counts=agreement.data(), taught=taught.data(), predictions=table.data()
        ),
    }
    _output(format, texts, [agreement, table.without("by", "validation"), taught], output)
    exit_on_invalid(invalid)


def papers(
    ctx: typer.Context, results: Folders = None, format: FormatOption = "table", output: Into = None
) -> None:
    """Compare numbers from papers with ours.

    \b
    formalbench leaderboard papers
    formalbench leaderboard papers --results my-results --format json
    """
    from formalbench_leaderboard.board.paper_comparison import paper_table
    from formalbench_leaderboard.renderers.evidence_pages import papers_page

    evidence, invalid = _evidence(ctx, results)
    comparisons = evidence.papers
    table = paper_table(comparisons)
    texts = {
        "markdown": lambda: papers_page(comparisons),
        "csv": lambda: _csv(table),
        "json": lambda: _json(papers=table.data()),
    }
    _output(format, texts, [table.without("what differs")], output)
    exit_on_invalid(invalid)


def _evidence(ctx: typer.Context, folders: Sequence[Path] | None) -> tuple[Evidence, Sequence[str]]:
    """Return what the records say of theory and papers, and the broken records."""
    from formalbench.store import repository_above

    from formalbench_leaderboard.board.sources import (
        DEFAULT_SUITE,
        check_folders,
        read_all,
        read_with_published,
    )
    from formalbench_leaderboard.board.views import suite_view
    from formalbench_leaderboard.renderers.evidence_pages import evidence_of, kept_records

    check_folders(folders or ())
    host = host_of(ctx)
    stored = read_all(folders) if folders else read_with_published()
    repository = None if folders else repository_above(Path.cwd())
    reproduced = [] if repository is None else kept_records(repository)
    view = replace(suite_view(host, DEFAULT_SUITE), tasks=())
    return evidence_of([*stored.records, *reproduced], view, host), stored.invalid


def _output(
    format: EvidenceFormat, texts: Any, tables: Sequence[Sheet[Any]], output: Path | None
) -> None:
    """Print tables, or write them to a file in another format."""
    if format != "table":
        put(texts[format](), output)
        return
    if output is not None:
        raise RequestError("--output needs a --format for files: markdown, csv or json")
    for table in tables:
        print_table(table.headings, table.texts)


def _json(**data: list[dict[str, Datum]]) -> str:
    return as_json(data) + "\n"


def _csv(table: Sheet[Any]) -> str:
    from formalbench_leaderboard.renderers.formats import as_csv

    return as_csv(table.data(), [name for column in table.columns for name in column.data])


Format = Literal["table", "markdown", "latex", "csv", "json", "html", "figures", "map"]


CLASS_NAMES = ", ".join(CLASSES)


_FOLDERS = ("html", "figures")
"""The formats that consist of several files."""


leaderboard = typer.Typer(
    invoke_without_command=True,
    no_args_is_help=False,
    rich_markup_mode=None,  # as in the engine's commands: rich's boxes would cut the help in a pipe
)


@leaderboard.callback()
def show(
    ctx: typer.Context,
    results: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR",
            parser=results_folder,
            help="Folder of records; repeatable. The table ranks them on their own tasks, among "
            "the published records of the current repository or of the installed package; the "
            "other formats show these folders alone. Default: your own results.",
        ),
    ] = None,
    suite: Annotated[
        str,
        typer.Option(
            metavar="S",
            help="Rank by the tasks of this suite (`formalbench list suites`). Default: `default`; "
            "with --results, the tasks of it that you ran.",
            autocompletion=names_of("suites"),
        ),
    ] = "",
    model: Annotated[
        str | None,
        typer.Option(
            metavar="M[,M]",
            help="Show only these models. Their ranks do not change.",
            autocompletion=lists_of("models"),
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            metavar="T[,T]", help="Rank by these tasks.", autocompletion=lists_of("tasks")
        ),
    ] = None,
    protocol: Annotated[
        str | None,
        typer.Option(
            metavar="P",
            help="Show only this protocol. Models of different protocols are not compared.",
            autocompletion=names_of("protocols"),
        ),
    ] = None,
    within: Annotated[
        str | None,
        typer.Option(
            "--class", metavar="C", help=f"Rank by the tasks of this class: {CLASS_NAMES}."
        ),
    ] = None,
    everything: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Print all boards with all rows and columns, exact models and numbers from papers."
            " Default: only the board with the most learned tasks, on one screen, and the commands "
            "for the others.",
        ),
    ] = False,
    format: Annotated[
        Format,
        typer.Option(
            help="table: for the terminal. markdown: the full page with every task. latex: for a "
            "paper. csv, json: for programs, with accuracies from 0 to 1. html: a folder with a "
            "web page to open from disk. figures: a folder of SVG and PNG files. map: one SVG of "
            "what each family of models can express, learned and extrapolates on, by class of "
            "language; it has light and dark colours."
        ),
    ] = "table",
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Write to this file (html and figures: folder) instead of standard output.",
        ),
    ] = None,
) -> None:
    """Rank models by their test results.

    A score is the mean of (accuracy − chance) / (1 − chance) over the tasks of a suite. The
    accuracy of a task is the mean over all seeds. The interval covers seeds and test strings.
    A rank is a range, because models that do not differ significantly share ranks.
    Numbers from papers are in tables of their own.

    `publish` adds your results, `check` checks published records against the rules, and `audit`
    re-tests published models. Each has its own --help.

    \b
    formalbench leaderboard
    formalbench leaderboard --results my-results
    formalbench leaderboard --model transformer,lstm --task parity,first
    formalbench leaderboard --class star-free
    formalbench leaderboard --format latex --output board.tex
    formalbench leaderboard --format map --output map.svg
    """
    if ctx.invoked_subcommand is not None:
        _refuse_lost_options(ctx)
        return
    from formalbench.statistics.build import build_page
    from formalbench.store import default_results
    from formalbench.theory.lookup import check_class
    from formalbench.ui.terminal import Screen

    from formalbench_leaderboard.board import views
    from formalbench_leaderboard.board.sources import (
        DEFAULT_SUITE,
        FolderContents,
        check_folders,
        read_all,
        read_published,
    )
    from formalbench_leaderboard.renderers.terminal import ONE_SCREEN, TableDetail, print_page

    check_folders(results or ())
    if format in _FOLDERS and output is None:
        raise RequestError(f"--format {format} needs --output DIR, the folder to write to")
    host, protocols = host_of(ctx), None if protocol is None else [protocol]
    view = views.suite_view(host, suite or DEFAULT_SUITE)
    view = replace(view, protocols=protocols, ranks_unchecked=False)
    own = read_all(results or [default_results()])
    alone = results is not None and format != "table"
    published = read_published() if not alone else FolderContents([], [], [])
    stored = own.merged_with(published)
    if not alone:
        view = views.marked(view, own, published)
    if protocol is not None:
        known = {record.protocol.title for record in stored.records}
        if protocol not in known:
            raise unknown("protocol among the records", protocol, known)
        stored = stored._replace(verifications=[])  # verifications have no protocol
    if task is not None:
        stored, view = views.on_tasks(stored, view, names_in("task", task))
    if within is not None:
        stored, view = views.in_class(stored, view, check_class(within))
        if not (view.tasks or stored.records or stored.verifications):
            raise RequestError(f"--class {within}: no task of the suite and no record is in it")
    if results and not alone:
        if not (suite or task):
            view = views.narrowed_to(view, stored.among(own))
        stored = views.compared(stored, own, view)
    if format == "json":
        view = replace(view, predicted=views.Predictions(host, view.theory).each)
    page = build_page(stored.records, view, stored.verifications)
    by_class = {}
    if format == "html":
        by_class = views.pages_by_class(stored, view) | views.pages_by_keyword(host, stored, view)
    if model is not None:
        page = views.of_models(page, names_in("model", model))
    records: list[AnyRecord] = [*stored.records, *stored.verifications]
    if format == "table" and output is None:
        detail = TableDetail(everything, "yours", other_tasks=bool(results))
        if not (everything or suite or protocol):
            filters = {"--model": model, "--task": task, "--class": within}
            folders = [("--results", str(path)) for path in results or ()]
            plugins = [("--plugin", str(plugin.named)) for plugin in host.locals()]
            words = [word for pair in (*folders, *plugins) for word in pair]
            words += [word for name, text in filters.items() if text for word in (name, text)]
            others = _others(page, host, words, suites=not any(filters.values()))
            page = replace(page, boards=page.boards[:1])
            detail = replace(detail, lines=ONE_SCREEN, others=others)
        scores = (file for folder in results or () for file in folder.rglob("evaluated-*.json"))
        if not records and any(scores):
            typer.echo("Scores of `formalbench score` are self-reported and not ranked.")
        else:
            print_page(page, Screen(), detail)
    else:
        _show(page, by_class, records, host, suite or DEFAULT_SUITE, format, output, results or ())
    exit_on_invalid(stored.invalid)


def _others(
    page: Page, host: PluginHost, words: Sequence[str], *, suites: bool
) -> tuple[tuple[str, str], ...]:
    """Return the names of a page's other boards, each with the command that shows it.

    Args:
        page: the page of the default suite.
        host: the plugins.
        words: the arguments of the current command.
        suites: whether to include the other suites with results.
    """
    from formalbench_leaderboard.board.sources import DEFAULT_SUITE
    from formalbench_leaderboard.board.views import suite_view

    command = ["formalbench", "leaderboard", *words]
    commands = []
    for protocol in dict.fromkeys(board.protocol for board in page.boards[1:]):
        boards = [board for board in page.boards if board.protocol == protocol]
        versions = ", ".join(str(version) for version in sorted(one.version for one in boards))
        new_rows = sum(row.is_new for board in boards for row in board.rows)
        suffix = f", {plural(new_rows, 'row')} of yours" if new_rows else ""
        name = f"protocol {protocol} (version{'s' * (len(boards) > 1)} {versions}){suffix}"
        commands.append((name, [*command, "--protocol", protocol]))
    if suites:
        rows = (row for board in page.boards for row in board.rows)
        cells = Counter(result.task for row in rows for result in row.results)
        names = [spec.spec.name for spec in host.suites.all() if spec.spec.name != DEFAULT_SUITE]
        sizes = {}
        for name in names:
            with contextlib.suppress(RequestError):  # two plugins may provide one of its tasks
                sizes[name] = sum(cells[one] for one in suite_view(host, name).tasks)
        measured = sorted(
            (name for name, size in sizes.items() if size), key=lambda name: (-sizes[name], name)
        )
        commands += [(f"suite {name}", [*command, "--suite", name]) for name in measured]
    return tuple((name, shlex.join(line)) for name, line in commands)


def names_in(option: str, text: str) -> list[str]:
    """Return the names in a comma-separated list; brackets with options may contain commas."""
    names = [name.strip() for name in re.split(r",(?![^\[]*\])", text)]
    if not all(names):
        raise RequestError(f"--{option} {text!r} names nothing")
    return names


def _show(
    page: Page,
    by_class: Mapping[str, Page],
    records: Sequence[AnyRecord],
    host: PluginHost,
    suite: str,
    format: Format,
    output: Path | None,
    folders: Sequence[Path],
) -> None:
    """Print a page, or write it to a file, in a format; its records are from these folders."""
    if format == "html" and output is not None:
        _write_web_page(page, by_class, records, host, suite, output, folders)
    elif format == "figures" and output is not None:
        from formalbench_leaderboard.board.plugin_info import state_here
        from formalbench_leaderboard.charts.board_charts import write_figures

        task = host.suite(suite).tasks[0]
        for path in write_figures(page, suite, output, lambda row: state_here(host, row, task)):
            typer.echo(path)
    elif format == "map":
        from formalbench_leaderboard.charts import map_chart
        from formalbench_leaderboard.charts.language_map import map_here

        put(map_chart.render(map_here(page, host, suite, records)), output)
    else:
        from formalbench_leaderboard.renderers import renderer

        put(renderer(format)(page), output)


def exit_on_invalid(lines: Sequence[str]) -> None:
    """Print the errors of all invalid files and exit with 1, if there are any."""
    if not lines:
        return
    for line in lines:
        typer.echo(harmless(line), err=True)
    typer.echo(f"{plural(len(lines), 'file')} skipped: not a valid record", err=True)
    raise typer.Exit(1)


def _write_web_page(
    page: Page,
    by_class: Mapping[str, Page],
    records: Sequence[AnyRecord],
    host: PluginHost,
    suite: str,
    folder: Path,
    folders: Sequence[Path],
) -> None:
    """Write the files of the web page, and print which one to open."""
    from formalbench.files import write_atomically

    from formalbench_leaderboard.charts.language_map import map_here
    from formalbench_leaderboard.page.descriptions import definitions, details
    from formalbench_leaderboard.page.page import map_section, render_page

    known = definitions(host, records, suite)
    data = details(page, host, records, folders, folder)
    known = replace(known, details=data, by_class=by_class)
    for name, text in render_page(
        page, known, map_section(map_here(page, host, suite, records))
    ).items():
        write_atomically(folder / name, text)
    typer.echo(f"open {folder / 'index.html'}")


def _refuse_lost_options(ctx: typer.Context) -> None:
    """Refuse options before a subcommand's name: they would be ignored silently."""
    for option in options_given(ctx).values():
        raise RequestError(f"{option} does nothing before {ctx.invoked_subcommand}")


for command in (publish, check, render, audit, predictions, papers, fill):
    leaderboard.command()(command)
leaderboard.add_typer(
    weights, name="weights", help="Pack the weights of published runs, or unpack an archive."
)
