"""The renderers of a page: one file for each format, each with a function from `Page` to text."""

from __future__ import annotations

from collections.abc import Callable

from formalbench.statistics.board import Page

FORMATS = ("table", "markdown", "latex", "csv", "json")


def renderer(name: str) -> Callable[[Page], str]:
    """Return the function that renders a format of `FORMATS`."""
    from formalbench_leaderboard.renderers import formats, terminal

    return {
        "table": terminal.render,
        "markdown": formats.render_markdown,
        "latex": formats.render_latex,
        "csv": formats.render_csv,
        "json": formats.render_json,
    }[name]
