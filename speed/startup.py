"""Whole processes: how long a command takes to begin."""

from __future__ import annotations

import subprocess
import sys

from harness import clock, show

COMMANDS = (["--help"], ["list", "tasks"], ["sample", "parity", "--length", "40"])


def measure() -> str:
    lines = ["### Start-up, whole process, best of 5", ""]
    lines += ["| command | wall time |", "| --- | ---: |"]
    for command in COMMANDS:
        words = [sys.executable, "-m", "formalbench", *command]

        def call(words=words):
            subprocess.run(words, check=True, capture_output=True)

        best = min(clock(call) for _ in range(5))
        lines.append(f"| `formalbench {' '.join(command)}` | {show(best)} |")
    return "\n".join([*lines, ""])
