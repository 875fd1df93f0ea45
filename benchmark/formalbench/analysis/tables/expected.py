"""The table of how much was learned, under each protocol, of what was to be learned."""

from __future__ import annotations

from collections.abc import Iterable

from formalbench.analysis.columns import Column, Sheet, number, words
from formalbench.analysis.expected import Expected, Taught, by_protocol

TAUGHT: tuple[Column[Taught], ...] = (
    words("protocol", "how it was trained", lambda one: one.board.name),
    number(
        "to be learned",
        "results where a theorem says that such a network can, or a study that training finds it",
        lambda one: len(one.cells),
        "cells",
    ),
    number("learned", "by two thirds of the seeds, or more", lambda one: one.taught),
    number("by fewer seeds", "but by one at least", lambda one: one.partly, "partly"),
    number("not learned", "by any seed, within the budget", lambda one: one.untaught, "untaught"),
)


def taught_table(cells: Iterable[Expected]) -> Sheet[Taught]:
    """Return how much was learned of what was to be learned, a line for each protocol."""
    return Sheet(TAUGHT, by_protocol(cells))
