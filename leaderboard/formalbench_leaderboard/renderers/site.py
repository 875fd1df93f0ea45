"""The data of the repository's pages, before formatting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from formalbench.documents.reproduction import Document
from formalbench.statistics.board import Board, ExactModel, Page, Row
from formalbench.statistics.records import ModelKey

from formalbench_leaderboard.charts.board_charts import Drawing, drawings
from formalbench_leaderboard.charts.language_map import LanguageMap
from formalbench_leaderboard.renderers.evidence_pages import Evidence
from formalbench_leaderboard.renderers.links import FIGURES, SUITES, Links


@dataclass(frozen=True, slots=True)
class SuitePage:
    """A suite with records.

    Attributes:
        name, summary: from its plugin.
        board: its boards, with its own tasks only.
        state: returns the size of a model's state, if known.
    """

    name: str
    summary: str
    board: Page
    state: Callable[[Row], int | None] = lambda row: None

    @property
    def path(self) -> Path:
        """The path of its page."""
        return SUITES / f"{self.name}.md"

    def figures(self, board: Board) -> list[tuple[Drawing, Path]]:
        """Return the figures of one of its boards, with their paths."""
        return [
            (one, FIGURES / f"{one.name}.svg") for one in drawings(board, self.name, self.state)
        ]

    @property
    def ranked(self) -> list[Board]:
        """Its boards on which a model has a score; if there are none, those with rows."""
        boards = [one for one in self.board.boards if one.rows]
        return [one for one in boards if any(row.score is not None for row in one.rows)] or boards

    @property
    def elsewhere(self) -> str:
        """The end of a sentence that names the protocols of its other rankings; may be empty."""
        others = " and ".join(board.name for board in self.ranked[1:])
        return others and f", and under {others}"

    @property
    def uncounted(self) -> list[str]:
        """The notes on protocols without rows."""
        return [f"{one.name}: {' '.join(one.notes)}" for one in self.board.boards if not one.rows]

    @property
    def tasks(self) -> set[str]:
        """The titles of its tasks, measured or not."""
        return {task for board in self.board.boards for task in (*board.tasks, *board.other_tasks)}

    @property
    def scored(self) -> set[ModelKey]:
        """The models with a score under some protocol."""
        rows = (row for board in self.board.boards for row in board.rows)
        return {row.key for row in rows if row.score is not None}


@dataclass(frozen=True, slots=True)
class ModelPage:
    """A model with its options.

    Attributes:
        key: identifies the model.
        title: its name with the options set; with its source if two models share the name.
        summary: from its plugin; empty if no plugin provides it.
        path: the path of its page.
    """

    key: ModelKey
    title: str
    summary: str
    path: Path


@dataclass(frozen=True, slots=True)
class ReproductionPage:
    """A reproduction of a paper's figure or table.

    Attributes:
        path: the path of its page.
        told: its results; None if the file is invalid.
    """

    path: Path
    told: Document | None


@dataclass(frozen=True, slots=True)
class Site:
    """The content of all pages.

    Attributes:
        suites: the default one first, if it has records.
        models: the measured ones by name, then those that are only verified.
        everything: the boards of all records on all tasks, ranked by the default suite as on the
            web page, and the exact models.
        reproductions: by name.
        links: the targets of links.
        map: the complete part of the core board.
        evidence: predictions and published numbers, compared with the measurements.
    """

    suites: Sequence[SuitePage]
    models: Sequence[ModelPage]
    everything: Page
    reproductions: Sequence[ReproductionPage]
    links: Links
    map: LanguageMap
    evidence: Evidence

    def rows_of(self, key: ModelKey) -> list[tuple[Board, Row]]:
        """Return the rows of a model with their boards, by protocol."""
        return rows_of(self.everything, key)

    def verified(self, key: ModelKey) -> tuple[ExactModel, ...]:
        """Return the verifications of a model, by task."""
        return tuple(row for row in self.everything.exact.rows if row.key == key)


def rows_of(page: Page, key: ModelKey) -> list[tuple[Board, Row]]:
    """Return a model's rows on the boards of a page."""
    return [(board, row) for board in page.boards for row in board.rows if row.key == key]
