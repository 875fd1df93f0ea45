"""The pages of the repository: the front page, and one for each suite and for each model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from formalbench.documents.markup import Markdown, link, name
from formalbench.documents.reproduction import Claim, Document, TableCell, count_verdicts
from formalbench.documents.table import Column, Sheet
from formalbench.documents.text import MISSING, count, percent, ranks
from formalbench.statistics.board import Board, ExactModel, ExactModels, Row

from formalbench_leaderboard.board.missing_runs import missing_runs_table
from formalbench_leaderboard.board.predictions import Agreement, agreement_table
from formalbench_leaderboard.board.sources import FIGURES, FRONT
from formalbench_leaderboard.board.summary import verdict_of, verdict_of_verified
from formalbench_leaderboard.board.tables import STANDING, Outcome, of_row
from formalbench_leaderboard.charts.language_map import sentences
from formalbench_leaderboard.charts.map_chart import TITLE
from formalbench_leaderboard.publishing.score_reports import PAGE as REPORTS
from formalbench_leaderboard.renderers.evidence_pages import OUTCOME_MEANINGS, PAPERS, PREDICTIONS
from formalbench_leaderboard.renderers.formats import exact_tables, made
from formalbench_leaderboard.renderers.links import Links
from formalbench_leaderboard.renderers.site import (
    ModelPage,
    ReproductionPage,
    Site,
    SuitePage,
    rows_of,
)


def front_page(site: Site, *, reported: bool = False) -> str:
    """Return the front page: the first suite's rankings, and links to all other pages."""
    sections = {
        "The map": site.map.columns,
        "Predictions": site.evidence.predictions,
        "Suites": site.suites,
        "Models": site.models,
        "Exact models": site.everything.exact.rows,
        "Published numbers": site.everything.published,
        "Reproductions": site.reproductions,
    }
    names = [name for name, items in sections.items() if items]
    links = site.links.on(FRONT)
    ways = [link(name, f"#{name.lower().replace(' ', '-')}") for name in names]
    if reported:
        ways.append(links.link("Self-reported, not verified", REPORTS))
    tables = {
        "suites": _suites(site.suites, links),
        "models": _models(site, links),
        "reproductions": _reproductions(site.reproductions, links),
    }
    fields = {**tables, "sentences": sentences(site.map), "map_title": TITLE, "FIGURES": FIGURES}
    fields |= {"ways": Markdown(" · ".join(ways)), "meanings": OUTCOME_MEANINGS}
    fields |= {"agreed": _agreement(site), "PREDICTIONS": PREDICTIONS, "PAPERS": PAPERS}
    return made("front.md.j2", links, site=site, brief=True, complete=True, **fields)


def _agreement(site: Site) -> Sheet[Agreement]:
    """Return how often predictions hold under the first page's protocol, if it has one."""
    cells = site.evidence.predictions
    first = [board.name for suite in site.suites[:1] for board in suite.ranked[:1]]
    return agreement_table([cell for cell in cells if cell.board.name in first] or cells)


def suite_page(suite: SuitePage, site: Site) -> str:
    """Return the page of a suite: its rankings, and a table for each of its tasks."""
    everywhere = {board.name: board for board in site.everything.boards}
    missing = {
        board.name: missing_runs_table(board, everywhere.get(board.name))
        for board in suite.board.boards
    }
    boards = suite.board.boards
    newest = {board.protocol: board.version for board in sorted(boards, key=lambda b: b.version)}
    older = [board.name for board in boards if board.version < newest[board.protocol]]
    fields = {"suite": suite, "missing": missing, "older": older, "FRONT": FRONT}
    return made("suite.md.j2", site.links.on(suite.path), brief=False, complete=True, **fields)


def model_page(model: ModelPage, site: Site) -> str:
    """Return the page of a model: its ranks, and every result, seed's record and command."""
    links, verified = site.links.on(model.path), site.verified(model.key)
    return made(
        "model.md.j2",
        links,
        FRONT=FRONT,
        model=model,
        places=_places(model, site, links),
        measured=[
            (board, row, _results(board, row, links), of_row(board, row).only("task", "command"))
            for board, row in rows_of(site.everything, model.key)
        ],
        verified=verified,
        verifications=_verifications(verified, links),
        sizes=_sizes,
        verdict_of=verdict_of,
        verdict_of_verified=verdict_of_verified,
    )


