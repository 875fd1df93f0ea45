"""The commit of formalbench's code. Imports nothing of formalbench, because the build runs it."""

from __future__ import annotations

import os
import subprocess
from functools import lru_cache
from pathlib import Path

FILE = "_commit.txt"
"""File with the commit, in packages built from a checkout."""

CODE = ("benchmark", "tasks", "plugins", "leaderboard/formalbench_leaderboard", "pyproject.toml")
"""Contents of a wheel; changes of other files do not make a checkout dirty."""


@lru_cache
def own_commit() -> str:
    """Return the commit of the running code: 40 digits, with ``-dirty`` if it was changed.

    Empty if unknown: without git or without its history.
    """
    package = Path(__file__).resolve().parent
    file = package / FILE
    if file.exists():
        return file.read_text("utf-8").strip()
    return commit_of(package.parents[1])


def commit_of(root: Path) -> str:
    """Return a checkout's commit, with `-dirty` if its code changed.

    Empty if `root` is not a checkout.
    """
    if not (root / ".git").exists():
        return ""
    try:
        commit = _git(root, "rev-parse", "HEAD")
        changed = _git(root, "status", "--porcelain", "--", *CODE)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return f"{commit}-dirty" if changed else commit


def _git(root: Path, *words: str) -> str:
    # Another process may hold the index, so git must not write to it.
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    result = subprocess.run(  # noqa: S603
        ["git", "-C", str(root), *words],  # noqa: S607
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return result.stdout.strip()
