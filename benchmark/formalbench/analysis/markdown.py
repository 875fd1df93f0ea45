"""Parts of a page in Markdown that GitHub shows as they are meant."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from tabulate import tabulate

from formalbench.analysis.text import markdown


def table(header: Sequence[str], rows: Iterable[Sequence[str]], left: Collection[str]) -> str:
    """Return a table whose cells are Markdown already; the columns in `left` align left."""
    align = ["left" if name in left else "right" for name in header]
    return tabulate(list(rows), header, tablefmt="pipe", disable_numparse=True, colalign=align)


def bullets(lines: Iterable[str]) -> str:
    """Return a list of lines that are not Markdown yet."""
    return "\n".join(f"- {markdown(line)}" for line in lines)
