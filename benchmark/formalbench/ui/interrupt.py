"""Ctrl-C while another machine works: whether to leave it at that."""

from __future__ import annotations

import sys

import typer

from formalbench.contracts.hooks import JobsLeft


def settle(left: JobsLeft) -> None:
    """Ask on the terminal whether jobs are to go on; where nobody can be asked, they do.

    Another Ctrl-C, or an end of input, leaves them as well: what has run for hours is not to end
    by a key pressed twice.
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
