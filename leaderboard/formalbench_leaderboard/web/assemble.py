"""The files of the page, put together."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path

from formalbench.analysis.board import Page
from formalbench.analysis.tables import LEGEND
from markupsafe import Markup, escape

from formalbench_leaderboard.renderers import renderer
from formalbench_leaderboard.templating import render as from_template
from formalbench_leaderboard.web import tables
from formalbench_leaderboard.web.contents import contents, packed
from formalbench_leaderboard.web.curves import detail_of
from formalbench_leaderboard.web.definitions import Definitions
from formalbench_leaderboard.web.prose import how_to_read, marked

HERE = Path(__file__).parent
SCRIPTS = (
    *("base", "theme", "address", "chosen", "plot", "charts", "cost"),
    *("marks", "draws", "results", "lanes", "compare", "model", "task"),
    *("tables", "cells", "search", "views"),
)
"""In the order in which they are joined: each may use what is above it."""

FIRST = "first_paint"
"""What runs in the head, by itself: what is joined waits for the page's data."""


def render(page: Page, known: Definitions, figure: Markup | None = None) -> dict[str, str]:
    """Return every file of the page, by its name.

    Args:
        page: what is shown.
        known: what it tells of tasks and models.
        figure: what the first screen shows above the board.
    """
    first, script = _file("script", f"{FIRST}.js"), _script()
    detail = detail_of(page)
    index = from_template(
        "page.html.j2",
        policy=_policy(first, script),
        style=Markup(_file("style.css") + _file("details.css")),  # noqa: S704 - files of ours
        first=Markup(first),  # noqa: S704 - a file of ours
        script=Markup(script),  # noqa: S704 - files of ours
        data=Markup(packed(contents(page, known))),  # noqa: S704 - letters and digits
        page=page,
        figure=figure,
        citation=escape(known.citation),
        boards=[(board, tables.board_table(board)) for board in page.boards],
        exact=tables.exact_table(page.exact) if page.exact.rows else None,
        published=[(paper, tables.published_table(paper)) for paper in page.published],
        link=tables.link,
        legend=marked(LEGEND),
        reading=how_to_read(),
        window=detail.window,
    )
    return {
        "index.html": index,
        "results.csv": renderer("csv")(page),
        "results.json": renderer("json")(page),
    }


def _policy(*scripts: str) -> str:
    """Return what the page may do: run its scripts and nothing else; connect to nothing.

    Styles may stand in the text: cells have their shade.
    """
    digests = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data:; connect-src 'none'; base-uri 'none'; form-action 'none'"
    )


def _script() -> str:
    parts = "\n".join(_file("script", f"{name}.js") for name in SCRIPTS)
    return f'(async () => {{\n"use strict";\n{parts}\n}})();\n'


@cache
def _file(*parts: str) -> str:
    return HERE.joinpath(*parts).read_text(encoding="utf-8")
