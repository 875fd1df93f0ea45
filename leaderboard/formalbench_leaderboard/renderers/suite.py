"""The page of a suite: its rankings, and a table for each of its tasks."""

from __future__ import annotations

from pathlib import Path

from formalbench.analysis.board import Board, Row
from formalbench.analysis.markdown import bullets
from formalbench.analysis.text import markdown

from formalbench_leaderboard.renderers.links import FRONT, relative
from formalbench_leaderboard.renderers.markdown import Name, by_task, joined, ranked
from formalbench_leaderboard.renderers.site import Site, SuitePage


def render(suite: SuitePage, site: Site) -> str:
    """Return the page of a suite."""
    front = relative(FRONT, suite.path)
    parts = [
        f"# Suite {markdown(suite.name)}",
        f"{markdown(suite.summary)} · [Leaderboard]({front}) · "
        f"[How to read it]({front}#how-to-read-it)",
    ]

    def name(row: Row) -> str:
        return site.links.model(row.key, row.model, suite.path)

    for board in suite.board.boards:
        parts.append(f"## Protocol {markdown(board.name)}")
        parts += _ranking(board, name) + figures(suite, board, suite.path) + by_task(board, name)
    return joined([*parts, "## Environments", bullets(suite.board.environments)])


def figures(suite: SuitePage, board: Board, page: Path) -> list[str]:
    """Return the figures of a board as a page shows them, each with its caption."""
    parts = []
    for drawing, path in suite.figures(board):
        parts += [f"![{markdown(drawing.title)}]({relative(path, page)})", drawing.caption]
    return parts


def _ranking(board: Board, name: Name) -> list[str]:
    if any(row.rank for row in board.rows):
        return ranked(board, name)
    nobody = "No model has every task of the suite under this protocol: there is no ranking."
    return [nobody, *([bullets(board.notes)] if board.notes else [])]
