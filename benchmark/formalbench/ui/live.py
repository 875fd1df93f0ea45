"""The live table of runs, in a terminal and in a notebook."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from formalbench.contracts.hooks import Progress, RunInfo, hookimpl
from formalbench.contracts.specs import display

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live
    from rich.table import Table

    from formalbench.contracts.record import Record
    from formalbench.host import PluginHost
    from formalbench.running.plan import RunKey, RunOptions, RunPlan
    from formalbench.store import Store


def execute_live(
    host: PluginHost,
    plan: RunPlan,
    store: Store,
    options: RunOptions,
    done: Mapping[RunKey, Record] | None = None,
) -> list[Record]:
    """Execute a plan and show its progress: on standard error or, in a notebook, below the cell.

    The arguments are those of `formalbench.running.session.execute`.
    """
    from formalbench.running.estimate import due
    from formalbench.running.session import execute, finished
    from formalbench.ui.terminal import console, plugins_print_to_stderr

    done = finished(plan, store) if done is None else done
    todo = due(plan.runs, done)
    screen = console(stderr=True)
    table = LiveTable(screen, len(done) + len(todo), len(done))
    observer = host.observe(table, "live table")
    with table:
        try:
            with plugins_print_to_stderr():
                return execute(host, plan, store, options, done)
        except KeyboardInterrupt:
            table.note("interrupted: finished runs are saved; repeat the command to resume")
            raise
        finally:
            host.forget(observer)


BEAT = 0.25
"""Minimum seconds between two updates in a notebook."""

ENOUGH = 0.02
"""Share of the runs after which a remaining time is shown."""

LINES = 10
"""Maximum lines above the table in a notebook."""


class LiveTable:
    """Shows current runs on a terminal or in a notebook; otherwise a line per finished run.

    Args:
        total: number of requested runs.
        finished: number of runs that are already done.
    """

    def __init__(self, console: Console, total: int, finished: int = 0) -> None:
        self._console = console
        self._total = total
        self._done = finished
        self._resumed = finished
        self._active: dict[str, tuple[RunInfo, Progress | None]] = {}
        self._start = time.monotonic()
        self._live: Live | None = None
        self._lines: deque[str] = deque(maxlen=LINES)
        self._display: Any = None
        self._last_update = 0.0

    def __enter__(self) -> Self:
        if self._console.is_jupyter:
            from IPython.display import display

            self._display = display(self._picture(), display_id=True)
        if self._resumed:
            self.note(f"{self._resumed} of {self._total} runs were already finished")
        if self._display is None and self._console.is_terminal and self._done < self._total:
            from rich.live import Live

            self._live = Live(
                console=self._console,
                get_renderable=self._render,
                refresh_per_second=4,
                transient=True,
            )
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
        self._show(at_once=True)

    def note(self, line: str) -> None:
        """Print one line above the table."""
        self._lines.append(line)
        if self._display is None:
            self._console.print(line, markup=False, soft_wrap=True)
        self._show(at_once=True)

    @hookimpl
    def formalbench_run_started(self, run: RunInfo) -> None:
        """Add a run; runs at a fallback rate increase the total."""
        self._active[run.test_id] = (run, None)
        self._total = max(self._total, self._done + len(self._active))
        self._show()

    @hookimpl
    def formalbench_run_progress(self, run: RunInfo, progress: Progress) -> None:
        """Update the progress of a run."""
        self._active[run.test_id] = (run, progress)
        self._show()

    @hookimpl
    def formalbench_run_finished(self, run: RunInfo, record: Record) -> None:
        """Print the result of a run."""
        self._active.pop(run.test_id, None)
        self._done += 1
        self.note(f"[{self._done}/{self._total}] {summary(record)}")

    def _show(self, *, at_once: bool = False) -> None:
        """Update the notebook's output, a few times a second."""
        now = time.monotonic()
        if self._display is not None and (at_once or now - self._last_update >= BEAT):
            self._last_update = now
            self._display.update(self._picture())

    def _picture(self) -> Any:
        """Return a notebook's output: the latest lines, and a table if anything runs."""
        from rich.text import Text

        table = self._render()
        if not self._active:
            return Text("\n".join([*self._lines, str(table.caption)]))
        table.title, table.title_justify = Text("\n".join(self._lines)), "left"
        return table

    def _render(self) -> Table:
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for column in ("model", "task", "seed", "step", "length", "loss", "error", "tokens/s"):
            table.add_column(column, justify="left" if column in ("model", "task") else "right")
        for run, progress in self._active.values():
            step, length, loss, error, speed = "…", "", "", "", ""
            if progress:
                step = f"{progress.step}/{run.steps}" if progress.phase == "train" else "test"
                length = str(progress.stage)
                loss = _metric_text(progress, "train/loss", "{:.3g}")
                error = _metric_text(progress, "train/error", "{:.1%}")
                speed = _metric_text(progress, "train/tokens-per-second", "{:,.0f}")
            cells = (run.model, run.task, str(run.seed), step, length, loss, error, speed)
            table.add_row(*map(Text, cells))
        seconds = int(time.monotonic() - self._start)
        done = f"{self._done} of {self._total} runs"
        table.caption = f"{done}, {seconds // 60}:{seconds % 60:02d}{self._left(seconds)}"
        return table

    def _left(self, elapsed: int) -> str:
        """Return how long is left if the runs that are left take as long as those before."""
        fractions = [p.step / run.steps for run, p in self._active.values() if p and run.steps]
        done = self._done - self._resumed + sum(fractions)
        share = done / max(self._total - self._resumed, 1)
        if not ENOUGH <= share < 1:
            return ""
        seconds = round(elapsed * (1 - share) / share)
        return f", about {seconds // 60}:{seconds % 60:02d} left"


def _metric_text(progress: Progress, name: str, form: str) -> str:
    value = progress.metrics.get(name)
    return "" if value is None else form.format(value)


def summary(record: Record) -> str:
    """Return one line about a finished run."""
    model = display(record.model.name, record.model.options)
    task = display(record.task.name, record.task.options)
    head = f"{model} on {task}, seed {record.seed}"
    if record.learning_rate is not None:
        head += f", rate {record.learning_rate:g}"
    if record.test is None:
        return f"{head}: {record.status}: {record.message}".rstrip(": ")
    test, cells = record.test, record.test.cells
    text = f"{head}: {test.accuracy:.1%} at {(cells.first or cells.length)[0]}–{cells.length[-1]}"
    if by_group := cells.by_group:
        text += ", " + ", ".join(f"{group} {share:.1%}" for group, share in by_group.items())
    if record.training:
        text += f" ({record.training.steps} steps, {record.training.seconds:.0f} s)"
    if record.message:
        text += f"; {record.status}: {record.message}"
    return text
