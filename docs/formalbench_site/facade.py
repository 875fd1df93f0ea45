"""The reference of what `formalbench` exports, from its docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_origin

import formalbench

from formalbench_site.markdown import fenced, pages_of

INTRODUCTION = """# Python

Everything that a plugin or a notebook imports from `formalbench`. [Writing
plugins](../plugins.md#what-formalbench-exports) has it as a table, with a line each."""


def page() -> str:
    """Return the page."""
    parts = [INTRODUCTION]
    for heading, names in groups():
        parts += [f"## {heading.capitalize()}", *map(_entry, names)]
    return pages_of(*parts)


def groups() -> Iterator[tuple[str, list[str]]]:
    """Return the names in the order and the groups of the table in ``docs/plugins.md``."""
    text = (Path(__file__).parents[1] / "plugins.md").read_text("utf-8")
    rows = text.partition("## What formalbench exports")[2].partition("\n## ")[0]
    for group in rows.split("| **")[1:]:
        heading, _, rest = group.partition("**")
        cells = [line.split("|")[1] for line in rest.splitlines() if line.startswith("| ")]
        yield heading, [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]


def _entry(name: str) -> str:
    """Return what makes Sphinx write the reference of a name."""
    thing = getattr(formalbench, name)
    if inspect.isclass(thing) and get_origin(thing) is None:
        directive = f".. autoclass:: formalbench.{name}\n   :members:\n   :member-order: bysource"
    elif inspect.isroutine(thing):
        directive = f".. autofunction:: formalbench.{name}"
    else:  # a type that has a name: what it means stands below it, where it is made
        directive = f".. autodata:: {formalbench._MODULES[name]}.{name}\n   :no-value:"
    return fenced(directive, "{eval-rst}")
