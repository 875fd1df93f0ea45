"""The texts of the page: the statistics in words are those of the Markdown page."""

from __future__ import annotations

import re
from collections.abc import Iterable

from formalbench_leaderboard.renderers.markdown import HOW_TO_READ
from formalbench_leaderboard.web.html import Html, element, joined

_MARKED = re.compile(r"\*\*(.+?)\*\*|`(.+?)`", re.DOTALL)


def how_to_read() -> Html:
    """Return the bullets of "How to read it"."""
    bullets = re.split(r"^- ", HOW_TO_READ, flags=re.MULTILINE)[1:]
    return element("ul", *(element("li", marked(bullet)) for bullet in bullets), class_="prose")


def bullets(lines: Iterable[str]) -> Html:
    """Return lines of plain text as a list; nothing if there is none."""
    items = [element("li", line) for line in lines]
    return element("ul", *items, class_="notes") if items else Html("")


def marked(text: str) -> Html:
    """Return text with ``**strong**`` and `` `code` `` as elements."""
    parts: list[str | Html] = []
    end = 0
    for match in _MARKED.finditer(text):
        parts.append(text[end : match.start()])
        parts.append(
            element("strong", match[1]) if match[1] is not None else element("code", match[2])
        )
        end = match.end()
    parts.append(text[end:].rstrip())
    return joined(*parts)
