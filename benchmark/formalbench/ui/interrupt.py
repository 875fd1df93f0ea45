"""Ctrl-C while jobs run on other machines."""

from __future__ import annotations

import sys

import typer

from formalbench.contracts.hooks import JobsLeft


def settle(left: JobsLeft) -> None:
    """Ask on the terminal whether jobs should continue; without a terminal, they do.

    They also continue after another Ctrl-C or an end of input, so that a key pressed twice does not
    end jobs of several hours.
    """
    jobs = "1 job is" if left.count == 1 else f"{left.count} jobs are"
    if sys.stdin.isatty() and sys.stderr.isatty():
        try:
            go_on = typer.confirm(f"{jobs} queued or running. Leave them?", default=True, err=True)
        except (typer.Abort, KeyboardInterrupt):
            go_on = True
            print(file=sys.stderr)
        if not go_on:
            left.cancel()
            print("formalbench: cancelled them", file=sys.stderr)
            return
    print(f"formalbench: {jobs} left; the same command finds them again", file=sys.stderr)
