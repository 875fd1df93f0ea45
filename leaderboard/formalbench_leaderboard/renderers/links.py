"""Paths of the repository's pages, and links between them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import quote

from formalbench.documents.markup import Markdown, link, name, written
from formalbench.statistics.board import ExactModel, Row
from formalbench.statistics.records import ModelKey

from formalbench_leaderboard.board.missing_runs import MissingRuns
from formalbench_leaderboard.board.sources import FRONT
from formalbench_leaderboard.board.tables import Outcome


@dataclass(frozen=True, slots=True)
class Links:
    """The possible targets of links on a page; all paths are relative to the repository's root.

    A name without a target is shown as plain text.

    Attributes:
        models: the page of each row.
        tasks: the file that defines each task, by its title.
        records: the file of each run or verification, by its id.
        page: the path of the page with the links.
    """

    models: Mapping[ModelKey, Path] = field(default_factory=dict)
    tasks: Mapping[str, Path] = field(default_factory=dict)
    records: Mapping[str, Path] = field(default_factory=dict)
    page: Path = FRONT

    def on(self, page: Path) -> Links:
        """Return the same links for another page."""
        return replace(self, page=page)

    def to(self, target: Path) -> Markdown:
        """Return the relative address of a file, from the page's folder."""
        path = Path(os.path.relpath(target, self.page.parent)).as_posix()
        return Markdown(quote(path, safe="/=+"))

    def link(self, shown: str, target: Path | None) -> Markdown:
        """Return a text with a link to a file, or without one if there is no file."""
        return written(shown) if target is None else link(shown, self.to(target))

    def model(self, row: Row | ExactModel) -> Markdown:
        """Return the name of a row's model, with a link."""
        return self.link(name(row.model), self.models.get(row.key))

    def reached(self, item: Outcome | MissingRuns) -> Markdown:
        """Return the name of the model of a result or of missing results, with a link."""
        return self.model(item.row)

    def task(self, title: str) -> Markdown:
        """Return the title of a task with a link; other headings are returned as plain text."""
        return self.link(title, self.tasks.get(title))

    def record(self, identity: str, shown: str) -> Markdown:
        """Return a text with a link to a record, which names its weights."""
        return self.link(shown, self.records.get(identity))
