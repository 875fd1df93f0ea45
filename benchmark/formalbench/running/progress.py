"""Progress of a unit: the worker writes one event per line to a file, which the submitter reads.

So progress works with every executor whose processes share the file system.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from formalbench.contracts.hooks import Progress

Hear = Callable[[str, str, Progress | None], None]
"""Called with an event (``started``, ``progress``, ``alive``, ``finished``), a run's `test_id`, and
its progress."""

BEAT = 1.0
"""Seconds between two ``alive`` events."""


class ProgressFile:
    """Writes events; if the file cannot be written, only the events are lost.

    Args:
        path: the file; None to write no events.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._last = 0.0

    def started(self, run: str) -> None:
        """Report that a run begins."""
        self._write({"event": "started", "run": run})

    def progress(self, run: str, progress: Progress) -> None:
        """Report the progress of a run."""
        self._write({"event": "progress", "run": run, "progress": asdict(progress)})

    def alive(self, run: str) -> None:
        """Report that a long computation is still going on; may be called any number of times."""
        if time.monotonic() - self._last >= BEAT:
            self._last = time.monotonic()
            self._write({"event": "alive", "run": run})

    def finished(self, run: str) -> None:
        """Report that a run's record is in the store."""
        self._write({"event": "finished", "run": run})

    def _write(self, event: dict[str, Any]) -> None:
        if self._path is None:
            return
        with contextlib.suppress(OSError), self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(event) + "\n")
        follower = _following.get(self._path)
        if follower is not None and follower.thread == threading.get_ident():
            follower.read()  # the reader waits for this thread and cannot read the file itself


class Follower:
    """Reads the events of a unit as they are written.

    Args:
        path: the file; it need not exist yet.
        hear: called with each event.
    """

    def __init__(self, path: Path, hear: Hear) -> None:
        self.thread = threading.get_ident()
        self._path, self._hear = path, hear
        self._read = 0
        _following[path] = self

    def read(self) -> None:
        """Pass on the new events."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._read)
                whole, newline, _ = file.read().rpartition(b"\n")
        except OSError:
            return
        self._read += len(whole) + len(newline)
        for line in whole.splitlines():
            try:
                event = json.loads(line)
                told = event.get("progress")
                heard = event["event"], event["run"], Progress(**told) if told else None
            except (ValueError, KeyError, TypeError, AttributeError):
                continue  # half written, or damaged by a plugin
            self._hear(*heard)

    def close(self) -> None:
        """Read the remaining events, and stop following the file."""
        self.read()
        _following.pop(self._path, None)


_following: dict[Path, Follower] = {}
