"""The tables of the page as HTML, to be read without a script; the script sorts and filters them.

A column's cells carry what they are sorted by (``data-sort``); an empty one comes last.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import quote

from formalbench.analysis.results import Result
from formalbench.analysis.text import MISSING, count, harmless, interval, percent, ranks
from formalbench.contracts.published import PublishedResult, PublishedTable

from formalbench_leaderboard.board import Board, Row
from formalbench_leaderboard.constructions import ExactModel
from formalbench_leaderboard.renderers.exact import HEADER, LEFT, cells
from formalbench_leaderboard.web.glyph import interval_glyph
from formalbench_leaderboard.web.html import Html, element, joined


def link(kind: str, name: str) -> Html:
    """Return a link to the view of a model or a task."""
    return element("a", _breakable(name), href=_address(kind, name))


def _address(kind: str, name: str) -> str:
    return f"#{kind}={quote(harmless(name), safe='')}"


def board_table(board: Board) -> Html:
    """Return the ranking: a row per model, a column per task of the suite."""
    heads = [
        _head("rank", ascending=True, sorted_=True),
        _head("within", ascending=True, left=True, class_="left within"),
        _head("model", ascending=True, left=True, class_="left name"),
        _head("kind", ascending=True, left=True) if _kinds(board) else None,
        _head("parameters, at most", ascending=True),
        _head("score"),
        _head("95 % interval", at=5 + _kinds(board), left=True),
        _head("IQM"),
        *map(_head, board.tasks),
    ]
    body = element(
        "tbody", *(_board_row(row, board, place) for place, row in enumerate(board.rows))
    )
    return element(
        "table",
        element("caption", f"Protocol {board.name}, in percent"),
        element("thead", element("tr", *heads)),
        body,
        _board_foot(board),
        class_="sortable n-last board",
    )


def _kinds(board: Board) -> bool:
    """Say whether there are models of more than one kind, so that it is worth a column."""
    return len({row.kind for row in board.rows}) > 1


def _head(
    name: str,
    *,
    ascending: bool = False,
    left: bool = False,
    at: int | None = None,
    class_: str | None = None,
    sorted_: bool = False,
) -> Html:
    """Return the head of a column, with a button that sorts by it.

    Args:
        name: of the column.
        ascending: whether the first click puts the least first.
        left: whether the column is aligned to the left.
        at: the column that is sorted by, if it is another one.
        class_: if it is another one than alignment asks for.
        sorted_: whether the rows are in its order already.
    """
    return element(
        "th",
        element("button", _breakable(name), type="button"),
        scope="col",
        class_=class_ or ("left" if left else None),
        aria_sort="ascending" if sorted_ else None,
        data_first="ascending" if ascending else None,
        data_sort_col=None if at is None else str(at),
    )


def _board_row(row: Row, board: Board, place: int) -> Html:
    known = row.score is not None and row.low is not None and row.high is not None
    glyph = interval_glyph(row.score or 0.0, row.low or 0.0, row.high or 0.0) if known else None
    return element(
        "tr",
        _number(str(row.rank or MISSING), row.rank),
        _number(ranks(row.rank_low, row.rank_high), row.rank_low, class_="left within"),
        element("th", link("model", row.model), scope="row"),
        element("td", row.kind, class_="left") if _kinds(board) else None,
        _number(count(row.parameters[1], row.parameters[1]), row.parameters[1]),
        _number(percent(row.score), row.score, class_="score"),
        element("td", glyph, element("small", interval(row.low, row.high)), class_="left glyph"),
        _number(percent(row.iqm), row.iqm),
        *(_cell(row.on(title)) for title in board.tasks),
        data_row=str(place),
        data_model=harmless(row.model),
        data_kind=row.kind,
    )


def _number(text: str, value: float | None, class_: str | None = None) -> Html:
    return element("td", text, data_sort="" if value is None else f"{value:.9g}", class_=class_)


def _cell(result: Result | None) -> Html:
    """Return a mean accuracy; its colour is the scaled accuracy."""
    if result is None:
        return element("td", MISSING, data_sort="", class_="cell")
    failed = result.finished < result.seeds
    return element(
        "td",
        percent(result.mean),
        element("abbr", " ⚠", title=result.outcome) if failed else None,
        class_="cell",
        data_sort="" if result.mean is None else f"{result.mean:.6f}",
        style=f"--share:{max(0.0, result.scaled or 0.0):.3f}",
    )


def _board_foot(board: Board) -> Html:
    """Return what is the same for every model: chance, classes, and where a task is told."""
    facts = [board.facts_of(title) for title in board.tasks]
    chance = [percent(known.chance_length if known else None) for known in facts]
    empty = [element("td")] * (4 + _kinds(board))
    classes = [known.language_class if known else None for known in facts]
    lines = {"chance": [element("td", text) for text in chance]}
    if any(classes):
        lines["language class"] = [element("td", name or MISSING) for name in classes]
    lines["task"] = [element("td", _about(title)) for title in board.tasks]
    before = [element("td"), element("td")]
    return element(
        "tfoot",
        *(
            element("tr", *before, element("th", name, scope="row"), *empty, *parts)
            for name, parts in lines.items()
        ),
    )


def _about(title: str) -> Html:
    return element("a", "about", href=_address("task", title), aria_label=f"about {title}")


def exact_table(rows: Sequence[ExactModel]) -> Html:
    """Return the table of exact models."""
    texts = [cells(row) for row in rows]
    return element(
        "table",
        element("caption", "Exact models, verified in fp64"),
        element("thead", element("tr", *(_head(n, left=n in LEFT) for n in HEADER))),
        element("tbody", *map(_exact_row, texts)),
        class_="sortable n-last asc",
    )


def _exact_row(texts: Sequence[str]) -> Html:
    first, second, *others = texts
    return element(
        "tr",
        element("th", _breakable(first), scope="row"),
        element("td", _breakable(second), class_="left"),
        *(element("td", text, data_sort=_order(text)) for text in others),
    )


def _order(text: str) -> str:
    """Return what a number is sorted by: ``4,096`` as 4096; what is none comes last."""
    plain = text.replace(",", "")
    try:
        float(plain)
    except ValueError:
        return ""
    return plain


def published_table(table: PublishedTable) -> Html:
    """Return a paper's table: below each task the maximum and the mean."""
    heads = [
        _head("model", ascending=True, left=True),
        element("th", "origin", scope="col", class_="left no-sort"),
        *map(_head, table.tasks),
    ]
    rows = [
        element(
            "tr",
            element("th", _breakable(row.model), scope="row"),
            element("td", element("em", "published"), class_="left"),
            *(_published_cell(row.results.get(task)) for task in table.tasks),
        )
        for row in table.rows
    ]
    return element(
        "table",
        element("caption", "Published: maximum / mean, in percent"),
        element("thead", element("tr", *heads)),
        element("tbody", *rows),
        class_="sortable n-last",
    )


def _published_cell(result: PublishedResult | None) -> Html:
    if result is None:
        return element("td", MISSING, data_sort="")
    shown = (MISSING if value is None else f"{value:.1f}" for value in (result.max, result.mean))
    value = result.max if result.mean is None else result.mean
    return element("td", " / ".join(shown), data_sort=f"{value}")


def commands(rows: Iterable[ExactModel]) -> Html:
    """Return the commands that verify exact models again."""
    items = [element("li", element("code", command)) for row in rows for command in row.commands]
    return element("ul", *items, class_="commands")


def _breakable(name: str) -> Html:
    """Return a name that may break into lines before its options, and on a phone within them."""
    model, bracket, options = harmless(name).partition("[")
    if not (model and bracket):
        # A hyphen before a number is no place to break: tomita-3.
        parts = re.split(r"(-\d+)", name)
        kept = [
            element("span", part, class_="keep") if n % 2 else part for n, part in enumerate(parts)
        ]
        return joined(*kept)
    texts = re.split(r"(?<==)|(?<=,) ", bracket + options)
    inside = [part for text in texts for part in (Html("<wbr>"), text)]
    return joined(model, Html("<wbr>"), element("span", *inside[1:], class_="options"))
