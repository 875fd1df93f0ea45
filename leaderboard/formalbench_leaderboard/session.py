"""The end of ``run``: the new rows among the measured ones, then the published ones."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from formalbench.contracts.hooks import Session
from formalbench.contracts.record import Record
from rich.console import Console
from rich.text import Text

from formalbench_leaderboard.build import View, build_page
from formalbench_leaderboard.counted import model_key, title_of
from formalbench_leaderboard.faces.terminal import print_page
from formalbench_leaderboard.published import published_tables
from formalbench_leaderboard.sources import PUBLISHED_RESULTS, read_all, repository_above


def print_session(
    session: Session, records: Sequence[Record], console: Console | None = None
) -> None:
    """Print the board of what a session was asked for.

    Args:
        session: the session.
        records: its records, at least one.
        console: where to; standard output if not given.
    """
    console = console or Console()
    folders = [session.results]
    repository = repository_above(Path.cwd())
    if repository is not None:
        folders.append(repository / PUBLISHED_RESULTS)
    view = View(
        title="Board",
        tasks=tuple(dict.fromkeys(title_of(record) for record in records)),
        protocols={record.protocol.name for record in records},
        only_tasks=True,
        new={model_key(record) for record in records},
        published=published_tables(),
        current_version={record.task.name: record.task.version for record in records}.get,
    )
    print_page(build_page([*read_all(folders), *records], view), console)
    command = f"formalbench leaderboard publish --results {shlex.quote(str(session.results))}"
    # Not wrapped, so that it can be copied whatever the width.
    console.print(Text(f"To publish: {command}"), soft_wrap=True)
