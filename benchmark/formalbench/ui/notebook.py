"""The live table in a notebook: one output that changes while the runs do."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, Self

from formalbench.contracts.hooks import Progress, RunInfo, hookimpl
from formalbench.running.remaining import Work
from formalbench.ui.live import LiveTable

if TYPE_CHECKING:
    from rich.console import Console

BEAT = 0.25
"""Seconds between two pictures of it, at least."""

LINES = 10
"""Of the runs that finished, the latest that are told above it."""


class NotebookTable(LiveTable):
    """Shows runs in flight, and what came of the latest, below the cell that runs.

    Args:
        console: of the notebook.
        total: how many runs were asked for.
        finished: how many of them are done already.
        work: of the others; see `LiveTable`.
    """

    def __init__(
        self,
        console: Console,
        total: int,
        finished: int = 0,
        work: Mapping[str, Work] = MappingProxyType({}),
    ) -> None:
        super().__init__(console, total, finished, work)
        self._lines: deque[str] = deque(maxlen=LINES)
        self._shown = 0.0
        self._display: Any = None

    def __enter__(self) -> Self:
        from IPython.display import display

        self._display = display(self._picture(), display_id=True)
        return super().__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        super().__exit__(kind, error, trace)
        self._show(at_once=True)

    def note(self, line: str) -> None:
        """Tell something above the table."""
        self._lines.append(line)
        self._show(at_once=True)

    @hookimpl
    def formalbench_run_started(self, run: RunInfo) -> None:
        """Show a run."""
        super().formalbench_run_started(run)
        self._show()

    @hookimpl
    def formalbench_run_progress(self, run: RunInfo, progress: Progress) -> None:
        """Show how far a run is."""
        super().formalbench_run_progress(run, progress)
        self._show()

    def _show(self, *, at_once: bool = False) -> None:
        now = time.monotonic()
        if self._display is not None and (at_once or now - self._shown >= BEAT):
            self._shown = now
            self._display.update(self._picture())

    def _picture(self) -> Any:
        """Return what a notebook shows: the latest lines, above a table if anything runs."""
        from rich.text import Text

        table = self._render()
        if not self._flying:
            return Text("\n".join([*self._lines, str(table.caption)]))
        table.title, table.title_justify = Text("\n".join(self._lines)), "left"
        return table
