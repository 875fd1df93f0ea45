"""The snapshot: the published records that came with the package.

The leaderboard's `render` writes it, like every page.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from formalbench.contracts.verification import AnyRecord
from formalbench.store.record_file import read_packed

SNAPSHOT = Path("leaderboard", "formalbench_leaderboard", "snapshot.jsonl")
"""Path below the repository's root."""


def read_snapshot(file: Path | None = None) -> list[AnyRecord]:
    """Return the records that came with the package; none if it has no snapshot.

    Each record is checked as if it were in a file of its own.

    Raises:
        RequestError: one line, if the file is damaged.
    """
    file = file or Path(str(files(SNAPSHOT.parent.name))) / SNAPSHOT.name
    if not file.exists():
        return []
    return read_packed(file, "damaged: install formalbench again")
