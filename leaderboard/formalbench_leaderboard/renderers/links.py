"""Where the pages of the repository lie, and how one names another."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from formalbench.analysis.keys import ModelKey
from formalbench.analysis.text import markdown
from formalbench.store import weights_path

from formalbench_leaderboard.sources import PAGE

FRONT = PAGE
SUITES, MODELS, FIGURES = (PAGE.with_name(name) for name in ("suites", "models", "figures"))


@dataclass(frozen=True, slots=True)
class Links:
    """What can be linked to; every path is below the repository's root.

    Attributes:
        models: the page of each row.
        records: the file of each run or verification, by its identity.
        files: other published files, as weights.
    """

    models: Mapping[ModelKey, Path]
    records: Mapping[str, Path]
    files: Collection[Path]

    def model(self, key: ModelKey, shown: str, page: Path) -> str:
        """Return a model's name with a link to its page, if it has one."""
        target = self.models.get(key)
        return markdown(shown) if target is None else link(shown, target, page)

    def record(self, identity: str, shown: str, page: Path) -> str:
        """Return a text with a link to a record, and one to the weights if they lie beside it."""
        target = self.records.get(identity)
        if target is None:
            return markdown(shown)
        weights = weights_path(target)
        beside = f" ({link('weights', weights, page)})" if weights in self.files else ""
        return link(shown, target, page) + beside


def link(shown: str, target: Path, page: Path) -> str:
    """Return a Markdown link from a page to a file; `shown` is not Markdown yet."""
    return f"[{markdown(shown)}]({relative(target, page)})"


def relative(target: Path, page: Path) -> str:
    """Return how a page names a file: by the way from the page's folder."""
    return quote(Path(os.path.relpath(target, page.parent)).as_posix(), safe="/=+")
