"""A tracker: every number of every run goes into ``tracked.csv``, as it comes.

    formalbench run --plugin csv_tracker.py --model gru --task parity

Observers are called during a session; records are written before observers are called, and an
observer that raises is dropped with one line.
"""

import csv
from pathlib import Path

from formalbench import Progress, RunInfo, Session, hookimpl

FILE = Path("tracked.csv")


@hookimpl
def formalbench_session_started(session: Session) -> None:
    """Begin the file, if there is something to do."""
    if session.todo:
        FILE.write_text("model,task,seed,phase,step,metric,value\n", "utf-8")


@hookimpl
def formalbench_run_progress(run: RunInfo, progress: Progress) -> None:
    """Write a line for every number."""
    with FILE.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        for name, value in progress.metrics.items():
            row = (run.model, run.task, run.seed, progress.phase, progress.step, name, value)
            writer.writerow(row)
