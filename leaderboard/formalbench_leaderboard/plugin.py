"""The leaderboard's entry module: its commands, and the board at the end of ``run``.

It must import quickly: slow imports are inside the functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from formalbench.contracts.hooks import Session, hookimpl

if TYPE_CHECKING:
    import typer
    from formalbench.contracts.record import Record


@hookimpl
def formalbench_commands(app: typer.Typer) -> None:
    """Add ``formalbench leaderboard`` and ``formalbench compare``."""
    from formalbench_leaderboard.commands.compare import compare
    from formalbench_leaderboard.commands.show import leaderboard

    app.add_typer(leaderboard, name="leaderboard")
    app.command()(compare)


@hookimpl
def formalbench_session_finished(session: Session, records: Sequence[Record]) -> None:
    """Print the board with the rows that the session measured."""
    if session.quiet or not records:
        return
    from formalbench_leaderboard.session import print_session

    print_session(session, records)
