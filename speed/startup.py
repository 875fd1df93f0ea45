"""Startup time of commands."""

from __future__ import annotations

import subprocess
import sys

from harness import clock, markdown, show

COMMANDS = (["--help"], ["list", "tasks"], ["sample", "parity", "--length", "40"])


def measure() -> str:
    rows = []
    for command in COMMANDS:
        words = [sys.executable, "-m", "formalbench", *command]

        def call(words=words):
            subprocess.run(words, check=True, capture_output=True)

        best = min(clock(call) for _ in range(5))
        rows.append((f"`formalbench {' '.join(command)}`", show(best)))
    return markdown(("command", "wall time"), rows)
