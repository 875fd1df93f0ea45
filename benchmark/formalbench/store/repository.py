"""Where a clone of the repository keeps what is published, for whoever works inside one."""

from __future__ import annotations

from pathlib import Path

PUBLISHED_RESULTS = Path("leaderboard", "results")
"""The records, below the repository's root."""

REPRODUCTIONS = Path("leaderboard", "reproductions")
"""The pages of reproductions and their data, likewise."""


def repository_above(start: Path) -> Path | None:
    """Return the nearest folder at or above `start` that holds ``leaderboard/results``."""
    here = start.resolve()
    return next(
        (folder for folder in (here, *here.parents) if (folder / PUBLISHED_RESULTS).is_dir()), None
    )
