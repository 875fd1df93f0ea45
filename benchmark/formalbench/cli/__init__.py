"""The command line."""

from formalbench.cli.main import main

__all__ = ["main"]
