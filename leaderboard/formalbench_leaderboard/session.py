"""The board at the end of ``run``: the new rows, compared with the published ones."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import cache, partial
from itertools import pairwise
from pathlib import Path

import typer
from formalbench.contracts.hooks import Session
from formalbench.contracts.record import Record
from formalbench.documents.text import harmless, printable
from formalbench.host.plugin import SESSION, data_files
from formalbench.statistics.aggregate import known_chances
from formalbench.statistics.build import View, build_page
from formalbench.statistics.records import grouped_by, protocol_key, title_of
from formalbench.statistics.selection import CurrentContents, current_of
from formalbench.ui.terminal import Screen
from rich.text import Text

from formalbench_leaderboard.board.sources import (
    EVERY_RUN,
    cell_of,
    missing_runs,
    read_with_published,
    shortcut_here,
)
from formalbench_leaderboard.renderers.terminal import TableDetail, print_page


def print_session(session: Session, records: Sequence[Record]) -> None:
    """Print the board of a session's tasks."""
    console = Screen()
    host = session.host
    view = View(
        title="Board",
        tasks=tuple(dict.fromkeys(title_of(record) for record in records)),
        only_tasks=True,
        new={record.test_id for record in records},
        published=tuple(host.published()),
        current=CurrentContents.of(records).otherwise(current_of(host)),
        shortcut=cache(partial(shortcut_here, host)),
        chances=known_chances(host),
    )
    stored = read_with_published(session.results)
    for line in stored.invalid:
        typer.echo(harmless(line), err=True)
    boards = set(map(protocol_key, records))
    compared = [record for record in stored.records if protocol_key(record) in boards]
    detail = TableDetail(everything=False, other_tasks=True)
    print_page(build_page([*compared, *records], view), console, detail)
    needed = _needed_plugins(session, records)
    if any(map(data_files, needed)):
        return  # data files are not published, and neither are results on them
    if reason := _unpublishable([*stored.records, *records], records):
        console.print(Text(printable(f"Not publishable: {reason}")), soft_wrap=True)
        return
    words = ["formalbench", "leaderboard", "publish", "--results", str(session.results)]
    for path in needed:
        words += ["--plugin", str(path)]
    protocols = {record.protocol.title for record in records}
    if EVERY_RUN not in protocols:
        text = f"These runs use the protocol {', '.join(sorted(protocols))}. The leaderboard ranks "
        console.print(Text(printable(f"{text}{EVERY_RUN}: add --protocol {EVERY_RUN}.")))
    # Not wrapped, so that it can be copied at any width.
    console.print(Text(printable(f"To publish: {shlex.join(words)}")), soft_wrap=True)


def _unpublishable(all_records: Sequence[Record], records: Sequence[Record]) -> str:
    """Return why `publish` would refuse these records; an empty text if no reason is known."""
    if any(one.model.source.distribution == SESSION.name for one in records):
        return "the model's class is not in a file: move it to one (--model mine.py:Mine)"
    pairs = set(map(_pair, records))
    groups = grouped_by(cell_of, [one for one in all_records if _pair(one) in pairs])
    lines = [
        line
        for cell in dict.fromkeys(map(cell_of, records))
        for line in missing_runs(groups[cell], groups[cell][0].protocol)
    ]
    more = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
    return lines[0] + more if lines else ""


def _pair(record: Record) -> tuple[str, str]:
    return record.model.name, record.task.name


def _needed_plugins(session: Session, records: Sequence[Record]) -> list[Path]:
    """Return the paths of the local plugins of the records and their protocols.

    Paths below the working directory are relative to it. Records contain only the plugins' names.
    """
    words = [shlex.split(record.command) for record in records]
    names = {value for line in words for word, value in pairwise(line) if word == "--plugin"}
    folder = Path.cwd()
    return [
        path.relative_to(folder) if path.is_relative_to(folder) else path
        for path in session.plugins
        if path.name in names
    ]
