"""Where the pages of the repository lie, and how one names another."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import quote

from formalbench.documents.markup import Markdown, link, name, written
from formalbench.statistics.board import ExactModel, Row
from formalbench.statistics.records import ModelKey

from formalbench_leaderboard.board.missing_runs import Lacking
from formalbench_leaderboard.board.sources import PAGE
from formalbench_leaderboard.board.tables import Outcome

FRONT = PAGE
SUITES, MODELS, FIGURES = (PAGE.with_name(name) for name in ("suites", "models", "figures"))


@dataclass(frozen=True, slots=True)
class Links:
    """What a page can link to; every path is below the repository's root.

    What has no page is named by its plain text.

    Attributes:
        models: the page of each row.
        tasks: the file that defines each task, by its title.
        records: the file of each run or verification, by its identity.
        page: where the page lies.
    """

    models: Mapping[ModelKey, Path] = field(default_factory=dict)
    tasks: Mapping[str, Path] = field(default_factory=dict)
    records: Mapping[str, Path] = field(default_factory=dict)
    page: Path = FRONT

    def on(self, page: Path) -> Links:
        """Return the same links on another page."""
        return replace(self, page=page)

    def to(self, target: Path) -> Markdown:
        """Return how the page names a file: by the way from the page's folder."""
        way = Path(os.path.relpath(target, self.page.parent)).as_posix()
        return Markdown(quote(way, safe="/=+"))

    def link(self, shown: str, target: Path | None) -> Markdown:
        """Return a text that leads to a file, if there is one."""
        return written(shown) if target is None else link(shown, self.to(target))

    def model(self, row: Row | ExactModel) -> Markdown:
        """Return the name of a row's model."""
        return self.link(name(row.model), self.models.get(row.key))

    def reached(self, item: Outcome | Lacking) -> Markdown:
        """Return the name of the model that reached something, or lacks it."""
        return self.model(item.row)

    def task(self, title: str) -> Markdown:
        """Return the title of a task; of anything else, as other headings, the plain text."""
        return self.link(title, self.tasks.get(title))

    def record(self, identity: str, shown: str) -> Markdown:
        """Return a text that leads to a record, which names its weights."""
        return self.link(shown, self.records.get(identity))