def _suites(suites: Sequence[SuitePage], links: Links) -> Sheet[SuitePage]:
    def protocols(suite: SuitePage) -> str:
        return ", ".join(dict.fromkeys(board.protocol for board in suite.board.boards))

    return Sheet(
        [
            Column("suite", "", lambda suite: links.link(suite.name, suite.path), form="name"),
            Column("what it is", "", lambda suite: suite.summary, form="words"),
            Column("tasks", "", lambda suite: str(len(suite.tasks))),
            Column("scored under some protocol", "", lambda suite: str(len(suite.scored))),
            Column("protocols", "", protocols, form="words"),
        ],
        suites,
    )


def _models(site: Site, links: Links) -> Sheet[ModelPage]:
    def rows(model: ModelPage) -> list[Row | ExactModel]:
        return [*(row for _, row in rows_of(site.everything, model.key)), *site.verified(model.key)]

    return Sheet(
        [
            Column(
                "model", "", lambda model: links.link(name(model.title), model.path), form="name"
            ),
            Column("what it is", "", lambda model: model.summary, form="words"),
            Column("parameters", "", lambda model: _sizes(rows(model))),
            Column("tasks", "", lambda model: str(len(_tasks(rows(model))))),
        ],
        site.models,
    )


def _verdicts(parts: Iterable[TableCell | Claim]) -> str:
    return count_verdicts(part.verdict for part in parts) or MISSING


_DOCUMENT_COLUMNS: tuple[Column[Document], ...] = (
    Column("source", "", lambda one: one.source, form="words"),
    Column("scale", "", lambda one: one.scale + ", stale" * bool(one.notes), form="words"),
    Column("claims", "", lambda one: MISSING if one.notes else _verdicts(one.claims), form="words"),
    Column("cells", "", lambda one: MISSING if one.notes else _verdicts(one.cells), form="words"),
)
"""Columns of a reproduction on the front page."""


def _reproductions(pages: Sequence[ReproductionPage], links: Links) -> Sheet[ReproductionPage]:
    def result(page: ReproductionPage) -> Markdown:
        return links.link(page.document.title if page.document else page.path.stem, page.path)

    columns: list[Column[ReproductionPage]] = [Column("result", "", result, form="name")]
    columns += [column.of(lambda page: page.document) for column in _DOCUMENT_COLUMNS]
    return Sheet(columns, pages)


def _places(model: ModelPage, site: Site, links: Links) -> Sheet[tuple[SuitePage, Board, Row]]:
    places = [
        (suite, board, row)
        for suite in site.suites
        for board, row in rows_of(suite.board, model.key)
        if row.rank is not None
    ]

    def rank(at: tuple[SuitePage, Board, Row]) -> str:
        return f"{ranks(at[2].rank_low, at[2].rank_high)} of {at[1].ranked}"

    standing = Sheet(STANDING, ()).only("score", "interval", "IQM", "IQM interval")
    return Sheet(
        [
            Column("suite", "", lambda at: links.link(at[0].name, at[0].path), form="name"),
            Column("protocol", "", lambda at: at[1].name, form="words"),
            Column("rank", "", rank),
            *(column.of(lambda at: at[2]) for column in standing.columns),
        ],
        places,
    )


def _results(board: Board, row: Row, links: Links) -> Sheet[Outcome]:
    def seeds(outcome: Outcome) -> Markdown:
        runs = outcome.result.runs
        texts = (run.status if run.accuracy is None else percent(run.accuracy) for run in runs)
        return _join(links.record(run.test_id, text) for run, text in zip(runs, texts, strict=True))

    sheet = of_row(board, row).without("model", "max", "Wilson interval of max", "seeds", "command")
    if all(outcome.measure.accuracy for outcome in sheet.items):
        sheet = sheet.without("measure")
    return sheet.also(Column("seeds", "the record of each", seeds, form="words"))


def _verifications(rows: Sequence[ExactModel], links: Links) -> list[Sheet[ExactModel]]:
    def records(row: ExactModel) -> Markdown:
        return _join(
            links.record(name, str(number)) for number, name in enumerate(row.records, start=1)
        )

    verified, *rest = exact_tables(ExactModels(tuple(rows)))
    sheet = verified.without("model").also(
        Column("records", "of each verification", records, form="words")
    )
    return [sheet, *(part.without("model") for part in rest)]


def _join(parts: Iterable[str]) -> Markdown:
    return Markdown(" ".join(parts))


def _tasks(rows: Iterable[Row | ExactModel]) -> set[str]:
    return {
        task
        for row in rows
        for task in (
            [row.task] if isinstance(row, ExactModel) else (result.task for result in row.results)
        )
    }


def _sizes(rows: Iterable[Row | ExactModel]) -> str:
    """Return the smallest and the largest number of parameters."""
    sizes = [
        size
        for row in rows
        for size in ([row.parameters] if isinstance(row, ExactModel) else row.parameters)
    ]
    return count(min(sizes), max(sizes))
