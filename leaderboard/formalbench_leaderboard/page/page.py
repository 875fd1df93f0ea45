"""The page: one HTML file that needs no network."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path

from formalbench.documents.text import printable
from formalbench.statistics.board import Page
from markupsafe import Markup, escape

from formalbench_leaderboard.board.tables import LEGEND
from formalbench_leaderboard.charts.language_map import LanguageMap, brief, sentences
from formalbench_leaderboard.charts.map_chart import FEW, NARROW, WIDE, render
from formalbench_leaderboard.page import html_tables
from formalbench_leaderboard.page.descriptions import Definitions
from formalbench_leaderboard.page.html_tables import address, how_to_read, link, marked
from formalbench_leaderboard.page.page_data import (
    classes_of,
    contents,
    curve_points,
    detail_of,
    numbers_of,
    packed,
    packed_text,
)
from formalbench_leaderboard.page.views import Views
from formalbench_leaderboard.renderers import renderer
from formalbench_leaderboard.templating import render as from_template


def map_section(shown: LanguageMap) -> Markup | None:
    """Return the map for the first screen; None for a map without columns."""
    if not shown.columns:
        return None
    few = len(shown.cells) <= FEW
    widths = {"wide": WIDE, "narrow": NARROW} if few else {"wide": WIDE}
    drawn = {
        name: Markup(render(shown, "page", width, address, f"map-{name}"))  # noqa: S704 - escaped there
        for name, width in widths.items()
    }
    rows = [row for family in shown.families for row in family.rows]
    section = from_template(
        "map.html.j2",
        sentences=sentences(shown),
        drawn=drawn if few else {},
        packed=None if few else packed_text(drawn["wide"]),
        shown=shown,
        rows=rows,
        brief=brief,
        link=link,
        missing=[printable(row.missing) for row in rows if row.missing],
    )
    return Markup(section)  # noqa: S704 - our own template, which escapes


HERE = Path(__file__).parent


SCRIPTS = ("base", "address", "charts", "compare", "tables", "search", "views")
"""In the order in which they are joined: a script may use those before it."""


FIRST = "theme"
"""The script in the head. It runs at once; the joined scripts wait for the page's data."""


def render_page(page: Page, known: Definitions, figure: Markup | None = None) -> dict[str, str]:
    """Return every file of the page, by its name."""
    first, script = _file("script", f"{FIRST}.js"), _script()
    detail = detail_of(page)
    results = curve_points(page, detail)
    views = Views(page, known, results, detail.seeds).html()
    index = from_template(
        "page.html.j2",
        policy=_policy(first, script),
        style=Markup(_file("style.css") + _file("details.css")),  # noqa: S704 - files of ours
        first=Markup(first),  # noqa: S704 - a file of ours
        script=Markup(script),  # noqa: S704 - files of ours
        data=Markup(packed(contents(page, known, results))),  # noqa: S704 - letters and digits
        views=Markup(packed_text(views)),  # noqa: S704 - letters and digits
        models=sorted({row.model for board in page.boards for row in board.rows}),
        kinds=sorted({row.kind for board in page.boards for row in board.rows}),
        classes=classes_of(page, known),
        page=page,
        figure=figure,
        citation=escape(known.citation),
        boards=[
            (board, html_tables.board_table(board, numbers_of(place, results)))
            for place, board in enumerate(page.boards)
        ],
        exact=html_tables.exact_table(page.exact) if page.exact.rows else None,
        published=[(paper, html_tables.published_table(paper)) for paper in page.published],
        link=html_tables.link,
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
    """Return the content security policy: the page may only run its own scripts, and not connect.

    Inline styles are allowed, because cells have their own shades.
    """
    digests = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in scripts]
    sources = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {sources}; style-src 'unsafe-inline'; "
        "img-src data:; connect-src 'none'; base-uri 'none'; form-action 'none'"
    )


def _script() -> str:
    parts = "\n".join(_file("script", f"{name}.js") for name in SCRIPTS)
    return f'(async () => {{\n"use strict";\n{parts}\n}})();\n'


@cache
def _file(*parts: str) -> str:
    return HERE.joinpath(*parts).read_text(encoding="utf-8")
