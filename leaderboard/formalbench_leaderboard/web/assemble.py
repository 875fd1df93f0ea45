"""The files of the page, put together."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from string import Template

from formalbench.analysis.board import Board, Page
from formalbench.analysis.tables import LEGEND
from formalbench.contracts.published import PublishedTable

from formalbench_leaderboard.web.contents import contents
from formalbench_leaderboard.web.curves import detail_of
from formalbench_leaderboard.web.definitions import Definitions
from formalbench_leaderboard.web.html import Html, element, joined
from formalbench_leaderboard.web.prose import bullets, how_to_read, marked
from formalbench_leaderboard.web.tables import (
    board_table,
    commands,
    exact_table,
    link,
    published_table,
)

HERE = Path(__file__).parent
VENDORED = ("d3.min.js", "plot.umd.min.js", "sortable.min.js")
SCRIPTS = (
    *("base", "theme", "tables", "chosen", "charts", "cost", "automaton"),
    *("results", "model", "task", "views"),
)
"""In the order in which they are joined: each may use what is above it."""

_PUBLISHED_RULE = (
    "Copied from papers, not measured here, under other protocols: never mixed with the measured "
    "rows. Each cell is maximum / mean over the seeds, in percent."
)


def render(page: Page, known: Definitions) -> dict[str, str]:
    """Return every file of the page, by its name."""
    scripts = [*(_file("vendor", name) for name in VENDORED), _own_script()]
    fields = {
        "policy": _policy(scripts),
        "title": joined(page.title),
        "style": _file("style.css"),
        "navigation": _navigation(page),
        "boards": joined(*map(_board, page.boards))
        if page.boards
        else element("p", "No measured rows yet."),
        "curves": _curves_note(page),
        "exact": _exact(page),
        "published": _published(page),
        "reading": how_to_read(),
        "environments": bullets(page.environments),
        "data": contents(page, known),
        "scripts": "\n".join(f"<script>{script}</script>" for script in scripts),
    }
    index = Template(_file("page.html")).substitute(fields)
    return {"index.html": index, "LICENSES.txt": _licenses()}


def _policy(scripts: list[str]) -> str:
    """Return what the page may do: run these scripts and nothing else; connect to nothing.

    Styles may stand in the text: the chart library makes some, and cells have their shade.
    """
    hashes = " ".join(f"'sha256-{_hash(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "connect-src 'none'; base-uri 'none'; form-action 'none'"
    )


def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _own_script() -> str:
    parts = "\n".join(_file("script", f"{name}.js") for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}\n}})();\n'


@cache
def _file(*parts: str) -> str:
    return HERE.joinpath(*parts).read_text(encoding="utf-8")


def _licenses() -> str:
    names = ("d3", "plot", "sortable")
    texts = (f"{name}\n\n{_file('vendor', f'LICENSE.{name}.txt').strip()}\n" for name in names)
    rule = "\n" + "-" * 79 + "\n\n"
    return "index.html holds these libraries.\n" + rule + rule.join(texts)


def _navigation(page: Page) -> Html:
    places = [("board", "Board"), ("curves", "Curves"), ("cost", "Cost")]
    places += [("exact", "Exact models")] if page.exact.rows else []
    places += [("published", "Published")] if page.published else []
    places += [("reading", "How to read it")]
    items = [element("li", element("a", text, href=f"#{name}")) for name, text in places]
    return element("ul", *items)


def _board(board: Board) -> Html:
    others = [element("li", link("task", title)) for title in board.other_tasks]
    return element(
        "section",
        element(
            "div",
            board_table(board),
            class_="scroll",
            tabindex="0",
            role="region",
            aria_label=f"The board of protocol {board.name}",
        ),
        element("p", "Measured, too, but not in the score:", class_="quiet") if others else None,
        element("ul", *others, class_="inline") if others else None,
        bullets(board.notes),
        class_="measured",
        data_board=board.name,
    )


def _curves_note(page: Page) -> Html:
    detail = detail_of(page)
    averaged = (
        f" To keep the page small, {detail.window} neighbouring test lengths make one point."
        if detail.window > 1
        else ""
    )
    return joined(
        "A line is the mean over the seeds that finished. Its band reaches from the lowest to the "
        "highest end of the seeds' Wilson intervals at that length: it holds how seeds differ and "
        f"what the number of strings leaves open. The dotted line is chance.{averaged}"
    )


def _exact(page: Page) -> Html:
    if not page.exact.rows:
        return Html("")
    return element(
        "section",
        element("h2", "Exact models"),
        element("p", marked(LEGEND), class_="prose"),
        element(
            "div",
            exact_table(page.exact),
            class_="scroll",
            tabindex="0",
            role="region",
            aria_label="Exact models",
        ),
        bullets(page.exact.notes),
        element("details", element("summary", "Verify them again"), commands(page.exact.rows)),
        id="exact",
    )


def _published(page: Page) -> Html:
    if not page.published:
        return Html("")
    return element(
        "section",
        element("h2", "Published numbers"),
        element("p", _PUBLISHED_RULE, class_="prose"),
        *map(_paper, page.published),
        id="published",
    )


def _paper(table: PublishedTable) -> Html:
    address = f"https://arxiv.org/abs/{table.arxiv}"
    return element(
        "section",
        element("h3", table.source),
        element(
            "p",
            f"{table.citation}. ",
            element("a", f"arXiv:{table.arxiv}", href=address, rel="noreferrer"),
            class_="quiet",
        ),
        element(
            "div",
            published_table(table),
            class_="scroll",
            tabindex="0",
            role="region",
            aria_label=table.source,
        ),
        bullets(table.notes),
    )
