"""Help, messages, docstrings, docs and the page avoid idioms that a reader has to decode."""

import ast
import io
import json
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BOARD = "leaderboard/formalbench_leaderboard"
SOURCES = (
    *("benchmark", "tasks", "examples", "speed", "gpu"),
    *(f"plugins/formalbench_{name}" for name in ("models", "papers", "executors", "trackers")),
    *(
        f"{BOARD}/{name}"
        for name in ("board", "charts", "commands", "page", "publishing", "renderers")
    ),
)

INTERNAL = (
    *(f"benchmark/formalbench/{name}" for name in ("checks", "cli", "contracts", "documents")),
    *(f"benchmark/formalbench/{name}" for name in ("evaluation", "host", "metrics", "objectives")),
    *(f"benchmark/formalbench/{name}" for name in ("running", "scoring", "statistics", "store")),
    *(f"benchmark/formalbench/{name}" for name in ("theory", "training", "ui", "verification")),
    *(f"plugins/formalbench_{name}" for name in ("models", "papers", "executors", "trackers")),
    *("leaderboard/formalbench_leaderboard", "tasks", "examples", "speed", "gpu"),
)
"""Folders whose docstrings and comments are checked as well."""

BANNED = (
    "anew",
    "at hand",
    "gives way",
    "goes along",
    "goes without saying",
    "hangs on",
    "held to",
    "holds true of",
    "how-manieth",
    "likewise",
    "of whom",
    "so many",
    "stranger",
    "takes no part",
    "whatever",
    "whoever",
)
"""None of them has a technical meaning, so there are no exceptions."""

IDIOM = re.compile(rf"\b(?:{'|'.join(map(re.escape, BANNED))})s?\b", re.IGNORECASE)


def messages(path: Path) -> Iterator[str]:
    """Return the texts of a module that users can see: its strings with spaces, no docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    documented = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and " " in text and id(node) not in documented:
            yield text


def notes(path: Path) -> Iterator[str]:
    """Return the docstrings and comments of a module."""
    source = path.read_text("utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield " ".join(str(node.value.value).split())
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def helps() -> Iterator[str]:
    """Return the help of every command, as `tests/golden` keeps it."""
    golden = ROOT / "tests" / "golden" / "commands.json"
    shown = json.loads(golden.read_text("utf-8"))
    yield from (text for name, text in shown.items() if name.endswith("--help"))


def texts(kind: str) -> Iterator[tuple[str, str]]:
    if kind == "help":
        yield from (("help", text) for text in helps())
    elif kind == "docs":
        pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
        yield from ((page.name, page.read_text("utf-8")) for page in pages)
    elif kind == "page":
        board = ROOT / "leaderboard" / "formalbench_leaderboard"
        files = [*board.rglob("*.j2"), *(board / "page" / "script").glob("*.js")]
        yield from ((file.name, file.read_text("utf-8")) for file in files)
    else:
        folders, read = (SOURCES, messages) if kind == "messages" else (INTERNAL, notes)
        for folder in folders:
            for path in sorted((ROOT / folder).rglob("*.py")):
                yield from ((str(path.relative_to(ROOT)), text) for text in read(path))


@pytest.mark.parametrize("kind", ["help", "messages", "notes", "docs", "page"])
def test_no_banned_idiom(kind):
    found = list(texts(kind))
    assert len(found) > 10
    bad = [f"{place}: {match[0]!r}" for place, text in found for match in IDIOM.finditer(text)]
    assert bad == []
