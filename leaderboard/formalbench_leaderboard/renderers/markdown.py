"""A page as Markdown; `pages` has those of the repository, which are made of the same parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from formalbench.analysis.board import Board, Page, Row
from formalbench.analysis.columns import CAPPED, DOUBTFUL, FAILED, SOME, Column, Sheet
from formalbench.analysis.constructions import DTYPES, ExactModel, ExactModels
from formalbench.analysis.markdown import Markdown
from formalbench.analysis.statistics import DRAWS
from formalbench.analysis.tables import (
    LACKING,
    LEGEND,
    Outcome,
    by_place,
    exact_table,
    of_task,
    published_table,
    ranking,
)
from formalbench.contracts.verification import dtype_title

from formalbench_leaderboard import templating
from formalbench_leaderboard.renderers.links import Links


def render(page: Page) -> str:
    """Return the whole page."""
    return made("page.md.j2", Links(), brief=False, page=page)


def made(template: str, links: Links, **fields: Any) -> str:
    """Return a page made of a template, which is given the parts that pages share."""
    return templating.render(template, links=links, **_PARTS, **fields)


def exact_tables(exact: ExactModels) -> list[Sheet[ExactModel]]:
    """Return the table of exact models in three: what is right, how clearly, how precisely."""
    shown = exact_table(exact)
    precisions = list(map(dtype_title, DTYPES))
    bits = [heading for heading in shown.headings if heading.startswith("bits")]
    apart = (shown.only("model", "task", *part) for part in (bits, precisions))
    return [shown.without(*bits, *precisions), *apart]


def verified_by(rows: Sequence[ExactModel]) -> Sheet[tuple[ExactModel, str]]:
    """Return what repeats the verifications of exact models, a command a row."""
    return Sheet(
        [
            Column("model", "with the options set", lambda pair: pair[0].model, form="name"),
            Column("task", "what was asked", lambda pair: pair[0].task, form="words"),
            Column("command", "what repeats it", lambda pair: pair[1], form="command"),
        ],
        [(row, command) for row in rows for command in row.commands],
    )


def _ranking(board: Board, *, brief: bool) -> Sheet[Row]:
    """Return the ranking; if brief, what it says of a row on one page's width beside six tasks."""
    left_out = ("IQM",) if brief else ()
    return ranking(board, best_seed=True).without("kind", "parameters", "IQM interval", *left_out)


def _of_task(board: Board, title: str) -> Sheet[Outcome]:
    if title in board.otherwise:
        return by_place(board, title)
    return of_task(board, title).without("task", "measure", "median")


_PARTS = {
    "FAILED": FAILED,
    "SOME": SOME,
    "CAPPED": CAPPED,
    "DOUBTFUL": DOUBTFUL,
    "LEGEND": Markdown(LEGEND),
    "lacking_explained": [f"{column.heading}: {column.meaning}" for column in LACKING],
    "draws": DRAWS,
    "ranking": _ranking,
    "of_task": _of_task,
    "exact_tables": exact_tables,
    "verified_by": verified_by,
    "published_table": published_table,
    "marked": lambda row: Markdown("*published*"),
}

HOW_TO_READ = made("reading.md.j2", Links())
