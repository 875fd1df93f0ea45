"""How far a long command is: a line that renews itself, or one now and then in a pipe."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live

EVERY = 10.0
"""Seconds between two lines where the output is no terminal."""


class ProgressLine:
    """Shows how far a command is; short work shows nothing.

    Args:
        console: where to show it.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None
        self._last = self._start = time.monotonic()

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            from rich.live import Live

            self._live = Live(console=self._console, refresh_per_second=4, transient=True)
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live:
            self._live.stop()
            self._live = None

    def report(self, what: str, done: int, total: int) -> None:
        """Tell what is being done, and how many of how many things are done."""
        seconds = int(time.monotonic() - self._start)
        line = f"{what}: {done:,} of about {total:,} strings, {seconds // 60}:{seconds % 60:02d}"
        if self._live:
            from rich.text import Text

            self._live.update(Text(line))
        elif time.monotonic() - self._last >= EVERY:
            self._last = time.monotonic()
            self._console.print(line, markup=False, soft_wrap=True)
