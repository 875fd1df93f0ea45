"""The committed faces: what the repository shows of its published records, file by file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from formalbench.contracts.verification import AnyRecord
from formalbench.store import Store

from formalbench_leaderboard.build import build_page
from formalbench_leaderboard.faces import markdown
from formalbench_leaderboard.sources import (
    DEFAULT_SUITE,
    PAGE,
    PUBLISHED_RESULTS,
    parted,
    suite_view,
)

if TYPE_CHECKING:
    from formalbench.host.host import PluginHost


def render_faces(records: Mapping[Path, AnyRecord], host: PluginHost) -> dict[Path, bytes]:
    """Return every file that is rendered from the published records.

    Args:
        records: all that are published, by their paths below the repository's root.
        host: the plugins.

    Returns:
        The contents of each file, by its path below the repository's root.
    """
    runs, verifications = parted(records.values())
    page = markdown.render(build_page(runs, suite_view(host, DEFAULT_SUITE), verifications))
    return {PAGE: page.encode()}


def stale_faces(repository: Path, host: PluginHost) -> list[Path]:
    """Return which files of a repository are not, byte for byte, what its records give."""
    held = Store(repository / PUBLISHED_RESULTS).files()
    records = {file.relative_to(repository): record for file, record in held.items()}
    expected = render_faces(records, host)
    return [
        path
        for path, contents in expected.items()
        if not (repository / path).is_file() or (repository / path).read_bytes() != contents
    ]
