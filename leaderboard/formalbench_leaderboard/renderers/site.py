"""What the pages of the repository show, before any formatting."""

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
    """A suite that has measured records.

    Attributes:
        name, summary: as its plugin says.
        board: its boards, of its own tasks alone.
        state: gives the size of a model's state, where it is known.
    """

    name: str
    summary: str
    board: Page
    state: Callable[[Row], int | None] = lambda row: None

    @property
    def path(self) -> Path:
        """Where its page lies."""
        return SUITES / f"{self.name}.md"

    def figures(self, board: Board) -> list[tuple[Drawing, Path]]:
        """Return the figures of one of its boards, and where they lie."""
        return [
            (one, FIGURES / f"{one.name}.svg") for one in drawings(board, self.name, self.state)
        ]

    @property
    def ranked(self) -> list[Board]:
        """Its boards on which some model has a score; if there is none, those that have rows."""
        boards = [one for one in self.board.boards if one.rows]
        return [one for one in boards if any(row.score is not None for row in one.rows)] or boards

    @property
    def elsewhere(self) -> str:
        """Under which other protocols there are rankings than the one of the first page."""
        others = " and ".join(board.name for board in self.ranked[1:])
        return others and f", and under {others}"

    @property
    def uncounted(self) -> list[str]:
        """Why protocols have no row: what their notes say."""
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
        key: which.
        title: its name with the options set; with its source if two models share the name.
        summary: as its plugin says; empty if no plugin provides it.
        path: where its page lies.
    """

    key: ModelKey
    title: str
    summary: str
    path: Path


@dataclass(frozen=True, slots=True)
class ReproductionPage:
    """A paper's figure or table, reproduced.

    Attributes:
        path: where its page lies.
        told: what was found; None if nobody can read it.
    """

    path: Path
    told: Document | None


@dataclass(frozen=True, slots=True)
class Site:
    """Everything there is a page of.

    Attributes:
        suites: the default one first, if it has records.
        models: those measured by name, then those only verified.
        everything: the boards of all records on all tasks, ranked by the default suite as on the
            web page, and the exact models.
        reproductions: by name.
        links: where things lie.
        map: the complete part of the core board.
        evidence: theory's predictions and published numbers, beside ours.
    """

    suites: Sequence[SuitePage]
    models: Sequence[ModelPage]
    everything: Page
    reproductions: Sequence[ReproductionPage]
    links: Links
    map: LanguageMap
    evidence: Evidence

    def rows_of(self, key: ModelKey) -> list[tuple[Board, Row]]:
        """Return what was measured of a model, by protocol."""
        return rows_of(self.everything, key)

    def verified(self, key: ModelKey) -> tuple[ExactModel, ...]:
        """Return what was verified of a model, by task."""
        return tuple(row for row in self.everything.exact.rows if row.key == key)


def rows_of(page: Page, key: ModelKey) -> list[tuple[Board, Row]]:
    """Return a model's rows on the boards of a page."""
    return [(board, row) for board in page.boards for row in board.rows if row.key == key]
