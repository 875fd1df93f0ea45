"""Small pieces of Markdown."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; bars in cells are escaped."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")


def code(value: object) -> str:
    """Return a value as code; nothing of an empty text."""
    return f"`{value}`" if str(value) else ""


def fenced(text: str, language: str = "text") -> str:
    """Return a block of code."""
    return f"```{language}\n{text.rstrip()}\n```"


def pages_of(*parts: str) -> str:
    """Return parts of a page, a blank line between them."""
    return "\n\n".join(part for part in (*parts, "") if part) + "\n"


def paragraphs(text: str) -> Iterator[str]:
    """Return the paragraphs of a docstring, those above its sections, each in one line."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.splitlines()[0].rstrip() in ("Attributes:", "Args:", "Example:", "Raises:"):
            return
        yield " ".join(paragraph.split())


def attributes(docstring: str) -> dict[str, str]:
    """Return what a docstring says of each attribute; several may share a line.

    Example:
        >>> attributes("A.\\n\\nAttributes:\\n    a: one.\\n    b, c: two\\n        and three.")
        {'a': 'one.', 'b': 'two and three.', 'c': 'two and three.'}
    """
    _, _, section = inspect.cleandoc(docstring).partition("Attributes:\n")
    found: dict[str, str] = {}
    names: list[str] = []
    for line in section.splitlines():
        if line and not line.startswith(" "):
            break
        text = line.strip()
        if line.startswith("    ") and not line.startswith("     ") and ":" in text:
            before, _, text = text.partition(":")
            names = [name.strip() for name in before.split(",")]
        for name in names:
            found[name] = f"{found.get(name, '')} {text}".strip()
    return found
