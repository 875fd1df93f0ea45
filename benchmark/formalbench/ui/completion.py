"""What a shell offers when a name is half written: it knows specs, and imports nothing for them."""

from __future__ import annotations

from collections.abc import Callable

import typer

from formalbench.ui.state import host_of

Completer = Callable[[typer.Context, str], list[tuple[str, str]]]
"""Called with a context and what is written; returns whole words, each with a line about it."""


def names_of(kind: str) -> Completer:
    """Return what completes one name of a kind.

    Args:
        kind: as ``formalbench list`` has it: ``models``, ``tasks``, …
    """

    def complete(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
        return offers(ctx, kind, incomplete)

    return complete


def lists_of(kind: str) -> Completer:
    """Return what completes the last name of a comma list."""

    def complete(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
        if incomplete.count("[") > incomplete.count("]"):
            return []  # this comma parts options
        before, comma, last = incomplete.rpartition(",")
        return [(f"{before}{comma}{name}", told) for name, told in offers(ctx, kind, last)]

    return complete


def offers(ctx: typer.Context, kind: str, incomplete: str) -> list[tuple[str, str]]:
    """Return the names of a kind that begin as written, each with its summary.

    Patterns (``dyck-{k}-{D}``) are left out: no shell can know their numbers.
    """
    specs = (entry.spec for entry in host_of(ctx).registries[kind].all())
    return [
        (spec.name, spec.summary)
        for spec in specs
        if spec.name.startswith(incomplete) and "{" not in spec.name
    ]
