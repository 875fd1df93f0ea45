"""The page of a model: where it stands, every result, every seed's record, every command."""

from __future__ import annotations

from formalbench.analysis.board import Board, Row
from formalbench.analysis.columns import Column, Table
from formalbench.analysis.constructions import ExactModel
from formalbench.analysis.markdown import table as plain_table
from formalbench.analysis.results import Result, SeedResult
from formalbench.analysis.tables import LEGEND, Outcome, exact_table, of_row
from formalbench.analysis.tables.ranking import STANDING
from formalbench.analysis.text import count, markdown, percent

from formalbench_leaderboard.renderers.links import FRONT, link, relative
from formalbench_leaderboard.renderers.markdown import code, joined, table
from formalbench_leaderboard.renderers.site import ModelPage, Site, rows_of


def render(model: ModelPage, site: Site) -> str:
    """Return the page of a model."""
    front = relative(FRONT, model.path)
    about = f"{model.summary} (from {model.key[1]})" if model.summary else f"from {model.key[1]}"
    parts = [f"# {markdown(model.title)}", f"{markdown(about)} · [Leaderboard]({front}#models)"]
    parts += _places(model, site)
    for board, row in site.rows_of(model.key):
        parts += _measured(model, site, board, row)
    return joined(parts + _verified(model, site))


def _places(model: ModelPage, site: Site) -> list[str]:
    standing = {column.heading: column for column in STANDING}
    shown = ("within", "score", "interval", "IQM", "IQM interval")
    lines = [
        [
            link(suite.name, suite.path, model.path),
            markdown(board.name),
            f"{row.rank} of {sum(other.rank is not None for other in board.rows)}",
            *(standing[heading].text(row) for heading in shown),
        ]
        for suite in site.suites
        for board, row in rows_of(suite.board, model.key)
        if row.rank is not None
    ]
    header = ["suite", "protocol", "rank", *shown]
    return ["## Where it stands", plain_table(header, lines, header[:2])] if lines else []


def _measured(model: ModelPage, site: Site, board: Board, row: Row) -> list[str]:
    shown = of_row(board, row).without("model", "max", "Wilson interval of max", "seeds", "command")
    seeds: Column[Outcome] = Column("seeds", "the record of each", lambda outcome: "", form="words")
    commands = [[markdown(result.task), code(result.command)] for result in row.results]
    return [
        f"## Protocol {markdown(board.name)}",
        f"{count(*row.parameters)} parameters. The last column leads to the record of each seed.",
        table(
            Table([*shown.columns, seeds], shown.items),
            {
                "seeds": lambda outcome: " ".join(
                    _seed(model, site, run) for run in outcome.result.runs
                )
            },
        ),
        *_failed(row.results),
        "Each row again:",
        plain_table(["task", "command"], commands, ["task", "command"]),
    ]


def _seed(model: ModelPage, site: Site, run: SeedResult) -> str:
    shown = run.status if run.accuracy is None else percent(run.accuracy)
    return site.links.record(run.test_id, shown, model.path)


def _failed(results: tuple[Result, ...]) -> list[str]:
    lines = [
        f"- {markdown(result.task)}: {markdown(result.outcome)}; what did not finish counts as "
        "chance level."
        for result in results
        if result.finished < result.seeds
    ]
    return ["\n".join(lines)] if lines else []


def _verified(model: ModelPage, site: Site) -> list[str]:
    rows = site.verified(model.key)
    if not rows:
        return []
    shown = exact_table(site.everything.exact).without("model")
    records: Column[ExactModel] = Column(
        "records", "of each verification", lambda row: "", form="words"
    )
    commands = [[markdown(row.task), code(line)] for row in rows for line in row.commands]
    sizes = [row.parameters for row in rows]
    return [
        "## Verified",
        f"{count(min(sizes), max(sizes))} parameters. {LEGEND}",
        table(
            Table([*shown.columns, records], rows),
            {
                "records": lambda row: " ".join(
                    site.links.record(identity, str(number), model.path)
                    for number, identity in enumerate(row.records, start=1)
                )
            },
        ),
        "Each row again:",
        plain_table(["task", "command"], commands, ["task", "command"]),
    ]
