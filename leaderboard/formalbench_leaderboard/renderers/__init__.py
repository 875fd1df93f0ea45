"""The renderers of a page: one file per format, each a function from `Page` to text."""

from __future__ import annotations

from collections.abc import Callable

from formalbench.analysis.board import Page

FORMATS = ("table", "markdown", "latex", "csv", "json")


def renderer(name: str) -> Callable[[Page], str]:
    """Return the function that renders a format of `FORMATS`."""
    from formalbench_leaderboard.renderers import data, latex, markdown, sheet, terminal

    return {
        "table": terminal.render,
        "markdown": markdown.render,
        "latex": latex.render,
        "csv": sheet.render,
        "json": data.render,
    }[name]
