"""Writing to people and to machines."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

WIDE = 10_000
"""Columns of a pipe: no line is ever cut for one."""


@contextlib.contextmanager
def plugins_print_to_stderr() -> Iterator[None]:
    """Keep what a plugin's code prints out of standard output, which belongs to the command."""
    with contextlib.redirect_stdout(sys.stderr):
        yield


def console(*, stderr: bool = False) -> Console:
    """Return a console that cuts nothing when its output is piped."""
    from formalbench.ui.screen import Screen

    target = Screen(stderr=stderr, highlight=False)
    if not target.is_terminal:
        target = Screen(stderr=stderr, highlight=False, width=WIDE)
    return target


def as_json(data: Any) -> str:
    """Return data as the JSON that commands print."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)


def print_json(data: Any) -> None:
    """Print JSON to standard output."""
    print(as_json(data))


def put(text: str, file: Path | None) -> None:
    """Write text into a file, or to standard output if none is named."""
    if file is None:
        print(text, end="")
    else:
        from formalbench.store import write_atomically

        write_atomically(file, text)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> None:
    """Print a table; cells are plain text, whatever is in them."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, title=title or None, title_justify="left", pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console().print(table)
