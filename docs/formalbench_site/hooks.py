"""The reference of the hooks, from the docstrings of their specifications."""

from __future__ import annotations

from formalbench.contracts import hooks
from formalbench.host.loader import PROJECT

from formalbench_site.markdown import fenced, pages_of

INTRODUCTION = """# Hooks

What a plugin can implement: a function of this name, marked with `@formalbench.hookimpl`. It may
leave out arguments that it does not need. Hooks that return something *provide*; the others
*observe*, but for `formalbench_commands`. [Writing plugins](../plugins.md) tells what each is
for."""


def names() -> list[str]:
    """Return the names of all hooks, in the order of their file."""
    return [name for name, found in vars(hooks).items() if hasattr(found, f"{PROJECT}_spec")]


def page() -> str:
    """Return the page."""
    entries = [
        fenced(f".. autofunction:: {hooks.__name__}.{name}", "{eval-rst}") for name in names()
    ]
    return pages_of(INTRODUCTION, *entries)
