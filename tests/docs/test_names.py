"""Files, folders and modules that texts of this repository name exist."""

from __future__ import annotations

import pkgutil
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATH = re.compile(r"(?<![\w./~-])(?:\.\./)*((?:[\w-][\w.-]*/)+[\w-]+\.(?:py|pyi|js|toml))\b")
FOLDER = re.compile(r"(?<!`)`((?:[a-z_]+/)+)`")
PACKAGES = "_models|_tasks|_text|_papers|_executors|_trackers|_leaderboard"
DOTTED = re.compile(rf"(?<![\w./@-])formalbench(?:{PACKAGES})?(?:[.:][A-Za-z_]\w*)+(?![\w/{{-])")
BARE = re.compile(r"(?<!`)`([a-z_]+\.py)`")
IGNORED = {"evidence/", "wheels/"}
"""Folders that commands make; git ignores them."""


@cache
def tracked() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [line for line in listed.stdout.splitlines() if (ROOT / line).exists()]


def pages() -> list[Path]:
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "Makefile"]
    found += [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("*.ipynb")]
    for folder in ("examples", "speed", "gpu", "tests", "benchmark", "tasks", "plugins"):
        found += (ROOT / folder).rglob("README.md")
    return sorted(found)


def missing(text: str) -> list[str]:
    """Return the paths, folders and dotted names in a text that lead nowhere."""
    files = "".join(f"/{line}\n" for line in tracked())
    lost = [path for path in PATH.findall(text) if f"/{path}\n" not in files]
    folders = set(FOLDER.findall(text)) - IGNORED
    lost += [folder for folder in sorted(folders) if f"/{folder}" not in files]
    for name in DOTTED.findall(text):
        if name.endswith("_"):
            continue  # the beginning of a name that code completes
        try:
            pkgutil.resolve_name(name)
        except (ImportError, AttributeError):
            lost.append(name)
    return lost


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_name_what_exists(page):
    assert missing(page.read_text("utf-8")) == []


def test_docstrings_and_comments_name_what_exists():
    lost = {}
    names = {Path(line).name for line in tracked()} | {"parity.py"}  # a file of Chiang & Cholak
    for line in tracked():
        if line.endswith(".py") and not line.startswith("tests/"):
            text = (ROOT / line).read_text("utf-8")
            lost[line] = [*missing(text), *(set(BARE.findall(text)) - names)]
    assert {line: names for line, names in lost.items() if names} == {}


def test_a_missing_name_is_found():
    text = "`layers/none.py` formalbench.none.name formalbench_models:none `nowhere/` "
    kept = "`contracts/source.py` formalbench.contracts.source.Source `contracts/` formalbench.run"
    assert missing(text + kept) == [
        "layers/none.py",
        "nowhere/",
        "formalbench.none.name",
        "formalbench_models:none",
    ]
