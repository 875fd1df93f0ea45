"""The texts of the page: the statistics in words are those of the Markdown page."""

from __future__ import annotations

import re

from formalbench.analysis.text import harmless
from markupsafe import Markup, escape

from formalbench_leaderboard.renderers.markdown import HOW_TO_READ

_MARKED = re.compile(r"\*\*(.+?)\*\*|`(.+?)`")


def how_to_read() -> list[Markup]:
    """Return the bullets of "How to read it"."""
    bullets = re.split(r"^- ", HOW_TO_READ, flags=re.MULTILINE)[1:]
    return [marked(bullet) for bullet in bullets]


def marked(text: str) -> Markup:
    """Return text with ``**strong**`` and `` `code` `` as elements."""

    def element(match: re.Match[str]) -> str:
        return f"<strong>{match[1]}</strong>" if match[1] else f"<code>{match[2]}</code>"

    return Markup(_MARKED.sub(element, str(escape(harmless(text)))))  # noqa: S704 - escaped


def breakable(name: str) -> Markup:
    """Return a name that may break into lines before its options, and on a phone within them."""
    model, bracket, options = harmless(name).partition("[")
    if not (model and bracket):
        # A hyphen before a number is no place to break: tomita-3.
        kept = re.sub(r"(-\d+)", r'<span class="keep">\1</span>', str(escape(harmless(name))))
        return Markup(kept)  # noqa: S704 - escaped
    parts = re.split(r"(?<==)|(?<=, )", bracket + options)
    inside = Markup("<wbr>").join(map(escape, parts))
    return Markup('{}<wbr><span class="options">{}</span>').format(model, inside)
