"""The published records inside the package, for whoever has no clone of the repository.

A file of records, rendered by `publish` like every page.
"""

from __future__ import annotations

from pathlib import Path

from formalbench.contracts.verification import AnyRecord
from formalbench.store.packed import read_packed

FILE = Path("leaderboard", "formalbench_leaderboard", "snapshot.jsonl")
"""Below the repository's root."""


def read_snapshot(file: Path | None = None) -> list[AnyRecord]:
    """Read the records that came with the package; none if it has no snapshot.

    Each is checked as if it stood in a file of its own.

    Raises:
        RequestError: one line, if the file is damaged.
    """
    file = file or Path(__file__).with_name(FILE.name)
    if not file.exists():
        return []
    return read_packed(file, "damaged; install formalbench again")
